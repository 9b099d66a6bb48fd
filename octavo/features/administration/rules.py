"""Commands of the terminal on what is decided about an account."""

from typing import Literal

from octavo.features.accounts.rules.decisions import LONGEST_REASON, DecisionsChange
from octavo.model.access.account import State
from octavo.model.label import parse_label

DecisionCommand = Literal["lock", "unlock", "enable", "disable", "promote", "demote"]


class NotApplicable(Exception):
    """The command does not fit the account; the text says what to do."""


def change_of(action: DecisionCommand, state: State, reason: str | None) -> DecisionsChange:
    """Return the change that a command makes to an account in ``state``.

    A lock without a reason keeps the reason of an account that is locked already.

    Raises `NotApplicable` when the account is in another state than the command expects, or the
    reason is not a label.
    """
    match action:
        case "promote":
            return DecisionsChange(role="administrator")
        case "demote":
            return DecisionsChange(role="member")
        case "disable":
            return DecisionsChange(state="disabled")
        case "lock" if state == "disabled":
            raise NotApplicable("the account is disabled, which is stricter than locked")
        case "lock":
            try:
                given = None if reason is None else parse_label(reason, LONGEST_REASON)
            except ValueError as error:
                raise NotApplicable(f"the reason can't be stored: {error}") from None
            return DecisionsChange(state="locked", lock_reason=given)
        case "unlock" if state == "disabled":
            raise NotApplicable("the account is disabled, not locked: use `octavo account enable`")
        case "enable" if state == "locked":
            raise NotApplicable("the account is locked, not disabled: use `octavo account unlock`")
        case "unlock" | "enable":
            return DecisionsChange(state="enabled")

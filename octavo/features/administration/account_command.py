"""The command ``account``: what it asks of a server, and what the server responds."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from octavo.features.accounts.rules.decisions import LONGEST_REASON, DecisionsChange
from octavo.model.access.account import Role, State
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


NAME = "account"
"""The name of the command in the control protocol."""

AccountAction = DecisionCommand | Literal["list", "show", "remove"]
PAGE = 500
"""Accounts of one response of ``list``."""


class _AccountMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, cache_strings="keys")


class AccountCommand(_AccountMessage):
    """What to do with which account.

    Attributes:
        action: what.
        account: the address or the id of the account; None for ``list``.
        reason: why it is locked; None for no reason.
        after: the id of the account that the list continues after; None for its start.
    """

    action: AccountAction
    account: Annotated[str, StringConstraints(min_length=1, max_length=320)] | None = None
    reason: Annotated[str, StringConstraints(max_length=LONGEST_REASON)] | None = None
    after: str | None = None


class AccountRecord(_AccountMessage):
    """An account; times are in milliseconds of Unix time, sizes in bytes."""

    id: str
    address: str
    display_name: str
    role: Role
    state: State
    effective_state: State
    lock_reason: str | None
    controls_locked: bool
    controls_lock_reason: str | None
    storage_used: int
    storage_limit: int | None
    created_at: int
    last_active_at: int | None


class AccountCommandResult(_AccountMessage):
    """The outcome of a command.

    Attributes:
        accounts: the account after the change, or before its removal; the page of a list.
        following: ``after`` of the next page; None on the last one.
        refusal: why nothing was done, for people; None if it was done.
    """

    accounts: tuple[AccountRecord, ...] = ()
    following: str | None = None
    refusal: str | None = None

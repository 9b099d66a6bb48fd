"""Which change a command makes to an account in which state."""

import pytest

from octavo.features.accounts.rules.decisions import Controls, Decisions, DecisionsChange, changed
from octavo.features.administration.account_commands import (
    DecisionCommand,
    NotApplicable,
    change_of,
)
from octavo.model.access.account import State
from octavo.model.usage import StorageLimit

CONTROLS = Controls(1, False, None, StorageLimit(None))


@pytest.mark.parametrize("state", ["enabled", "locked", "disabled"])
@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("promote", DecisionsChange(role="administrator")),
        ("demote", DecisionsChange(role="member")),
        ("disable", DecisionsChange(state="disabled")),
    ],
)
def test_roles_and_disabling_apply_to_every_state(
    action: DecisionCommand, change: DecisionsChange, state: State
) -> None:
    assert change_of(action, state, None) == change


@pytest.mark.parametrize(
    ("action", "state", "wanted"),
    [
        ("lock", "enabled", "locked"),
        ("lock", "locked", "locked"),
        ("lock", "disabled", None),
        ("unlock", "enabled", "enabled"),
        ("unlock", "locked", "enabled"),
        ("unlock", "disabled", None),
        ("enable", "enabled", "enabled"),
        ("enable", "locked", None),
        ("enable", "disabled", "enabled"),
    ],
)
def test_locks_and_disabling_are_not_confused(
    action: DecisionCommand, state: State, wanted: State | None
) -> None:
    if wanted is None:
        with pytest.raises(NotApplicable, match=r"the account is (locked|disabled)"):
            change_of(action, state, None)
    else:
        assert change_of(action, state, None).state == wanted


@pytest.mark.parametrize(("given", "stored"), [(None, None), ("  Lost  laptop ", "Lost  laptop")])
def test_a_lock_has_a_new_reason_or_none(given: str | None, stored: str | None) -> None:
    enabled = Decisions("member", "enabled", StorageLimit(None), CONTROLS)
    assert changed(enabled, change_of("lock", "enabled", given)).lock_reason == stored


@pytest.mark.parametrize(("given", "stored"), [(None, "unpaid"), ("Lost laptop", "Lost laptop")])
def test_a_lock_without_a_reason_keeps_the_stored_one(given: str | None, stored: str) -> None:
    locked = Decisions("member", "locked", StorageLimit(None), CONTROLS, "unpaid")
    assert changed(locked, change_of("lock", "locked", given)).lock_reason == stored


def test_a_reason_of_several_lines_is_refused() -> None:
    with pytest.raises(NotApplicable, match="the reason can't be stored"):
        change_of("lock", "enabled", "one\ntwo")

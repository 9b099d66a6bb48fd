"""Which change a command makes to an account in which state."""

import pytest

from octavo.control.account_command import AccountAction
from octavo.model.accounts.account import State
from octavo.model.accounts.administration import DecisionsChange
from octavo.service.account_commands import NotApplicable, change_of


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
    action: AccountAction, change: DecisionsChange, state: State
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
    action: AccountAction, state: State, wanted: State | None
) -> None:
    if wanted is None:
        with pytest.raises(NotApplicable, match=r"the account is (locked|disabled)"):
            change_of(action, state, None)
    else:
        assert change_of(action, state, None).state == wanted


@pytest.mark.parametrize(("given", "stored"), [(None, ""), ("  Lost  laptop ", "Lost  laptop")])
def test_a_lock_has_a_new_reason_or_none(given: str | None, stored: str) -> None:
    assert change_of("lock", "enabled", given).lock_reason == stored


def test_a_reason_of_several_lines_is_refused() -> None:
    with pytest.raises(NotApplicable, match="the reason can't be stored"):
        change_of("lock", "enabled", "one\ntwo")

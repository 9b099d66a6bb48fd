"""The rights of members, and who inherits a workspace."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.model.access.account import State
from octavo.model.workspace import (
    ROLES,
    HeirCandidate,
    Right,
    Role,
    counts_as_owner,
    grants,
    heir_among,
)

RIGHTS: list[Right] = ["read", "write", "manage", "own"]
STATES: list[State] = ["enabled", "locked", "disabled"]


@pytest.mark.parametrize(
    ("role", "count"), [("reader", 1), ("editor", 2), ("administrator", 3), ("owner", 4)]
)
def test_each_role_has_the_rights_of_those_below_it(role: Role, count: int) -> None:
    assert [right for right in RIGHTS if grants(role, right)] == RIGHTS[:count]


candidates = st.lists(
    st.builds(
        HeirCandidate,
        st.integers(0, 9).map(lambda number: AccountId(f"account {number}")),
        st.sampled_from(ROLES),
        st.sampled_from(STATES),
        st.integers(0, 3),
    ),
    max_size=6,
    unique_by=lambda each: each.account_id,
)


@given(candidates)
def test_a_workspace_is_inherited_by_the_highest_role_and_the_longest_membership(
    others: list[HeirCandidate],
) -> None:
    heir = heir_among(others)
    able = [each for each in others if each.role in ("administrator", "editor")]
    able = [each for each in able if each.state != "disabled"]
    able += [each for each in others if each.role == "owner"]
    if heir is None:
        assert able == []
        return
    assert heir in able
    enabled = [each for each in able if each.state != "disabled"]
    assert heir in (enabled or able)
    for each in enabled or able:
        assert ROLES.index(heir.role) <= ROLES.index(each.role)
        if each.role == heir.role:
            assert (heir.joined_at, heir.account_id) <= (each.joined_at, each.account_id)


@given(candidates, st.randoms())
def test_the_heir_does_not_depend_on_the_order(others: list[HeirCandidate], random: Random) -> None:
    shuffled = random.sample(others, len(others))
    assert heir_among(shuffled) == heir_among(others)


@given(candidates)
def test_the_heir_is_among_the_longest_memberships_of_each_role(
    others: list[HeirCandidate],
) -> None:
    # The database preselects these.
    groups: dict[tuple[Role, bool], list[HeirCandidate]] = {}
    for each in others:
        groups.setdefault((each.role, each.state == "disabled"), []).append(each)
    first = [
        min(group, key=lambda each: (each.joined_at, each.account_id)) for group in groups.values()
    ]
    assert heir_among(first) == heir_among(others)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("state", STATES)
def test_only_owners_that_are_not_disabled_count(role: Role, state: State) -> None:
    assert counts_as_owner(role, state) == (role == "owner" and state in ("enabled", "locked"))

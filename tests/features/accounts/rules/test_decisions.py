"""The rules of changes of roles, states, limits and controls."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.accounts.rules.decisions import (
    Controls,
    ControlsChange,
    Decisions,
    DecisionsChange,
    changed,
)
from octavo.features.accounts.rules.refusal import ControlsChanged
from octavo.model.access.account import ROLES, State
from octavo.model.usage import StorageLimit, strictest

STATES: tuple[State, ...] = ("enabled", "locked", "disabled")
limits = st.builds(StorageLimit, st.none() | st.integers(0, 1 << 40))
reasons = st.none() | st.sampled_from(["unpaid", "spam"])


@st.composite
def controls(draw: st.DrawFn) -> Controls:
    locked = draw(st.booleans())
    return Controls(
        draw(st.integers(1, 5)), locked, draw(reasons) if locked else None, draw(limits)
    )


decisions = st.builds(
    Decisions, st.sampled_from(ROLES), st.sampled_from(STATES), limits, controls()
)
controls_changes = st.builds(
    ControlsChange,
    st.integers(1, 5),
    st.none() | st.booleans(),
    reasons | st.just(""),
    st.none() | limits,
)
changes = st.builds(
    DecisionsChange,
    st.none() | st.sampled_from(ROLES),
    st.none() | st.sampled_from(STATES),
    st.none() | limits,
    st.none() | controls_changes,
)


@given(decisions, changes)
def test_what_is_left_out_stays(before: Decisions, change: DecisionsChange) -> None:
    try:
        after = changed(before, change)
    except ControlsChanged:
        assert change.controls is not None
        assert change.controls.revision != before.controls.revision
        return
    assert after.role == (change.role or before.role)
    assert after.state == (change.state or before.state)
    assert after.storage == (before.storage if change.storage is None else change.storage)
    if change.controls is None:
        assert after.controls == before.controls
    else:
        assert change.controls.revision == before.controls.revision
        assert after.controls.revision == before.controls.revision + 1


@given(decisions, changes)
def test_reason_ends_with_the_lock(before: Decisions, change: DecisionsChange) -> None:
    if change.controls is not None:
        aligned = replace(change.controls, revision=before.controls.revision)
        change = replace(change, controls=aligned)
    after = changed(before, change).controls
    assert after.locked or after.lock_reason is None


@pytest.mark.parametrize(
    ("state", "locked", "effective"),
    [
        ("enabled", False, "enabled"),
        ("enabled", True, "locked"),
        ("locked", False, "locked"),
        ("locked", True, "locked"),
        ("disabled", False, "disabled"),
        ("disabled", True, "disabled"),
    ],
)
def test_stricter_of_state_and_controls_is_effective(
    state: State, locked: bool, effective: State
) -> None:
    for role in ROLES:
        made = Decisions(role, state, StorageLimit(), Controls(locked=locked))
        assert made.effective_state == effective
        assert made.administers == (role == "administrator" and effective == "enabled")


@given(st.lists(st.none() | st.integers(0, 2**53)))
def test_strictest_limit_is_the_smallest(limits: list[int | None]) -> None:
    given_limits = [each for each in limits if each is not None]
    found = strictest(*limits)
    assert (found is None) is (given_limits == [])
    assert all(found is not None and found <= each for each in given_limits)
    assert found is None or found in given_limits

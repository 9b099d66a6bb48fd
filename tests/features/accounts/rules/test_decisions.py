"""The rules of changes of roles, states, limits and controls."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.accounts.rules.decisions import (
    LONGEST_REASON,
    Controls,
    ControlsChange,
    Decisions,
    DecisionsChange,
    changed,
)
from octavo.features.accounts.rules.refusal import ControlsChanged
from octavo.model.access.account import ROLES, State
from octavo.model.usage import StorageLimit, strictest
from tests.project.source import ROOT

STATES: tuple[State, ...] = ("enabled", "locked", "disabled")
limits = st.builds(StorageLimit, st.none() | st.integers(0, 1 << 40))
reasons = st.none() | st.sampled_from(["unpaid", "spam"])


@st.composite
def controls(draw: st.DrawFn) -> Controls:
    locked = draw(st.booleans())
    return Controls(
        draw(st.integers(1, 5)), locked, draw(reasons) if locked else None, draw(limits)
    )


@st.composite
def decided(draw: st.DrawFn) -> Decisions:
    state = draw(st.sampled_from(STATES))
    reason = draw(reasons) if state == "locked" else None
    return Decisions(draw(st.sampled_from(ROLES)), state, draw(limits), draw(controls()), reason)


decisions = decided()

controls_changes = st.builds(
    ControlsChange,
    st.integers(1, 5),
    st.none() | st.booleans(),
    reasons | st.just(""),
    st.none() | limits,
)
changes = st.builds(
    DecisionsChange,
    role=st.none() | st.sampled_from(ROLES),
    state=st.none() | st.sampled_from(STATES),
    lock_reason=reasons | st.just(""),
    storage=st.none() | limits,
    controls=st.none() | controls_changes,
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
    after = changed(before, change)
    assert after.controls.locked or after.controls.lock_reason is None
    assert after.state == "locked" or after.lock_reason is None


@pytest.mark.parametrize(
    ("state", "locked", "effective", "reason"),
    [
        ("enabled", False, "enabled", None),
        ("enabled", True, "locked", "unpaid"),
        ("locked", False, "locked", "spam"),
        ("locked", True, "locked", "spam"),
        ("disabled", False, "disabled", None),
        ("disabled", True, "disabled", None),
    ],
)
def test_stricter_of_state_and_controls_is_effective(
    state: State, locked: bool, effective: State, reason: str | None
) -> None:
    of_controls = Controls(locked=locked, lock_reason="unpaid" if locked else None)
    of_state = "spam" if state == "locked" else None
    for role in ROLES:
        made = Decisions(role, state, StorageLimit(), of_controls, of_state)
        assert (made.effective_state, made.effective_reason) == (effective, reason)
        assert made.administers == (role == "administrator" and effective == "enabled")


@given(st.lists(st.none() | st.integers(0, 2**53)))
def test_strictest_limit_is_the_smallest(limits: list[int | None]) -> None:
    given_limits = [each for each in limits if each is not None]
    found = strictest(*limits)
    assert (found is None) is (given_limits == [])
    assert all(found is not None and found <= each for each in given_limits)
    assert found is None or found in given_limits


def test_page_on_accounts_says_how_long_a_reason_may_be() -> None:
    page = (ROOT / "docs/accounts.md").read_text()
    assert f"`--reason` stores why, in at most {LONGEST_REASON} characters" in page


def test_empty_reason_removes_the_reason() -> None:
    locked = Decisions(
        "member",
        "locked",
        StorageLimit(None),
        Controls(1, locked=True, lock_reason="spam"),
        "spam",
    )
    change = DecisionsChange(lock_reason="", controls=ControlsChange(1, lock_reason=""))
    after = changed(locked, change)
    assert (after.lock_reason, after.controls.lock_reason) == (None, None)

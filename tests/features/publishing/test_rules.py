"""What a published link is at a time, and what is below a folder."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.publishing.rules import (
    SHORTEST_PASSWORD,
    LinkState,
    PublishedLink,
    is_below,
    lets_read,
    password_fault,
)
from octavo.model.access.account import State
from tests.features.publishing.test_rules_ticket import LINK

TIMES = st.none() | st.integers(0, 5)


@pytest.mark.parametrize(
    ("link", "state"),
    [
        (LINK, "live"),
        (replace(LINK, expires_at=11), "live"),
        (replace(LINK, expires_at=10), "expired"),
        (replace(LINK, expires_at=10, revoked_at=5), "revoked"),
        (replace(LINK, expires_at=10, revoked_at=5, taken_down_at=6), "taken_down"),
        (replace(LINK, taken_down_at=6), "taken_down"),
    ],
)
def test_state_at_a_time(link: PublishedLink, state: LinkState) -> None:
    assert link.state_at(10) == state


@given(TIMES, TIMES, TIMES, st.integers(0, 5), st.integers(0, 5))
def test_link_that_has_ended_never_lives_again(
    expires: int | None, revoked: int | None, taken: int | None, now: int, later: int
) -> None:
    link = replace(LINK, expires_at=expires, revoked_at=revoked, taken_down_at=taken)
    if link.state_at(now) != "live":
        assert link.state_at(now + later) != "live"


@pytest.mark.parametrize(
    ("changes", "needed", "used_up"),
    [
        ({"password": None}, False, False),
        ({"password": "hash"}, True, False),
        ({"password": None, "openings": 2, "opened": 1}, True, False),
        ({"password": None, "openings": 2, "opened": 2}, True, True),
    ],
)
def test_ticket_is_needed_for_what_has_to_be_opened(
    changes: dict[str, object], needed: bool, used_up: bool
) -> None:
    link = replace(LINK, **changes)  # type: ignore[arg-type]
    assert (link.needs_ticket, link.used_up) == (needed, used_up)


@pytest.mark.parametrize(
    ("path", "folder", "below"),
    [
        ("tea/a.md", "tea", True),
        ("tea/x/a.md", "tea", True),
        ("tea/x/a.md", "tea/x", True),
        ("a.md", "", True),
        ("tea.md", "tea", False),
        ("teas/a.md", "tea", False),
        ("Tea/a.md", "tea", False),
        ("a/tea/a.md", "tea", False),
    ],
)
def test_file_is_below_a_folder(path: str, folder: str, below: bool) -> None:
    assert is_below(path, folder) is below


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("x" * SHORTEST_PASSWORD, None),
        ("x" * 256, None),
        ("", "at least 8"),
        ("x" * (SHORTEST_PASSWORD - 1), "at least 8"),
        # One character of the normalized form.
        ("e\u0301" * (SHORTEST_PASSWORD - 1), "at least 8"),
        ("x" * 257, "at most 256"),
        ("x" * 1_000_000, "at most 256"),
    ],
)
def test_password_has_bounds_in_its_normalized_form(password: str, fault: str | None) -> None:
    found = password_fault(password)
    assert found is None if fault is None else fault in (found or "")


@pytest.mark.parametrize(
    ("state", "publishing", "read"),
    [
        ("enabled", True, True),
        ("locked", True, True),
        ("disabled", True, False),
        ("enabled", False, False),
        ("locked", False, False),
    ],
)
def test_links_of_some_accounts_open_nothing(state: State, publishing: bool, read: bool) -> None:
    assert lets_read(state, publishing=publishing) is read

"""How long a session lasts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import AccountId

from octavo.features.accounts.rules.session import Session, SessionLife
from octavo.features.members.rules import Invitation, InvitationId
from octavo.model.access.account import Address, SessionId

SESSION = Session(SessionId("s"), AccountId("a"), "", "", created_at=0, active_at=0)
times = st.integers(0, 10**13)
lives = st.builds(SessionLife, st.floats(1, 1e8), st.floats(1, 1e8))


@pytest.mark.parametrize(("active_days", "expires_days"), [(0, 30), (10, 40), (60, 90), (75, 90)])
def test_session_expires_idle_or_old(active_days: int, expires_days: int) -> None:
    day = 86_400_000
    session = replace(SESSION, active_at=active_days * day)
    assert SessionLife().expires_at(session) == expires_days * day


@given(lives, times, times, times)
def test_live_session_is_one_that_is_not_expired(
    life: SessionLife, created_at: int, idle: int, now: int
) -> None:
    session = replace(SESSION, created_at=created_at, active_at=created_at + idle)
    active_after, created_after = life.alive_since(now)
    alive = session.active_at > active_after and session.created_at > created_after
    assert alive is (now < life.expires_at(session))


def test_session_of_yesterday_lives_and_one_of_a_hundred_days_ago_does_not() -> None:
    day = 86_400_000
    assert SessionLife().alive_since(100 * day) == (70 * day, 10 * day)


INVITATION = Invitation(InvitationId("i"), None, "member", created_at=0, expires_at=100)
ANN, BOB = Address("ann@example.org"), Address("bob@example.org")


@pytest.mark.parametrize(
    ("invitation", "now", "admits"),
    [
        (INVITATION, 99, True),
        (INVITATION, 100, False),
        (replace(INVITATION, address=ANN), 99, True),
        (replace(INVITATION, address=BOB), 99, False),
        (replace(INVITATION, used_at=1), 99, False),
        (replace(INVITATION, revoked_at=1), 99, False),
    ],
)
def test_open_invitation_admits_its_recipient(
    invitation: Invitation, now: int, admits: bool
) -> None:
    assert invitation.admits(ANN, now) is admits

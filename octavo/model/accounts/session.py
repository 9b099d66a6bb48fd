"""A session: one browser that signed in, and how long that lasts."""

from dataclasses import dataclass
from typing import NewType

from octavo.model.identity import AccountId

SessionId = NewType("SessionId", str)

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it is kept; times are in milliseconds of Unix time.

    Attributes:
        device: what the browser called itself when it signed in; may be empty.
        client: the address that it signed in from; empty when there was none.
        active_at: of its last activity, to the minute.
    """

    session_id: SessionId
    account_id: AccountId
    device: str
    client: str
    created_at: int
    active_at: int


@dataclass(frozen=True, slots=True)
class SessionLife:
    """How long a session opens its account, in seconds.

    Attributes:
        idle: from its last activity on.
        absolute: from its start on, whatever its activity.
    """

    idle: float = 30 * DAY
    absolute: float = 90 * DAY

    def expires_at(self, session: Session) -> int:
        """Return when ``session`` expires, in milliseconds of Unix time."""
        idle, absolute = int(self.idle * 1000), int(self.absolute * 1000)
        return min(session.active_at + idle, session.created_at + absolute)

    def alive_since(self, now: int) -> tuple[int, int]:
        """Return which sessions live at ``now``: those active and those begun after two times.

        All three are in milliseconds of Unix time. It is `expires_at` turned round, for a
        statement that looks for the sessions.
        """
        return now - int(self.idle * 1000), now - int(self.absolute * 1000)

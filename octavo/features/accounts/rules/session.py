"""Sessions of browsers, and their lifetimes."""

from dataclasses import dataclass

from octavo_rules.identity import AccountId

from octavo.model.access.account import AccessLimits, KeyId, SessionId

MAX_KEYS = 25
"""Keys of one account, including expired ones (specification, "Limits")."""

LONGEST_NAME = 100
"""Characters of a key's name."""

MAX_CHOSEN = 100
"""Workspaces that a key can be limited to."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as stored, without its secret; times are in milliseconds of Unix time.

    Attributes:
        expires_at: None if it never expires.
        used_at: the time of its last use, to the minute; None if it was never used.
        limits: None for full access.
    """

    key_id: KeyId
    account_id: AccountId
    name: str
    created_at: int
    expires_at: int | None
    used_at: int | None
    limits: AccessLimits | None = None


DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Session:
    """A session as stored; times are in milliseconds of Unix time.

    Attributes:
        device: the user agent at sign-in; may be empty.
        client: the client address at sign-in; empty if unknown.
        active_at: the time of its last activity, to the minute.
    """

    session_id: SessionId
    account_id: AccountId
    device: str
    client: str
    created_at: int
    active_at: int


@dataclass(frozen=True, slots=True)
class SessionLife:
    """The lifetime of sessions, in seconds.

    Attributes:
        idle: the time from the last activity.
        absolute: the time from the start.
    """

    idle: float = 30 * DAY
    absolute: float = 90 * DAY

    def expires_at(self, session: Session) -> int:
        """Return when ``session`` expires, in milliseconds of Unix time."""
        idle, absolute = int(self.idle * 1000), int(self.absolute * 1000)
        return min(session.active_at + idle, session.created_at + absolute)

    def alive_since(self, now: int) -> tuple[int, int]:
        """Return the earliest activity and the earliest start of sessions alive at ``now``.

        All times are in milliseconds of Unix time. This inverts `expires_at`, for queries.
        """
        return now - int(self.idle * 1000), now - int(self.absolute * 1000)

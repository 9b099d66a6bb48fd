"""Grants: what people allowed clients, and the tokens by which clients use it."""

from dataclasses import dataclass
from typing import Literal

from octavo_rules.identity import AccountId, ProgramNumber

from octavo.model.access.access_limits import AccessLimits
from octavo.model.access.account import ClientId, GrantId

CODE_SECONDS = 60
"""Seconds for which a code is valid (RFC 6749 section 4.1.2: ten minutes at most)."""
MAX_GRANTS = 100
"""Grants of one account; of more, the one that was unused the longest ends."""

MAX_TOKENS = 1_000
"""Access tokens, and used refresh tokens, of one grant; of more, the oldest are removed.

A program that renews its tokens all the time must not fill the database.
"""

TokenKind = Literal["access", "refresh"]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person allowed a client; times are in milliseconds of Unix time.

    Attributes:
        client_name: how the client called itself then.
        expires_at: when it ends; None if it lasts until it is revoked.
        used_at: the time of its last use, to the minute; None if it was never used.
        program: what the history of notes records for the client; None for a new grant.
    """

    grant_id: GrantId
    account_id: AccountId
    client_id: ClientId
    client_name: str
    limits: AccessLimits
    created_at: int
    expires_at: int | None
    used_at: int | None = None
    program: ProgramNumber | None = None


def ends_at(now: int, seconds: int, grant: Grant) -> int:
    """Return when a token for ``seconds`` ends: no later than its grant."""
    end = now + seconds * 1000
    return end if grant.expires_at is None else min(end, grant.expires_at)

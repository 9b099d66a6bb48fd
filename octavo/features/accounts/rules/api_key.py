"""API keys: credentials of programs."""

from dataclasses import dataclass

from octavo_rules.identity import AccountId

from octavo.model.access.access_limits import AccessLimits
from octavo.model.access.credentials import KeyId

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

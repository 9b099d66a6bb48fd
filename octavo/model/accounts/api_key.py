"""An API key: what a program shows in place of a session."""

from dataclasses import dataclass
from typing import NewType

from octavo.model.identity import AccountId

KeyId = NewType("KeyId", str)

MOST_KEYS = 25
"""Keys that one account may have, expired ones included (specification, "Limits")."""

LONGEST_NAME = 100
"""Characters of a key's name."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept, without its secret; times are in milliseconds of Unix time.

    Attributes:
        expires_at: None for never.
        used_at: of its last use, to the minute; None when it was never used.
    """

    key_id: KeyId
    account_id: AccountId
    name: str
    created_at: int
    expires_at: int | None
    used_at: int | None

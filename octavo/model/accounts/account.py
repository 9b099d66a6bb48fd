"""An account: who it is, what it may do, and whether it may do anything."""

from dataclasses import dataclass
from typing import Literal, get_args

from octavo.model.accounts.address import Address
from octavo.model.identity import AccountId

Role = Literal["member", "administrator"]
"""What an account may do in the installation."""

State = Literal["enabled", "locked", "disabled"]
"""Locked accounts keep a few operations; disabled ones can't sign in, and nothing of theirs
opens anything."""

ROLES: tuple[Role, ...] = get_args(Role)

LONGEST_NAME = 100
"""Characters of a display name."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account as it is kept, without its password; times are in milliseconds of Unix time."""

    account_id: AccountId
    address: Address
    display_name: str
    role: Role
    state: State
    created_at: int
    updated_at: int

    @property
    def open(self) -> bool:
        """True when somebody may sign in to it."""
        return self.state != "disabled"

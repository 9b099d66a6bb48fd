"""Accounts: their roles and states, preferences, limits and controls."""

from dataclasses import dataclass
from typing import Literal, get_args

from octavo_rules.identity import AccountId

from octavo.model.access.address import Address


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the terms and of the privacy notice; None for a document that is missing."""

    terms: str | None = None
    privacy: str | None = None


@dataclass(frozen=True, slots=True)
class Consent:
    """The versions that an account accepted, and when, in milliseconds of Unix time."""

    versions: Versions
    accepted_at: int


Role = Literal["member", "administrator"]
"""The role of an account in the installation."""

State = Literal["enabled", "locked", "disabled"]
"""A locked account can use a few operations only; a disabled one can't sign in, and its
credentials are refused."""

ThemeFamily = Literal["paper", "slate", "sepia"]
"""The palette of the pages and the editor."""
Appearance = Literal["light", "dark", "system"]
"""``system`` follows the device."""

ROLES: tuple[Role, ...] = get_args(Role)

LONGEST_NAME = 100
"""Characters of a display name."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account as stored, without its password; times are in milliseconds of Unix time.

    ``consent`` is its last consent to the legal documents; None without one.
    """

    account_id: AccountId
    address: Address
    display_name: str
    role: Role
    state: State
    created_at: int
    updated_at: int
    consent: Consent | None = None

    @property
    def open(self) -> bool:
        """Whether the account can be signed in to."""
        return self.state != "disabled"


@dataclass(frozen=True, slots=True)
class Preferences:
    """Settings that follow an account to every device.

    ``spell_check`` has the editor mark misspelled words.
    """

    theme_family: ThemeFamily = "paper"
    appearance: Appearance = "system"
    spell_check: bool = True

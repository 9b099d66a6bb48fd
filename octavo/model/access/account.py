"""Accounts: roles, states, preferences, limits and controls, and the limits of their keys."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NewType, cast, get_args

from octavo_rules.identity import READ, SCOPES, AccountId, Scope, WorkspaceId
from octavo_rules.problems import NotFound, NotSignedIn, RateLimited

from octavo.model.files.confinement import Confinement


@dataclass(frozen=True, slots=True)
class AccessLimits:
    """The limits of a key or a token; the current rights of its account limit it further.

    Attributes:
        scopes: what it may do; `READ` is always among them.
        workspaces: the workspaces that exist for it; None for all.
        folder: the folder, without a slash at its end, of the one workspace, that it is limited
            to; None for all files.
    """

    scopes: frozenset[Scope]
    workspaces: frozenset[WorkspaceId] | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a folder without its one workspace, and for scopes without read."""
        if READ not in self.scopes:
            raise ValueError(f"{READ} is part of every access")
        if self.workspaces is not None and not self.workspaces:
            raise ValueError("choose at least one workspace")
        if self.folder is not None and (self.workspaces is None or len(self.workspaces) != 1):
            raise ValueError("a folder belongs to exactly one workspace")

    def sees(self, workspace_id: WorkspaceId) -> bool:
        """Return whether the workspace exists for the credential."""
        return self.workspaces is None or workspace_id in self.workspaces

    @property
    def confinement(self) -> Confinement | None:
        """The limitation to the folder; None for all files."""
        return None if self.folder is None else Confinement(self.folder)

    def covers(self, path: str) -> bool:
        """Return whether a file at ``path`` is within the folder."""
        return self.folder is None or Confinement(self.folder).covers(path)


def parse_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes of these names, with `READ`. Raises ValueError for an unknown one."""
    scopes = set(names)
    if unknown := sorted(scopes - set(SCOPES)):
        raise ValueError(f"unknown scope {unknown[0]!r}: use {' or '.join(SCOPES)}")
    return frozenset(cast("set[Scope]", scopes)) | {READ}


class AccountGone(NotSignedIn):
    """The account was removed or disabled during the request."""

    detail = "The account of this request is no longer open."


class AccountMissing(NotFound):
    """There is no account with this id."""

    detail = "There is no such account."


class TooManyAttempts(RateLimited):
    """The rate limit is exceeded."""

    detail = "There were too many attempts: wait before the next one."

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after=retry_after)


class PasswordQueueFull(TooManyAttempts):
    """The server checks as many passwords as it can; the attempt was not counted."""

    detail = "The server is checking many other passwords at the moment: wait before the next one."


Address = NewType("Address", str)
"""A sign-in address in normalized form: lower case, at most `LONGEST` characters."""

LONGEST = 254
"""Characters of an address: the limit of a mail path (RFC 5321 section 4.5.3.1.3)."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The syntax that browsers accept (HTML, valid e-mail address), with at most 64 characters before
# the at sign (RFC 5321 section 4.5.3.1.1).
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")


def parse_address(text: str) -> Address:
    """Return the normalized form of the address ``text``.

    Surrounding spaces are removed. Raises ValueError, whose text describes the error without
    quoting the input. Non-ASCII letters are refused: many look alike, and an address must have
    one form only.
    """
    bare = text.strip(" \t")
    if len(bare) > LONGEST:
        raise ValueError(f"An address has at most {LONGEST} characters.")
    if not bare.isascii():
        raise ValueError(
            "An address has ASCII characters only: write an internationalized domain as xn--…."
        )
    written = bare.lower()
    if not _ADDRESS.fullmatch(written):
        raise ValueError("The address is invalid: give one such as ann@example.org.")
    return Address(written)


def local_part(address: Address) -> str:
    """Return the part of ``address`` before the at sign."""
    return address.partition("@")[0]


SessionId = NewType("SessionId", str)


KeyId = NewType("KeyId", str)


GrantId = NewType("GrantId", str)


ClientId = NewType("ClientId", str)
"""An identifier that was issued at registration, or the address of a metadata document."""


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

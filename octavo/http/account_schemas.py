"""The account of the caller in its API form, which every page reads."""

from typing import Annotated

from pydantic import Field

from octavo.http import contract
from octavo.model.access import account as model


class ConsentRecorded(contract.Model):
    """The versions that the person accepted, and when."""

    terms_version: str | None
    privacy_version: str | None
    accepted_at: contract.Timestamp


class RequiredDocuments(contract.Model):
    """The documents in force: their versions, and where to read them; null for a missing one."""

    terms_version: str | None
    privacy_version: str | None
    terms_address: str | None
    privacy_address: str | None


class AccountConsent(contract.Model):
    """The consent of an account to the legal documents."""

    accepted: ConsentRecorded | None
    """What it accepted last; null before."""
    required: RequiredDocuments | None
    """What it must accept before it can go on; null if nothing is due."""


StorageBytes = Annotated[int, Field(ge=0, le=2**53 - 1), contract.WHOLE]
"""A size in bytes."""
ObjectCount = Annotated[int, Field(ge=0, le=2**53 - 1), contract.WHOLE]
"""A number of files, revisions and images."""


class PreferencesSchema(contract.Model):
    """Settings that follow the account to every device."""

    theme_family: model.ThemeFamily
    """The palette."""
    appearance: model.Appearance
    """`system` follows the device."""
    spell_check: bool
    """Whether the editor marks misspelled words."""


class UsageSchema(contract.Model):
    """What an account uses; the figures are at most some seconds old."""

    storage_bytes: int
    """The size of the files of the workspaces that it owns, and of uploads to them."""
    download_bytes: int
    """The bytes of content that it has read in the month."""
    download_objects: int
    """The files, revisions and images that it has read in the month."""
    month: str = Field(pattern="^[0-9]{4}-[0-9]{2}$")
    """The month of the downloads, in UTC, such as `2026-11`."""


class LimitSchema(contract.Model):
    """What administrators allow an account."""

    storage_bytes: StorageBytes | None
    """The maximum size of its files; null for no limit."""


class ControlsSchema(contract.Model):
    """What the operator of the installation allows an account."""

    revision: int
    """Increases with each change."""
    locked: bool
    """Whether the account can use a few operations only."""
    lock_reason: str | None
    storage_bytes: StorageBytes | None
    """The maximum size of its files; null for no limit."""
    download_bytes_per_month: StorageBytes | None
    """The maximum of bytes that it may read in a month; null for no limit."""
    download_objects_per_month: ObjectCount | None
    """The maximum of files that it may read in a month; null for no limit."""
    publishing: bool
    """Whether it may publish links, and the links that it has published open anything."""


class AccountSchema(contract.Model):
    """An account."""

    id: contract.Identifier
    address: str
    """The address to sign in with, in lower case."""
    display_name: str
    role: model.Role
    state: model.State
    lock_reason: str | None
    """Why the account is locked; null if nothing was said, or it is not."""
    preferences: PreferencesSchema
    usage: UsageSchema
    limit: LimitSchema
    controls: ControlsSchema
    consent: AccountConsent
    created_at: contract.Timestamp

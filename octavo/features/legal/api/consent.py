"""The legal documents and the consent of accounts, in their API form."""

from octavo.features.legal.rules import LegalDocuments
from octavo.http.contract.contract_model import ContractModel, Timestamp, timestamp
from octavo.model.access.account import Consent, Versions


class ConsentInput(ContractModel):
    """The versions that the person accepts: exactly those in force."""

    terms_version: str | None
    """The version of the terms; null if the installation has none."""
    privacy_version: str | None
    """The version of the privacy notice; null if the installation has none."""


class ConsentRecorded(ContractModel):
    """The versions that the person accepted, and when."""

    terms_version: str | None
    privacy_version: str | None
    accepted_at: Timestamp


class RequiredDocuments(ContractModel):
    """The documents in force: their versions, and where to read them; null for a missing one."""

    terms_version: str | None
    privacy_version: str | None
    terms_address: str | None
    privacy_address: str | None


class AccountConsent(ContractModel):
    """The consent of an account to the legal documents."""

    accepted: ConsentRecorded | None
    """What it accepted last; null before."""
    required: RequiredDocuments | None
    """What it must accept before it can go on; null if nothing is due."""


def versions_of(given: ConsentInput) -> Versions:
    """Return the versions of a request."""
    return Versions(given.terms_version, given.privacy_version)


def consent_recorded(consent: Consent) -> ConsentRecorded:
    """Return a consent in its API form."""
    return ConsentRecorded(
        terms_version=consent.versions.terms,
        privacy_version=consent.versions.privacy,
        accepted_at=timestamp(consent.accepted_at),
    )


def required_documents(legal: LegalDocuments) -> RequiredDocuments:
    """Return the documents in force in their API form."""
    terms, privacy = legal.terms, legal.privacy
    return RequiredDocuments(
        terms_version=None if terms is None else terms.version,
        privacy_version=None if privacy is None else privacy.version,
        terms_address=None if terms is None else terms.address,
        privacy_address=None if privacy is None else privacy.address,
    )


def account_consent(consent: Consent | None, legal: LegalDocuments) -> AccountConsent:
    """Return the consent of an account, where the documents ``legal`` are in force."""
    return AccountConsent(
        accepted=None if consent is None else consent_recorded(consent),
        required=required_documents(legal) if legal.due_from(consent) else None,
    )

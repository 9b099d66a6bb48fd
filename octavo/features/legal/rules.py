"""The legal documents of an installation, and the consent of accounts to them."""

from dataclasses import dataclass
from typing import Literal

from octavo_rules.problems import ConsentRequired

from octavo.model.access.account import Consent, Versions

DocumentName = Literal["terms", "privacy"]

LONGEST_VERSION = 100
"""Characters of the version of a document."""


class LegalTextError(Exception):
    """A legal document can't be used; the text says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class LegalText:
    """A legal text in force: its version, and the address at which people read it."""

    version: str
    address: str


@dataclass(frozen=True, slots=True)
class LegalTexts:
    """The legal texts in force; None for one that the operator has not named."""

    terms: LegalText | None = None
    privacy: LegalText | None = None

    @property
    def versions(self) -> Versions:
        """The versions that accounts must accept."""
        return Versions(
            None if self.terms is None else self.terms.version,
            None if self.privacy is None else self.privacy.version,
        )

    @property
    def links(self) -> list[tuple[str, str]]:
        """The addresses of the documents, with their names for people."""
        documents = ((self.terms, "Terms"), (self.privacy, "Privacy notice"))
        return [(document.address, name) for document, name in documents if document is not None]

    @property
    def complete(self) -> bool:
        """Whether both documents are named."""
        return self.terms is not None and self.privacy is not None

    def due_from(self, consent: Consent | None) -> bool:
        """Return whether an account with ``consent`` has to accept a document first.

        A document that is no longer named needs no consent.
        """
        accepted = Versions() if consent is None else consent.versions
        current = self.versions
        return (current.terms is not None and current.terms != accepted.terms) or (
            current.privacy is not None and current.privacy != accepted.privacy
        )

    def require_current(self, accepted: Versions | None) -> None:
        """Raise `ConsentDue` unless ``accepted`` are exactly the versions in force.

        None accepts nothing, which suffices when no document is named.
        """
        if (Versions() if accepted is None else accepted) != self.versions:
            raise ConsentDue(self)


NO_TEXTS = LegalTexts()


class ConsentDue(ConsentRequired):
    """The account has not accepted the documents in force."""

    detail = (
        "The legal documents in force are not accepted. The member required has their versions "
        "and addresses."
    )

    def __init__(self, documents: LegalTexts) -> None:
        terms, privacy = documents.terms, documents.privacy
        required = {
            "termsVersion": terms and terms.version,
            "privacyVersion": privacy and privacy.version,
            "termsAddress": terms and terms.address,
            "privacyAddress": privacy and privacy.address,
        }
        super().__init__(members={"required": required})

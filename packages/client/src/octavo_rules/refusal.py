"""Refusals of changes that the client knows as well: of texts, and of updates of documents."""

from typing import ClassVar

from octavo_rules.identity import FileId


class DomainError(Exception):
    """A change that was not accepted and not applied.

    Attributes:
        code: the stable code of the problem, for programs.
        detail: the error and its remedy, for people.
        file_id: the file whose operation was refused; None if that is not known.
    """

    code: ClassVar[str]

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.file_id: FileId | None = None


class InvalidContent(DomainError):
    """The file can't have this content."""

    code = "invalid_content"


class EpochMismatch(DomainError):
    """The update is for another epoch of the note's document."""

    code = "epoch_mismatch"


class DocumentMalformed(DomainError):
    """The bytes are not an update."""

    code = "document_malformed"


class DocumentDependencyMissing(DomainError):
    """The update refers to an insertion or a deletion that the document lacks."""

    code = "document_dependency_missing"


class DocumentUnsupported(DomainError):
    """The update writes more than the text of the note."""

    code = "document_unsupported"


class DocumentTooLarge(DomainError):
    """The update, or the resulting document, exceeds a limit."""

    code = "document_too_large"

"""Refusals of changes that the client knows as well: of texts, and of updates of documents."""

from octavo_rules.problems import Problem


class InvalidContent(Problem):
    """The file can't have this content."""

    status, code = 422, "invalid_content"
    summary = "The file cannot have this content."
    remedy = "The detail says what to leave out. Text is Unicode without NUL."


class EpochMismatch(Problem):
    """The update is for another epoch of the note's document."""

    status, code = 409, "epoch_mismatch"
    summary = "The document of the note has another epoch."
    remedy = (
        "Read the note with its document, without if-none-match, apply your edits to it, and save "
        "them with its epoch. The note was not changed."
    )


class DocumentMalformed(Problem):
    """The bytes are not an update."""

    status, code = 422, "document_malformed"
    summary = "The bytes are not an update of a Yjs document, or not a state vector."
    remedy = (
        "Send the output of Yjs (encodeStateAsUpdate and encodeStateVector, version 1) complete "
        "and unchanged."
    )


class DocumentDependencyMissing(Problem):
    """The update refers to an insertion or a deletion that the document lacks."""

    status, code = 422, "document_dependency_missing"
    summary = "The update refers to an insertion or a deletion that the document lacks."
    remedy = (
        "Send everything that the document lacks: read its state vector, and encode the update "
        "against it."
    )


class DocumentUnsupported(Problem):
    """The update writes more than the text of the note."""

    status, code = 422, "document_unsupported"
    summary = "The document of a note holds one text, named text, and nothing else."
    remedy = "Remove formats, embeds and other types; the detail names what was found."


class DocumentTooLarge(Problem):
    """The update, or the resulting document, exceeds a limit."""

    status, code = 413, "document_too_large"
    summary = "The note, or the update of it, is too large."
    remedy = (
        "Repeating the request does not help. Keep the text, split it into several notes, and "
        "create these."
    )

"""Documents worked on at once, without threads, as tests that must repeat exactly want them."""

from octavo.actors.documenting import Documenting
from octavo.documents import DocumentLimits, Shelf

CLIENT = 0x0C7A40
LIMITS = DocumentLimits()


def inline_documents(
    *, limits: DocumentLimits = LIMITS, client: int = CLIENT, most_bytes: int = 1 << 24
) -> Documenting:
    """Documents without a limit of the grammar, in a shelf of their own."""
    return Documenting(Shelf(client, most_bytes), lambda text: None, limits)

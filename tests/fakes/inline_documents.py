"""Documents processed immediately, without threads, for tests that must repeat exactly."""

from collections.abc import Callable
from itertools import count

from octavo.actors.workspace.planning import DocumentServices
from octavo.documents import DocumentCache
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.text_bounds import TextBounds

CLIENT = 0x0C7A40
LIMITS = DocumentLimits()


def accept(text: str) -> None:
    """Accepts every text."""


def inline_documents(
    *,
    limits: DocumentLimits = LIMITS,
    client: int = CLIENT,
    max_bytes: int = 1 << 24,
    check_text: Callable[[str], None] = accept,
) -> DocumentServices:
    """Documents in a cache of their own."""

    def check(text: str, before: str = "", bounds: TextBounds | None = None) -> None:
        check_text(text)

    return DocumentServices(DocumentCache(count(client, 1000).__next__, max_bytes), check, limits)

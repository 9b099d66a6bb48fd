"""Check the texts of notes that are written."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from octavo.model.files.content import NoteText, note_text
from octavo.model.identity import FileId
from octavo.model.refusal import DomainError
from octavo.render.limits import check_renderable
from octavo.store.fair_turns import FairThreads

LONG = 128 * 1024
"""Characters whose check takes some milliseconds."""

T = TypeVar("T")


class NoteTexts:
    """Checks texts; long ones in a thread, since they would hold the event loop."""

    def __init__(self) -> None:
        self._threads = FairThreads(1)

    async def content(self, text: str) -> NoteText:
        """Return ``text`` as the content of a note; raises as `text_of`.

        Cancellation is deferred while a long text is checked.
        """
        return await self.run(partial(text_of, text), len(text))

    async def run(self, work: Callable[[], T], longest: int) -> T:
        """Return what ``work`` returns, which checks texts of at most ``longest`` characters."""
        return work() if longest <= LONG else await self._threads.run(work)


def text_of(text: str, file_id: FileId | None = None) -> NoteText:
    """Return ``text`` as the content of a note.

    Raises the problems ``invalid_content`` and ``unrenderable_note`` with ``file_id``.
    """
    try:
        check_renderable(text)
        return note_text(text)
    except DomainError as refusal:
        refusal.file_id = file_id
        raise

"""Documents for planning, without Yjs: an update is simply the new text of the note."""

from collections.abc import Iterator
from contextlib import contextmanager

from octavo_rules.content import NoteContent, NoteText, note_text
from octavo_rules.identity import ContentId, Epoch, FileId
from octavo_rules.problems import DocumentMalformed, EpochMismatch, Problem


class PlainDocuments:
    """The texts of notes; every note is in the epoch ``e``.

    An update that begins with ``!`` is refused after its work, like one whose text is refused.
    """

    def __init__(self) -> None:
        self.texts: dict[FileId, str] = {}

    @contextmanager
    def attempt(self) -> Iterator[None]:
        before = dict(self.texts)
        try:
            yield
        except Problem:
            self.texts = before
            raise

    def created(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        self.texts[file_id] = content.text

    def merge(
        self, file_id: FileId, epoch: Epoch, update: bytes, epoch_next: Epoch
    ) -> NoteText | None:
        if epoch != "e":
            raise EpochMismatch("another epoch")
        if self.texts.get(file_id) == update.decode():
            return None
        self.texts[file_id] = update.decode()
        if update.startswith(b"!"):
            raise DocumentMalformed("!")
        return note_text(update.decode())

    def write(self, file_id: FileId, content_id: ContentId, content: NoteContent) -> None:
        self.texts[file_id] = content.text

    def purged(self, file_id: FileId) -> None:
        self.texts.pop(file_id, None)

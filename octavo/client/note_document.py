"""The document of a note on a device: edited at once, online or not, and saved when it suits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

import trio

from octavo.client.answers import File, NoteSave
from octavo.client.errors import ClientError, EpochMismatch, UnexpectedAnswer
from octavo.client.three_way import merged
from octavo.client.workspace import Workspace
from octavo.documents.live import LiveDocument
from octavo.model.document import KeptDocument
from octavo.model.edits import Edit, edits_between
from octavo.model.identity import Epoch, FileId, MutationId
from octavo.model.initial_document import NOTHING
from octavo.model.refusal import Refusal

_CLIENT_BITS = 53
"""Of a Yjs client, as many as a number of JavaScript holds exactly."""
_READER = 0


class _Save(NamedTuple):
    mutation_id: MutationId
    epoch: Epoch
    update: bytes
    vector: bytes


class NoteDocument:
    """A note as one device has it: its unsaved edits, on what the server is known to have.

    Devices that hold the same note may edit it at once, for as long as they like without a
    connection: their edits are merged, not lost. Places in the text are counted in characters
    (code points). Each instance writes as a Yjs client of its own, so never copy one.

    Args:
        workspace: where it stands.
        file: read with its document; `open` does both. Raises ValueError without one.

    Attributes:
        file_id: of the note.
        path: where it stood when the server was heard last.
        revision_id: its head then.
    """

    def __init__(self, workspace: Workspace, file: File) -> None:
        if file.document is None:
            raise ValueError("read the file with its document")
        self.file_id: FileId = file.id
        self.path = file.path
        self.revision_id = file.head.id
        self._workspace = workspace
        self._saving = trio.Lock()
        # Sent, and not known what came of it.
        self._sent: _Save | None = None
        self._load(_kept(file))

    @classmethod
    async def open(cls, workspace: Workspace, file_id: FileId) -> Self:
        """Read a note with its document. Raises `ClientError`, `NotFound` for a deleted one."""
        return cls(workspace, await workspace.file(file_id, document=True))

    @property
    def text(self) -> str:
        """The text, with what was not saved yet."""
        return self._live.text

    @property
    def epoch(self) -> Epoch:
        """The generation of the document."""
        return self._live.epoch

    @property
    def state_vector(self) -> dict[int, int]:
        """How much of each client's work is in it."""
        return self._live.vector()

    @property
    def unsaved(self) -> bool:
        """Whether there are edits that the server is not known to have."""
        live, known = self._live, self._known
        return live.vector() != known.vector() or live.text != known.text

    def insert(self, at: int, text: str) -> None:
        """Put ``text`` before the character ``at``. Raises IndexError behind the end."""
        self._edit(at, at, text)

    def delete(self, start: int, end: int) -> None:
        """Take the characters from ``start`` up to ``end`` away. Raises IndexError."""
        self._edit(start, end, "")

    def replace(self, text: str) -> None:
        """Make the text ``text``, by edits as small as can be found, so that others' stay."""
        self._live.edit(edits_between(self._live.text, text))

    async def save(self) -> NoteSave:
        """Send what the server lacks, and take in what is lacking here; answer what came of it.

        Without edits of its own it brings those of others. Edits that are made while it waits are
        for the next save. When two tasks save, one waits for the other.

        Raises `ClientError`: the edits stay here, and the next save sends them. One whose outcome
        is unknown, or that was cancelled, is first sent again as it was, so it happens once.

        The server may have begun a new generation of the document, which sheds its history. Then
        the difference between the text that it was last known to have and the text here is done
        to the new document (`merged`). That keeps every character that was put in or taken away
        here; not kept is which character another device meant: where others edited the same
        place meanwhile, both versions may stand there, and what another device still holds
        unsaved is merged by its own difference.
        """
        async with self._saving:
            while True:
                repeated = self._sent is not None
                sent = self._sent = self._sent or self._next()
                try:
                    saved = await self._workspace.save(
                        self.file_id, sent.epoch, sent.update, sent.vector, sent.mutation_id
                    )
                except EpochMismatch:
                    self._sent = None
                    self._carry_over(await self._workspace.file(self.file_id, document=True))
                    if self.epoch == sent.epoch:
                        raise
                    continue
                except ClientError as error:
                    if not error.outcome_unknown:
                        self._sent = None
                    raise
                self._sent = None
                self._take(sent, saved)
                if not (repeated and self.unsaved):
                    return saved

    def _edit(self, start: int, end: int, inserted: str) -> None:
        text = self._live.text
        if not 0 <= start <= end <= len(text):
            raise IndexError(f"the text has {len(text)} characters")
        at = len(text[:start].encode())
        self._live.edit([Edit(at, len(text[start:end].encode()), inserted)])

    def _next(self) -> _Save:
        live = self._live
        update = live.lacking(self._known.vector_bytes()) if self.unsaved else NOTHING
        mutation_id = self._workspace.calling.new_mutation()
        return _Save(mutation_id, live.epoch, update, live.vector_bytes())

    def _take(self, sent: _Save, saved: NoteSave) -> None:
        self.path, self.revision_id = saved.path, saved.revision.id
        with _understood():
            self._known.apply(sent.update)
            if saved.epoch == sent.epoch:
                self._known.apply(saved.update)
                self._live.apply(saved.update)
                return
        # The new generation has the edits of this save: what is left are those made since.
        self._rebase(KeptDocument(saved.epoch, saved.update, b""))

    def _carry_over(self, file: File) -> None:
        self.path, self.revision_id = file.path, file.head.id
        self._rebase(_kept(file))

    def _rebase(self, kept: KeptDocument) -> None:
        base, mine = self._known.text, self._live.text
        self._load(kept)
        if mine != base:
            self.replace(merged(base, mine, self._live.text))

    def _load(self, kept: KeptDocument) -> None:
        with _understood():
            known = LiveDocument(kept, _READER)
            live = LiveDocument(kept, self._workspace.calling.chance.getrandbits(_CLIENT_BITS))
        self._known, self._live = known, live


def _kept(file: File) -> KeptDocument:
    document = file.document
    if document is None:
        raise UnexpectedAnswer(f"the file {file.id} has no document")
    return KeptDocument(document.epoch, document.state, document.state_vector)


@contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except Refusal as refusal:
        raise UnexpectedAnswer(refusal.detail) from refusal

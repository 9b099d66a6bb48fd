"""The document of a note on a device: edited at once, online or not, and saved when it suits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

import trio

from octavo.client.answers import NoteSave, RevisionInfo, WorkspaceFileInfo
from octavo.client.errors import ClientError, EpochMismatchError, ProblemError, UnexpectedAnswer
from octavo.client.three_way import merged, shared
from octavo.client.workspace import WorkspaceClient
from octavo.documents.live_document import LiveDocument
from octavo.model.documents.document import StoredDocument
from octavo.model.documents.edits import Edit, edits_between
from octavo.model.documents.initial_document import NOTHING
from octavo.model.documents.state_vector import read_state_vector
from octavo.model.documents.structs import update_contents
from octavo.model.identity import Epoch, FileId, MutationId
from octavo.model.refusal import DomainError

_CLIENT_BITS = 53
"""Of a Yjs client, as many as a number of JavaScript holds exactly."""
_READER = 0
_MENDED = frozenset(("epoch_mismatch", "document_dependency_missing"))
"""What a look at the server's document may mend."""
_ROUNDS = 4
"""Of one save. A server that lost something takes two, and each new generation one."""


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

    def __init__(self, workspace: WorkspaceClient, file: WorkspaceFileInfo) -> None:
        if file.document is None:
            raise ValueError("read the file with its document")
        self.file_id: FileId = file.id
        self._workspace = workspace
        self._saving = trio.Lock()
        self._hear(file.path, file.head)
        # The server does not seem to have all that it was known to have.
        self._doubted = False
        # Sent, and not known what came of it.
        self._sent: _Save | None = None
        self._known: LiveDocument
        self._live: LiveDocument
        self._load(_kept(file))

    @classmethod
    async def open(cls, workspace: WorkspaceClient, file_id: FileId) -> Self:
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
        return self._doubted or _differ(self._live, self._known)

    def insert(self, at: int, text: str) -> None:
        """Put ``text`` before the character ``at``.

        Raises IndexError behind the end, ValueError for the character NUL, which no note holds.
        """
        self._edit(at, at, text)

    def delete(self, start: int, end: int) -> None:
        """Take the characters from ``start`` up to ``end`` away. Raises IndexError."""
        self._edit(start, end, "")

    def replace(self, text: str) -> None:
        """Make the text ``text``, by edits as small as can be found, so that others' stay.

        Raises ValueError for the character NUL, which no note holds.
        """
        _check_text(text)
        self._live.edit(edits_between(self._live.text, text))

    async def save(self) -> NoteSave:
        """Send what the server lacks, and take in what is lacking here; answer what came of it.

        Without edits of its own it brings those of others. Edits that are made while it waits are
        for the next save. When two tasks save, one waits for the other.

        Raises `ClientError`: the edits stay here, and the next save sends them. One whose outcome
        is unknown, or that was cancelled, is first sent again as it was, so it happens once.

        The server may have begun a new generation of the document, which sheds its history. Then
        the difference between the text that it was last known to have and the text here is done
        to the new document (`merged`): what was put in here stands there once, and what was taken
        away here is gone. Which of several equal characters was meant is not kept. Where others
        edited the same place meanwhile, both versions may stand there. The document gets it by
        `replace`, so that a few characters between two edits may be new ones, which another
        device that took them away without a save takes away no more.

        A server that was given back an older backup lacks what was saved since. A save sends
        that again, from whatever device has it. When the backup has an earlier generation, the
        document gets the lines and words of both texts: nothing that stands here or there is
        lost, and what was taken away since the backup is back. `UnexpectedAnswer` is raised when
        the server goes on to lack what it took.
        """
        async with self._saving:
            problem: ProblemError | None = None
            if self._doubted:
                await self._look()
            for _ in range(_ROUNDS):
                repeated = self._sent is not None
                sent = self._sent = self._sent or self._next()
                try:
                    saved = await self._workspace.save(
                        self.file_id, sent.epoch, sent.update, sent.vector, sent.mutation_id
                    )
                except ClientError as error:
                    if not error.outcome_unknown:
                        self._sent = None
                    if not isinstance(error, ProblemError) or error.code not in _MENDED:
                        raise
                    problem = error
                    await self._look()
                    if isinstance(error, EpochMismatchError) and self.epoch == sent.epoch:
                        raise
                    continue
                self._sent = problem = None
                self._take(sent, saved)
                lost = self._doubted and await self._look()
                if not (lost or (repeated and self.unsaved)):
                    return saved
            raise problem or UnexpectedAnswer("the server goes on to lack what it took")

    def _edit(self, start: int, end: int, inserted: str) -> None:
        text = self._live.text
        if not 0 <= start <= end <= len(text):
            raise IndexError(f"the text has {len(text)} characters")
        _check_text(inserted)
        at = len(text[:start].encode())
        self._live.edit([Edit(at, len(text[start:end].encode()), inserted)])

    def _next(self) -> _Save:
        live = self._live
        update = live.update_since(self._known.vector_bytes()) if self.unsaved else NOTHING
        mutation_id = self._workspace.calling.new_mutation()
        return _Save(mutation_id, live.epoch, update, live.vector_bytes())

    def _take(self, sent: _Save, saved: NoteSave) -> None:
        self._hear(saved.path, saved.revision)
        with _understood():
            self._known.apply(sent.update)
            if saved.epoch == sent.epoch:
                self._known.apply(saved.update)
                self._live.apply(saved.update)
                self._doubted = not _has(saved, self._known)
                return
        # The new generation has the edits of this save: what is left are those made since.
        self._rebase(StoredDocument(saved.epoch, saved.update, b""))

    async def _look(self) -> bool:
        """Read what the server has; answer whether that lacks what it was known to have."""
        file = await self._workspace.file(self.file_id, document=True)
        kept = _kept(file)
        position, revision_id = self._position, self.revision_id
        self._hear(file.path, file.head)
        self._doubted = False
        if kept.epoch == self.epoch:
            believed = self._known
            with _understood():
                self._known = LiveDocument(kept, _READER)
                believed.apply(kept.state)
                self._live.apply(kept.state)
            return _differ(believed, self._known)
        # Generations are named by revisions, and their ids sort by the time they were made.
        back = kept.epoch < self.epoch or file.head.position < position
        same_place = file.head.position == position and file.head.id != revision_id
        self._rebase(kept, back=back or same_place)
        return self.unsaved

    def _rebase(self, kept: StoredDocument, *, back: bool = False) -> None:
        base, mine = self._known.text, self._live.text
        self._load(kept)
        theirs = self._live.text
        if back:
            # Theirs is no later than the base: what it lacks, nobody took away.
            base = shared(base, theirs)
        if mine != base:
            self.replace(merged(base, mine, theirs, exact=back))

    def _hear(self, path: str | None, head: RevisionInfo) -> None:
        self.path, self.revision_id, self._position = path, head.id, head.position

    def _load(self, kept: StoredDocument) -> None:
        with _understood():
            known = LiveDocument(kept, _READER)
            live = LiveDocument(kept, self._workspace.calling.chance.getrandbits(_CLIENT_BITS))
        self._known, self._live = known, live


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("a note holds no NUL (U+0000): leave it out")


def _differ(one: LiveDocument, other: LiveDocument) -> bool:
    # Deletions stand in no vector, but each makes the text shorter.
    return one.vector() != other.vector() or one.text != other.text


def _has(saved: NoteSave, known: LiveDocument) -> bool:
    """Whether the server surely has all that is ``known`` behind a save."""
    with _understood():
        vector = read_state_vector(saved.state_vector)
        # Deletions stand in no vector, but every update holds all of them.
        [told], [held] = (
            update_contents([saved.update]),
            update_contents([known.update_since(saved.state_vector)]),
        )
    return vector == known.vector() and set(told.ranges) == set(held.ranges)


def _kept(file: WorkspaceFileInfo) -> StoredDocument:
    document = file.document
    if document is None:
        raise UnexpectedAnswer(f"the file {file.id} has no document")
    return StoredDocument(document.epoch, document.state, document.state_vector)


@contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except DomainError as refusal:
        raise UnexpectedAnswer(refusal.detail) from refusal

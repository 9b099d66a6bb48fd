"""The document of a note on a device: edited immediately, also offline, and saved later."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Literal, Self

import trio
from octavo_rules.documents.document import NOTHING, StoredDocument
from octavo_rules.documents.edits import Edit, edits_between
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.documents.live_document import LiveDocument
from octavo_rules.documents.structs import update_contents
from octavo_rules.identity import Epoch, FileId, MutationId, Position, RevisionId
from octavo_rules.merge import merged, shared
from octavo_rules.problems import Problem
from octavo_rules.schema_base import Schema
from octavo_rules.schemas import Base64, NoteSave, RevisionDocument, WorkspaceFile

from octavo_client.connection import parse_response
from octavo_client.errors import ClientError, EpochMismatchError, ProblemError, UnexpectedResponse
from octavo_client.workspace import WorkspaceClient

_CLIENT_BITS = 53
"""Bits of a Yjs client id: the integers that JavaScript represents exactly."""
_READER = 0
_RECOVERABLE = frozenset(("epoch_mismatch", "document_dependency_missing"))
"""Problems that reading the server's document may resolve."""
_ROUNDS = 4
"""Attempts of one save. A server that lost changes takes two, each new epoch one."""


class _Save(Schema):
    mutation_id: MutationId
    epoch: Epoch
    update: Base64
    vector: Base64


class DumpedDocument(Schema):
    """What `NoteDocument.dump` returns.

    Attributes:
        synced: the state that is known to be on the server, as an update.
        edits: what it lacks.
        digest: SHA-256 of all else, in hexadecimal digits.
    """

    version: Literal[1]
    file_id: FileId
    path: str | None
    revision_id: RevisionId
    position: Position
    suspect: bool
    epoch: Epoch
    synced: Base64
    edits: Base64
    sent: _Save | None
    digest: str


class NoteDocument:
    """A note on one device: the state known to be on the server, and unsaved edits.

    Several devices may edit the same note concurrently, and for any time offline: their edits are
    merged. Positions in the text are counted in code points. Each instance writes as a separate Yjs
    client, so it must never be copied. `dump` returns what a program stores to go on after it ends.

    Args:
        workspace: the workspace of the note.
        file: the file, read with its document; `open` does both. Raises ValueError without one.

    Attributes:
        file_id: the id of the note.
        path: its path at the last response of the server.
        revision_id: its head at that time.
    """

    def __init__(self, workspace: WorkspaceClient, file: WorkspaceFile) -> None:
        if file.document is None:
            raise ValueError("read the file with its document")
        self._begin(workspace, file.id)
        self._set_head(file.path, file.head)
        self._load(_stored(file))

    def _begin(self, workspace: WorkspaceClient, file_id: FileId) -> None:
        self.file_id = file_id
        self.path: str | None
        self.revision_id: RevisionId
        self._position: Position
        self._workspace = workspace
        self._saving = trio.Lock()
        # Whether the server may lack changes that it is known to have had.
        self._suspect = False
        # A save that was sent and whose outcome is unknown.
        self._sent: _Save | None = None
        self._synced: LiveDocument
        self._live: LiveDocument

    @classmethod
    async def open(cls, workspace: WorkspaceClient, file_id: FileId) -> Self:
        """Read a note with its document. Raises `ClientError`; `NotFoundError` if it is deleted."""
        return cls(workspace, await workspace.file(file_id, document=True))

    def dump(self) -> bytes:
        """Return the document with its unsaved edits, and a save whose outcome is unknown.

        Store it after each edit, or before the program ends, and `load` it when the program starts
        again: edits after it are not in it. It has the text of the note and its history.
        """
        synced, live = self._synced, self._live
        dumped = DumpedDocument(
            version=1,
            file_id=self.file_id,
            path=self.path,
            revision_id=self.revision_id,
            position=self._position,
            suspect=self._suspect,
            epoch=live.epoch,
            synced=synced.state(),
            edits=live.update_since(synced.vector_bytes()),
            sent=self._sent,
            digest="",
        )
        return _json(dumped.model_copy(update={"digest": _digest(dumped)}))

    @classmethod
    def load(cls, workspace: WorkspaceClient, dumped: bytes) -> Self:
        """Return a document that was dumped, without asking the server.

        It writes as another Yjs client, so an older one can be loaded as well: the next `save`
        merges what was saved since. ``workspace`` is that of the note, perhaps of another `Client`.
        Raises ValueError for bytes that are not the output of `dump`, as after damage. The digest
        does not protect against forgery.
        """
        try:
            stored = parse_response(DumpedDocument, dumped)
            document = cls.__new__(cls)
            document._begin(workspace, stored.file_id)  # of the same class
            document._restore(stored)  # of the same class
        except UnexpectedResponse as error:
            raise ValueError(f"this is no document that was dumped: {error}") from None
        return document

    def _restore(self, stored: DumpedDocument) -> None:
        if _digest(stored.model_copy(update={"digest": ""})) != stored.digest:
            raise UnexpectedResponse("it is damaged")
        self.path, self.revision_id = stored.path, stored.revision_id
        self._position, self._suspect, self._sent = stored.position, stored.suspect, stored.sent
        self._load(StoredDocument(stored.epoch, stored.synced, b""))
        with _validated():
            self._live.apply(stored.edits)

    @property
    def text(self) -> str:
        """The text, including unsaved edits."""
        return self._live.text

    @property
    def epoch(self) -> Epoch:
        """The epoch of the document."""
        return self._live.epoch

    @property
    def state_vector(self) -> dict[int, int]:
        """The state vector of the document: the next clock of each client."""
        return self._live.vector()

    @property
    def unsaved(self) -> bool:
        """Whether there are edits that the server is not known to have."""
        return self._suspect or _differ(self._live, self._synced)

    def insert(self, at: int, text: str) -> None:
        """Insert ``text`` before the character ``at``.

        Raises IndexError past the end, and ValueError for the character NUL.
        """
        self._edit(at, at, text)

    def delete(self, start: int, end: int) -> None:
        """Delete the characters from ``start`` up to ``end``. Raises IndexError."""
        self._edit(start, end, "")

    def replace(self, text: str) -> None:
        """Change the text to ``text`` by minimal edits, which preserves concurrent ones.

        Raises ValueError for the character NUL.
        """
        _check_text(text)
        self._live.edit(edits_between(self._live.text, text))

    async def save(self) -> NoteSave:
        """Send the edits that the server lacks, and apply those that are missing here.

        Without local edits it still fetches those of others. Edits made during the save are left
        for the next one. Concurrent saves of an instance run in turn.

        Raises `ClientError`; the edits are kept, and the next save sends them. A save that was
        cancelled, or whose outcome is unknown, is first repeated unchanged, so it is applied once.

        The server may have started a new epoch of the document, which discards its history.
        The difference between the text last known on the server and the local text is then applied
        to the new document (`merged`): local insertions appear once, and local deletions are
        applied. Which of several equal characters was meant is not preserved. If others edited the
        same position, both versions may appear. The difference is applied by `replace`, so a few
        characters between two edits may be replaced by new ones, and deletions by another offline
        device don't affect these.

        A server restored from an older backup lacks later saves; any device that has them sends
        them again. If the backup has an earlier epoch, the document gets the lines and words
        of both texts: nothing in either is lost, and deletions since the backup are undone. Raises
        `UnexpectedResponse` if the server keeps lacking what it accepted.
        """
        async with self._saving:
            problem: ProblemError | None = None
            if self._suspect:
                await self._reload()
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
                    if not isinstance(error, ProblemError) or error.code not in _RECOVERABLE:
                        raise
                    problem = error
                    await self._reload()
                    if isinstance(error, EpochMismatchError) and self.epoch == sent.epoch:
                        raise
                    continue
                self._sent = problem = None
                self._apply_saved(sent, saved)
                lost = self._suspect and await self._reload()
                if not (lost or (repeated and self.unsaved)):
                    return saved
            raise problem or UnexpectedResponse("the server keeps lacking changes that it accepted")

    def _edit(self, start: int, end: int, inserted: str) -> None:
        text = self._live.text
        if not 0 <= start <= end <= len(text):
            raise IndexError(f"the text ends at {len(text)}")
        _check_text(inserted)
        at = len(text[:start].encode())
        self._live.edit([Edit(at, len(text[start:end].encode()), inserted)])

    def _next(self) -> _Save:
        live = self._live
        update = live.update_since(self._synced.vector_bytes()) if self.unsaved else NOTHING
        mutation_id = self._workspace.connection.new_mutation()
        vector = live.vector_bytes()
        return _Save(mutation_id=mutation_id, epoch=live.epoch, update=update, vector=vector)

    def _apply_saved(self, sent: _Save, saved: NoteSave) -> None:
        self._set_head(saved.path, saved.revision)
        with _validated():
            self._synced.apply(sent.update)
            if saved.epoch == sent.epoch:
                self._synced.apply(saved.update)
                self._live.apply(saved.update)
                self._suspect = not _has(saved, self._synced)
                return
        # The new epoch includes this save; later edits are applied to it.
        self._rebase(StoredDocument(saved.epoch, saved.update, b""))

    async def _reload(self) -> bool:
        """Read the server's document; return whether it lacks changes it was known to have."""
        file = await self._workspace.file(self.file_id, document=True)
        stored = _stored(file)
        position, revision_id = self._position, self.revision_id
        self._set_head(file.path, file.head)
        self._suspect = False
        if stored.epoch == self.epoch:
            believed = self._synced
            with _validated():
                self._synced = LiveDocument(stored, _READER)
                believed.apply(stored.state)
                self._live.apply(stored.state)
            return _differ(believed, self._synced)
        # Epochs are ids of revisions, which sort by creation time.
        back = stored.epoch < self.epoch or file.head.position < position
        same_place = file.head.position == position and file.head.id != revision_id
        self._rebase(stored, back=back or same_place)
        return self.unsaved

    def _rebase(self, stored: StoredDocument, *, back: bool = False) -> None:
        base, mine = self._synced.text, self._live.text
        self._load(stored)
        theirs = self._live.text
        if back:
            # Their text is not newer than the base: what it lacks was not deleted by anybody.
            base = shared(base, theirs)
        if mine != base:
            self.replace(merged(base, mine, theirs, exact=back))

    def _set_head(self, path: str | None, head: RevisionDocument) -> None:
        self.path, self.revision_id, self._position = path, head.id, head.position

    def _load(self, stored: StoredDocument) -> None:
        with _validated():
            synced = LiveDocument(stored, _READER)
            live = LiveDocument(
                stored, self._workspace.connection.entropy.getrandbits(_CLIENT_BITS)
            )
        self._synced, self._live = synced, live


def _digest(dumped: DumpedDocument) -> str:
    return sha256(_json(dumped)).hexdigest()


def _json(dumped: DumpedDocument) -> bytes:
    return dumped.model_dump_json(by_alias=True).encode()


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("a note can't contain NUL (U+0000): remove it")


def _differ(one: LiveDocument, other: LiveDocument) -> bool:
    # State vectors do not include deletions, but each deletion shortens the text.
    return one.vector() != other.vector() or one.text != other.text


def _has(saved: NoteSave, synced: LiveDocument) -> bool:
    """Return whether the server certainly has everything in ``synced`` after a save."""
    with _validated():
        vector = read_state_vector(saved.state_vector)
        # State vectors do not include deletions, but every update has all of them.
        [received], [held] = (
            update_contents([saved.update]),
            update_contents([synced.update_since(saved.state_vector)]),
        )
    return vector == synced.vector() and set(received.ranges) == set(held.ranges)


def _stored(file: WorkspaceFile) -> StoredDocument:
    document = file.document
    if document is None:
        raise UnexpectedResponse(f"the file {file.id} has no document")
    return StoredDocument(document.epoch, document.state, document.state_vector)


@contextmanager
def _validated() -> Iterator[None]:
    try:
        yield
    except Problem as refusal:
        raise UnexpectedResponse(refusal.detail) from refusal

"""One document of a batch, which can be made again as it was before."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo.documents.document_cache import CachedDocument
from octavo.documents.live_document import LiveDocument
from octavo.model.documents.document import KeptDocument
from octavo.model.documents.edits import edits_between
from octavo.model.documents.facts import DocumentFacts, facts_at_sight
from octavo.model.documents.initial_document import initial
from octavo.model.documents.limits import Growth
from octavo.model.documents.update_check import CheckedUpdate
from octavo.model.identity import ContentId, Epoch

_BYTES_OF_AN_EDIT = 64
_PIECES_OF_AN_EDIT = 3


@dataclass(slots=True)
class BatchDocument:
    """A document as the batch has made it so far.

    Attributes:
        base: a document with which it can be made again.
        bound: bytes that its state has at most.
        facts: what is known of it beside its state vector.
        growth: what it takes to load.
        foreign: whether there may be updates of devices in it.
        stored: None when it is not in the store.
        since: the updates that make it from the base.
        written: whether edits of the server's own came behind these; then it can't be made again.
        epoch_next: for the generation that may have to follow it.
    """

    live: LiveDocument
    text: str
    base: KeptDocument
    bound: int
    facts: DocumentFacts
    growth: Growth
    foreign: bool
    stored: KeptDocument | None
    since: tuple[bytes, ...] = ()
    written: bool = False
    epoch_next: Epoch | None = None

    @classmethod
    def loaded(cls, stored: KeptDocument, client: int) -> "BatchDocument":
        """Return a document as the store has it, with edits of the server being of ``client``."""
        live = LiveDocument(stored, client)
        text, size = live.text, len(stored.state)
        foreign = initial(ContentId(stored.epoch), text) != stored
        facts, growth = facts_at_sight(stored.state), Growth.unknown(size, len(text))
        return cls(live, text, stored, size, facts, growth, foreign, stored)

    @classmethod
    def taken(cls, kept: CachedDocument) -> "BatchDocument":
        """Return a document that was on the shelf."""
        live, stored, text, facts, growth, foreign = kept
        return cls(live, text, stored, len(stored.state), facts, growth, foreign, stored)

    def kept(self, stored: KeptDocument) -> CachedDocument:
        """Return what goes onto the shelf, once the document is in the store as it is."""
        return CachedDocument(self.live, stored, self.text, self.facts, self.growth, self.foreign)

    def rebase(self) -> None:
        """Have it made again as it is now."""
        self.base, self.since, self.written = self.live.kept(), (), False

    @property
    def state(self) -> Callable[[], bytes]:
        """What tells the state as it is now; that is dear when it changed."""
        return self.live.state if self.since or self.written else lambda: self.base.state

    def went_on(self, text: str, update: bytes, checked: CheckedUpdate, epoch_next: Epoch) -> None:
        """Take note that the update of a device was applied, and made ``text`` of it."""
        self.growth = self.growth.grown(checked.pieces)
        self.facts = checked.facts
        self.text, self.foreign, self.epoch_next = text, True, epoch_next
        self.since += (update,)
        self.bound += len(update)

    def write(self, text: str, epoch_next: Epoch) -> None:
        """Turn the text into ``text`` by the smallest edits."""
        edits = edits_between(self.text, text)
        self.live.edit(edits)
        self.text, self.written, self.epoch_next = text, True, epoch_next
        self.growth = self.growth.grown(_PIECES_OF_AN_EDIT * len(edits))
        for edit in edits:
            inserted = edit.inserted.encode()
            self.bound += len(inserted) + _BYTES_OF_AN_EDIT
            self.facts = self.facts.written(inserted)

    def begin_anew(self, client: int) -> None:
        """Begin the generation ``epoch_next``, with the same text and no history."""
        if self.epoch_next is None:
            raise ValueError("the document was not changed")
        base = initial(ContentId(self.epoch_next), self.text)
        begun = BatchDocument.loaded(base, client)
        self.live, self.base, self.bound = begun.live, base, begun.bound
        self.facts, self.growth, self.foreign = begun.facts, begun.growth, begun.foreign
        self.stored, self.since, self.written = None, (), False

    def made_again(self, client: int) -> "BatchDocument":
        """Return the same, made from its base; it must not be `written`."""
        live = LiveDocument(self.base, client)
        for update in self.since:
            live.apply(update)
        return replace(self, live=live)

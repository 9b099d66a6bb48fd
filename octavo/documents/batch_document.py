"""One document of a batch, which can be rebuilt as it was before an attempt."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo.documents.document_cache import CachedDocument
from octavo.documents.live_document import LiveDocument
from octavo.model.documents.document import StoredDocument
from octavo.model.documents.edits import edits_between
from octavo.model.documents.facts import DocumentFacts, facts_at_sight
from octavo.model.documents.initial_document import initial
from octavo.model.documents.limits import Growth
from octavo.model.documents.update_check import CheckedUpdate
from octavo.model.identity import ContentId, Epoch
from octavo.model.text_bounds import TextBounds

_BYTES_OF_AN_EDIT = 64
_PIECES_OF_AN_EDIT = 3


@dataclass(slots=True)
class BatchDocument:
    """A document with the changes of the batch so far.

    Attributes:
        content_id: the content of the note that has its text.
        base: the document from which `rebuilt` starts.
        bound: an upper bound of the size of its state, in bytes.
        facts: what is known of its content, in addition to its state vector.
        growth: the estimated cost of loading it.
        foreign: whether it may contain updates of devices.
        fixed: whether its epoch remains when the text of the note is replaced.
        stored: the document in the store, or None if it is not stored.
        followed: the content of the stored document, if it was behind its note.
        since: the updates of devices that were applied to the base.
        written: whether edits of the server followed them; it can't be rebuilt then.
        epoch_next: the epoch that may follow this one.
        bounds: those of the text, if it was checked.
    """

    live: LiveDocument
    text: str
    content_id: ContentId
    base: StoredDocument
    bound: int
    facts: DocumentFacts
    growth: Growth
    foreign: bool
    fixed: bool
    stored: StoredDocument | None
    followed: ContentId | None = None
    since: tuple[bytes, ...] = ()
    written: bool = False
    epoch_next: Epoch | None = None
    bounds: TextBounds | None = None

    @classmethod
    def loaded(
        cls, stored: StoredDocument, content_id: ContentId, client: int, *, fixed: bool
    ) -> "BatchDocument":
        """Return a document loaded from its stored state; ``client`` authors the server's edits."""
        live = LiveDocument(stored, client)
        text, size = live.text, len(stored.state)
        foreign = initial(ContentId(stored.epoch), text) != stored
        facts, growth = facts_at_sight(stored.state), Growth.unknown(size, len(text))
        return cls(live, text, content_id, stored, size, facts, growth, foreign, fixed, stored)

    @classmethod
    def from_cache(cls, cached: CachedDocument) -> "BatchDocument":
        """Return a document taken from the cache."""
        live, stored, text, content_id, facts, growth, foreign, bounds = cached
        size = len(stored.state)
        known = (live, text, content_id, stored, size, facts, growth, foreign, True, stored)
        return cls(*known, bounds=bounds)

    def to_cache(self, stored: StoredDocument) -> CachedDocument:
        """Return the entry for the cache, given the document as it is stored now."""
        return CachedDocument(
            self.live,
            stored,
            self.text,
            self.content_id,
            self.facts,
            self.growth,
            self.foreign,
            self.bounds,
        )

    def rebase(self, client: int) -> None:
        """Make the present state the base of `rebuilt`, in a form in which it can be stored.

        A document whose text would change when it is loaded from its state starts a new epoch with
        its present text. Forged updates of devices cause this: they refer to positions that no
        editor refers to, and the text then depends on the order in which they are applied.
        """
        base = self.live.stored()
        if self.foreign and LiveDocument(base, client).text != self.text:
            self.reset(client)
        else:
            self.base, self.since, self.written = base, (), False

    @property
    def state(self) -> Callable[[], bytes]:
        """A function that returns the present state; expensive after a change."""
        return self.live.state if self.since or self.written else lambda: self.base.state

    def applied(self, text: str, update: bytes, checked: CheckedUpdate, epoch_next: Epoch) -> None:
        """Record that the update of a device was applied, which resulted in ``text``."""
        self.growth = self.growth.grown(checked.pieces)
        self.facts = checked.facts
        if text != self.text:
            self.content_id = ContentId(epoch_next)
        self.text, self.foreign, self.epoch_next = text, True, epoch_next
        self.since += (update,)
        self.bound += len(update)

    def write(self, text: str, content_id: ContentId) -> None:
        """Change the text to that of a content, by minimal edits."""
        edits = edits_between(self.text, text)
        self.live.edit(edits)
        self.text, self.content_id, self.written = text, content_id, True
        self.bounds = None
        self.epoch_next = Epoch(content_id)
        self.growth = self.growth.grown(_PIECES_OF_AN_EDIT * len(edits))
        for edit in edits:
            inserted = edit.inserted.encode()
            self.bound += len(inserted) + _BYTES_OF_AN_EDIT
            self.facts = self.facts.written(inserted)

    def reset(self, client: int) -> None:
        """Start the epoch ``epoch_next``, with the same text and without history."""
        if self.epoch_next is None:
            raise ValueError("the document was not changed")
        base = initial(ContentId(self.epoch_next), self.text)
        begun = BatchDocument.loaded(base, self.content_id, client, fixed=self.fixed)
        self.live, self.base, self.bound = begun.live, base, begun.bound
        self.facts, self.growth, self.foreign = begun.facts, begun.growth, begun.foreign
        self.stored, self.since, self.written = None, (), False

    def rebuilt(self, client: int) -> "BatchDocument":
        """Return the document rebuilt from its base; it must not be `written`."""
        live = LiveDocument(self.base, client)
        for update in self.since:
            live.apply(update)
        return replace(self, live=live)

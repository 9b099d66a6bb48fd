"""One document of a batch, which can be rebuilt as it was before an attempt."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo_rules.documents.document import ChangedDocument, StoredDocument, TextDocument, initial
from octavo_rules.documents.edits import edits_between
from octavo_rules.documents.facts import DocumentFacts, facts_at_sight
from octavo_rules.documents.live_document import LiveDocument
from octavo_rules.identity import ContentId, Epoch, FileId

from octavo.documents.document_cache import CachedDocument
from octavo.model.documents.limits import DocumentLimits, Growth
from octavo.model.documents.update_check import CheckedUpdate
from octavo.model.documents.update_log import outgrows, splits_at_most
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
        stored: the document in the store, or derived from its note; None for one that began anew.
        kept: whether the store has it.
        followed: the content of the stored document, if it was behind its note.
        since: the updates of devices that were applied to the base.
        splits: an upper bound of the texts that they split.
        logged: how many of them are stored beside the base.
        costly: whether merging them again may take long.
        uncompared: whether it is unknown if the present state has the same text when it is loaded.
            That of the base has, and may have another state then.
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
    kept: bool
    followed: ContentId | None = None
    since: tuple[bytes, ...] = ()
    splits: int = 0
    logged: int = 0
    costly: bool = False
    uncompared: bool = False
    written: bool = False
    epoch_next: Epoch | None = None
    bounds: TextBounds | None = None

    @classmethod
    def loaded(
        cls, found: TextDocument, client: int, *, fixed: bool, kept: bool = False
    ) -> "BatchDocument":
        """Return a document loaded as it is stored; ``client`` authors the server's edits."""
        stored, content_id, updates = found
        live = LiveDocument(stored, client, updates)
        text, size = live.text, len(stored.state) + sum(map(len, updates))
        foreign = bool(updates) or initial(ContentId(stored.epoch), text) != stored
        facts, growth = facts_at_sight(stored.state, *updates), Growth.unknown(size, len(text))
        known = (live, text, content_id, stored, size, facts, growth, foreign, fixed, stored, kept)
        beside, splits = len(updates), splits_at_most(updates)
        return cls(*known, since=updates, splits=splits, logged=beside, uncompared=foreign)

    @classmethod
    def from_cache(cls, cached: CachedDocument) -> "BatchDocument":
        """Return a document taken from the cache."""
        live, stored, kept, updates, text, content_id, facts, growth, foreign, bounds = cached[:10]
        size = len(stored.state) + sum(map(len, updates))
        known = (live, text, content_id, stored, size, facts, growth, foreign, True, stored, kept)
        document = cls(*known, since=updates, logged=len(updates), bounds=bounds)
        document.splits, document.uncompared = cached.splits, cached.uncompared
        return document

    def to_cache(self, *, kept: bool) -> CachedDocument:
        """Return the entry for the cache; ``kept``: whether the store has the document now."""
        return CachedDocument(
            self.live,
            self.base,
            kept,
            self.since,
            self.text,
            self.content_id,
            self.facts,
            self.growth,
            self.foreign,
            self.bounds,
            self.splits,
            self.uncompared,
        )

    def rebase(self, client: int) -> None:
        """Make the present state the base of `rebuilt`, in a form in which it can be stored.

        A document whose text would change when it is loaded from its state starts a new epoch with
        its present text. Forged updates of devices cause this: they refer to positions that no
        editor refers to, and the text then depends on the order in which they are applied. For the
        same reason, what is applied next is applied to what was loaded from the state.
        """
        base = self.live.stored()
        live = LiveDocument(base, client) if self.foreign else self.live
        if self.foreign and live.text != self.text:
            self.reset(client)
        else:
            self._begin(live, base)
            self.uncompared = self.foreign

    def compare(self, client: int, epoch_next: Epoch) -> None:
        """Start the epoch ``epoch_next`` if the text would change when it is loaded from its state.

        No document may have had that epoch before.
        """
        if self.uncompared and LiveDocument(self.live.stored(), client).text != self.text:
            self.epoch_next = epoch_next
            self.reset(client)
        self.uncompared = False

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
        self.splits += checked.splits
        self.bound += len(update)
        self.uncompared = True

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
        found = TextDocument(base, self.content_id)
        begun = BatchDocument.loaded(found, client, fixed=self.fixed)
        self.bound, self.facts = begun.bound, begun.facts
        self.growth, self.foreign = begun.growth, begun.foreign
        self.stored, self.kept = None, False
        self._begin(begun.live, base)

    def _begin(self, live: LiveDocument, base: StoredDocument) -> None:
        """Go on with ``live``, which was loaded from ``base``."""
        self.live, self.base = live, base
        self.since, self.splits, self.logged = (), 0, 0
        self.costly = self.uncompared = self.written = False

    def rebuilt(self, client: int) -> "BatchDocument":
        """Return the document rebuilt from its base; it must not be `written`."""
        return replace(self, live=LiveDocument(self.base, client, self.since))

    def change(
        self, file_id: FileId, client: int, limits: DocumentLimits
    ) -> ChangedDocument | None:
        """Return the document as it is to be stored; None for one that is stored as it is."""
        appended = self.since[self.logged :]
        if self.written or (appended and not self._may_append(limits)):
            self.rebase(client)
            appended = ()
        if not appended and self.stored is self.base:
            return None
        new = TextDocument(self.base, self.content_id, self.since)
        return ChangedDocument(file_id, new, self.followed, appended)

    def merge_updates(self, client: int, epoch_next: Epoch) -> None:
        """Make the present state the base, if there are updates beside the base.

        It may start the epoch ``epoch_next``, which no document may have had before.
        """
        if self.since:
            self.epoch_next = epoch_next
            self.rebase(client)

    def _may_append(self, limits: DocumentLimits) -> bool:
        """Return whether the updates can be stored beside the document that is stored.

        It reads the same when it is loaded: they are merged into it one after the other again.
        """
        if self.costly or not self.kept or self.stored is not self.base:
            return False
        return not outgrows(self.since, len(self.base.state), self.splits, limits.logged)

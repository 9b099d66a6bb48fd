"""One document of a batch, which can be made again as it was before."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from octavo.documents.growth import Growth
from octavo.documents.live import LiveDocument
from octavo.model.document import KeptDocument
from octavo.model.document_update import CheckedUpdate, Pairs, pairs_at_sight
from octavo.model.edits import edits_between

_BYTES_OF_AN_EDIT = 64
_PIECES_OF_AN_EDIT = 3


@dataclass(slots=True)
class Draft:
    """A document as the batch has made it so far.

    Attributes:
        base: a document with which it can be made again.
        since: the updates that make it from the base.
        written: whether edits of the server's own came behind these; then it can't be made again.
        merged: whether there were updates of devices.
        bound: bytes that its state has at most.
        growth: what it takes to load.
        pairs: of surrogates that it holds, and may have held; None: not known.
        stored: None when it is not in the store.
    """

    live: LiveDocument
    text: str
    base: KeptDocument
    bound: int
    pairs: Pairs | None
    stored: KeptDocument | None
    growth: Growth
    since: tuple[bytes, ...] = ()
    written: bool = False
    merged: bool = False

    def rebase(self) -> None:
        """Have it made again as it is now."""
        self.base, self.since, self.written = self.live.kept(), (), False

    @property
    def state(self) -> Callable[[], bytes]:
        """What tells the state as it is now; that is dear when it changed."""
        return self.live.state if self.since or self.written else lambda: self.base.state

    def went_on(self, text: str, update: bytes, checked: CheckedUpdate) -> None:
        """Take note that the update of a device was applied, and made ``text`` of it."""
        self.growth = self.growth.grown(checked.pieces)
        self.pairs = checked.pairs
        self.text, self.merged = text, True
        self.since += (update,)
        self.bound += len(update)

    def write(self, text: str) -> None:
        """Turn the text into ``text`` by the smallest edits."""
        edits = edits_between(self.text, text)
        self.live.edit(edits)
        self.text, self.written = text, True
        self.growth = self.growth.grown(_PIECES_OF_AN_EDIT * len(edits))
        for edit in edits:
            inserted = edit.inserted.encode()
            self.bound += len(inserted) + _BYTES_OF_AN_EDIT
            if pairs_at_sight(inserted) is None:
                # Which clocks they got, only the state tells.
                self.pairs = None

    def made_again(self, client: int) -> "Draft":
        """Answer the same, made from its base; it must not be `written`."""
        live = LiveDocument(self.base, client)
        for update in self.since:
            live.apply(update)
        return replace(self, live=live)

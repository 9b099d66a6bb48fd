"""Two texts that were made of one, brought together."""

from octavo.documents.live import LiveDocument
from octavo.model.edits import edits_between
from octavo.model.identity import ContentId
from octavo.model.initial_document import initial


def merged(base: str, mine: str, theirs: str) -> str:
    """Answer ``theirs`` with the edits that make ``mine`` of ``base``.

    The edits of both sides are those of `edits_between`, and meet as those of two devices would:
    what one of them took away is gone, what one of them put in stays, and what both put in at one
    place stands there one behind the other, theirs first. The same text on both sides is taken as
    one edit; the same line put in by both, within other changes, stands there twice.
    """
    if mine == theirs:
        return mine
    kept = initial(ContentId("base"), base)
    first, second = LiveDocument(kept, 1), LiveDocument(kept, 2)
    first.edit(edits_between(base, theirs))
    second.edit(edits_between(base, mine))
    first.apply(second.lacking(kept.vector))
    return first.text

"""Which revisions of a file are kept as it grows old."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo.model.identity import ContentId, RevisionId

HOUR = 3_600_000
DAY = 24 * HOUR
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Keeps all that is young, then one revision an hour, then one a day.

    Attributes:
        all_of: milliseconds of age below which every revision is kept.
        hourly: milliseconds of age below which the last one of each hour is kept; of older ones
            the last of each day. Hours and days are those of UTC.
        least: so many of a file's newest revisions are kept whatever their age; at least one, as
            the newest is the head.
    """

    all_of: int
    hourly: int
    least: int


class Aged(NamedTuple):
    """A revision, as far as its keeping goes.

    Attributes:
        created_at: in milliseconds of Unix time.
        held: whether it stays in any case.
    """

    revision_id: RevisionId
    content_id: ContentId
    created_at: int
    held: bool = False


def thinned(oldest: Sequence[Aged], newer: int, now: int, retention: Retention) -> list[RevisionId]:
    """Return which revisions of a file need not be kept, the newest first.

    ``oldest`` are revisions in their order, from the first that is there; ``newer`` more follow
    them. A revision that a kept one has its content from stays, and so does the last of
    ``oldest``, for which it is not known what follows. ``now`` is in milliseconds of Unix time.

    In this order none of them has its content from one that went before.
    """
    most = len(oldest) + newer - max(retention.least, 1)
    found: list[RevisionId] = []
    needed = {oldest[-1].content_id} if oldest else set()
    # From the newest on, so that it is known what the later ones need.
    for index in range(len(oldest) - 2, -1, -1):
        each, following = oldest[index], oldest[index + 1]
        bucket = _bucket(each.created_at, now, retention)
        if (
            each.held
            or index >= most
            or ContentId(each.revision_id) in needed
            or bucket is None
            or bucket != _bucket(following.created_at, now, retention)
        ):
            needed.add(each.content_id)
        else:
            found.append(each.revision_id)
    return found


def _bucket(created_at: int, now: int, retention: Retention) -> tuple[int, int] | None:
    """Return the hour or the day of which one revision is kept; None when all are."""
    age = now - created_at
    if age < retention.all_of:
        return None
    length = HOUR if age < retention.hourly else DAY
    return (length, created_at // length)

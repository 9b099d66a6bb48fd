"""Retention: decide which revisions of a file are kept as they age."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo_rules.identity import ContentId, RevisionId

HOUR = 3_600_000
DAY = 24 * HOUR
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Keep all young revisions, then one per hour, then one per day.

    Attributes:
        all_of: age in milliseconds below which every revision is kept.
        hourly: age in milliseconds below which the last revision of each hour is kept; of older
            ones, the last of each day. Hours and days are in UTC.
        least: number of newest revisions that are kept at any age; at least one, the head.
    """

    all_of: int
    hourly: int
    least: int


class Aged(NamedTuple):
    """The facts about a revision that decide whether it is kept.

    Attributes:
        created_at: Unix time in milliseconds.
        held: whether it is kept in any case.
    """

    revision_id: RevisionId
    content_id: ContentId
    created_at: int
    held: bool = False


def prunable(
    oldest: Sequence[Aged], newer: int, now: int, retention: Retention
) -> list[RevisionId]:
    """Return the revisions of a file that can be removed, the newest first.

    ``oldest`` are its oldest revisions in order; ``newer`` more follow them. A revision whose
    content a kept one uses is kept, and so is the last of ``oldest``, as its successor is
    unknown. ``now`` is Unix time in milliseconds.

    In this order, no revision uses the content of one removed before it.
    """
    removable = len(oldest) + newer - max(retention.least, 1)
    pruned: list[RevisionId] = []
    needed = {oldest[-1].content_id} if oldest else set()
    # From the newest, to know which contents the later ones use.
    for index in range(len(oldest) - 2, -1, -1):
        revision, following = oldest[index], oldest[index + 1]
        bucket = _bucket(revision.created_at, now, retention)
        if (
            revision.held
            or index >= removable
            or ContentId(revision.revision_id) in needed
            or bucket is None
            or bucket != _bucket(following.created_at, now, retention)
        ):
            needed.add(revision.content_id)
        else:
            pruned.append(revision.revision_id)
    return pruned


def _bucket(created_at: int, now: int, retention: Retention) -> tuple[int, int] | None:
    """Return the hour or day of which one revision is kept; None if all are kept."""
    age = now - created_at
    if age < retention.all_of:
        return None
    length = HOUR if age < retention.hourly else DAY
    return (length, created_at // length)

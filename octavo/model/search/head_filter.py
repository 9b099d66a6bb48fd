"""Restrict a search to notes by the last change of each: when it was, and whose."""

from dataclasses import dataclass

from octavo.model.identity import AccountId


@dataclass(frozen=True, slots=True)
class HeadFilter:
    """Which heads of notes to find; None for any.

    Attributes:
        since: the first time, in milliseconds of Unix time.
        before: the first time after the last.
        author: whose change it was.
    """

    since: int | None = None
    before: int | None = None
    author: AccountId | None = None


ANY_HEAD = HeadFilter()
"""Every head."""

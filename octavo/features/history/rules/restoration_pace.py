"""The pace of a restoration: how many files return at once while others change the workspace.

A changeset is refused when others have changed one of its files since their heads were read, or
have taken a path. The more files it has, the more often: so the next one has half as many, and each
that is accepted lets the following one have twice as many. A file whose path others take and leave
again and again is tried after those that don't need it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from octavo_rules.identity import FileId

from octavo.model.files.changeset import MAX_OPERATIONS


@dataclass(frozen=True, slots=True)
class RestorationPace:
    """What the next changeset of a restoration may have.

    Attributes:
        most: the most operations, 1 to `MAX_OPERATIONS`; files that need each other in a circle are
            one changeset nevertheless.
        last: files that are tried last, in this order, each before those that need it.
    """

    most: int = MAX_OPERATIONS
    last: tuple[FileId, ...] = ()

    def after_refusal(self, refused: Collection[FileId]) -> "RestorationPace":
        """Return the pace after a changeset of these files was refused.

        Files that could not have been fewer are tried last.
        """
        last = self.last
        if self.most == 1 or len(refused) == 1:
            last = (*(each for each in last if each not in refused), *refused)
        return RestorationPace(max(1, min(self.most, len(refused)) // 2), last)

    def after_commit(self) -> "RestorationPace":
        """Return the pace after a changeset was accepted."""
        return RestorationPace(min(2 * self.most, MAX_OPERATIONS), self.last)

    def ranks(self) -> Mapping[FileId, int]:
        """Return numbers for the files that are tried last: the higher, the later."""
        return {file_id: rank for rank, file_id in enumerate(self.last)}

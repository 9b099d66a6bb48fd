"""What a commit has stored, for the indexes."""

from typing import NamedTuple

from octavo.model.identity import FileId, RevisionId


class StoredChanges(NamedTuple):
    """What was stored for changes.

    Attributes:
        numbers: of new files.
        paths: of files that moved or changed their state, before they did.
        contents: the numbers of new texts, by the revisions that brought them.
    """

    numbers: dict[FileId, int]
    paths: dict[FileId, str]
    contents: dict[RevisionId, int]

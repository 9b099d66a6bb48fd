"""Changes of a changeset that client and server represent alike."""

from dataclasses import dataclass

from octavo_rules.identity import Epoch, FileId


@dataclass(frozen=True, slots=True)
class SaveNote:
    """Merge an update into the document of a live note, regardless of its present head."""

    file_id: FileId
    epoch: Epoch
    update: bytes


@dataclass(frozen=True, slots=True)
class PurgeFile:
    """Remove the contents of a deleted file permanently."""

    file_id: FileId

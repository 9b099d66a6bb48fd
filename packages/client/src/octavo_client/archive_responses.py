"""The responses of the server about uploaded images and imports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from octavo_rules.identity import Position

from octavo_client.response_model import ResponseModel


@dataclass(frozen=True, slots=True)
class UploadInfo(ResponseModel):
    """An uploaded image, which becomes a file when it is attached.

    Attributes:
        digest: the SHA-256 digest of the stored bytes, which lack some metadata of the sent ones.
        frames: 1 for an image that does not move.
        expires_at: it can be attached until then.
    """

    object_id: str
    digest: str
    size: int
    media_type: str
    width: int
    height: int
    frames: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ImportSummary(ResponseModel):
    """The result of an import.

    Attributes:
        left_out: the number of files that were left out, by their kind.
        position: the position of the workspace after the import.
        cleaned: the number of files that got a path without hidden characters.
    """

    notes: int
    attachments: int
    left_out: Mapping[str, int]
    position: Position
    cleaned: int = 0


@dataclass(frozen=True, slots=True)
class ImportStart(ResponseModel):
    """An import whose parts can be sent; sizes in bytes."""

    import_id: str
    part_size: int
    max_parts: int


@dataclass(frozen=True, slots=True)
class PartInfo(ResponseModel):
    """A part that the server has."""

    number: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class ImportFailure(ResponseModel):
    """Why an import was refused: the code of the problem, and the reason for people."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class ImportState(ResponseModel):
    """The state of an import.

    Attributes:
        received: the parts that the server has, while parts can be sent.
        read: bytes of files that were imported.
        total: bytes of all files; 0 until they are known.
        failure: None unless it was refused; it can be completed again.
    """

    import_id: str
    state: Literal["started", "running", "done", "failed"]
    received: tuple[PartInfo, ...]
    read: int
    total: int
    result: ImportSummary | None
    failure: ImportFailure | None

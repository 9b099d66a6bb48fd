"""Export a workspace to a file that appears under its name complete and durable, or not at all.

A download that was cut can end anywhere, also where the data of a file looks like an end record.
"""

import os
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Literal

import trio
from octavo_rules.export_report import REPORT, lacked_by_export

from octavo_client.connection import ApiConnection, Request
from octavo_client.errors import ArchiveCut, ExportIncomplete
from octavo_client.retrying import EntropySource

ExportedFiles = Literal["all", "notes", "history"]
"""All files, notes alone, or all files with their earlier revisions."""


async def export_archive(
    connection: ApiConnection,
    path: str,
    target: Path,
    format: ExportedFiles,  # noqa: A002  # the name of the parameter of the operation
    progress: Callable[[int], object],
) -> int:
    """Export the workspace at ``path``; see `WorkspaceReader.export_archive`."""
    request = Request("GET", f"{path}/export", query={"format": format})
    async with partial_download(target, connection.entropy) as file:
        async with connection.stream(request) as body:
            async for chunk in body:
                await file.write(chunk)
                progress(file.size)
        end = await file.tail(TAIL)
        if not has_end(end, file.size):
            raise ArchiveCut("the archive has no end: the connection ended before it was complete")
    # The directory, with the report last, is at the end.
    lacked = await trio.to_thread.run_sync(_lacked, target) if REPORT.encode() in end else []
    if lacked:
        raise ExportIncomplete(file.size, lacked)
    return file.size


def _lacked(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        named = opened.namelist()
        return lacked_by_export(opened.read(REPORT).decode()) if named[-1:] == [REPORT] else []


_END = Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_ZIP64_END = Struct("<4sQ2H2L4Q")
_ZIP64_END_SIGNATURE = b"PK\x06\x06"
_ZIP64_LOCATOR = Struct("<4sLQL")
_ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
_LONGEST_COMMENT = 0xFFFF
_IN_ZIP64 = (0xFFFF, 0xFFFFFFFF)

TAIL = _ZIP64_END.size + _ZIP64_LOCATOR.size + _END.size + _LONGEST_COMMENT
"""Bytes at the end of an archive that `has_end` may need."""


def has_end(tail: bytes, size: int) -> bool:
    """Return whether an archive ends as one, by PKWARE APPNOTE 6.3.10, section 4.3.

    The directory must end where the end records begin, which the data of a cut archive does not
    imitate by accident.

    Args:
        tail: the last `TAIL` bytes, or all if there are fewer.
        size: the size of the archive.
    """
    at = len(tail)
    while (at := tail.rfind(_END_SIGNATURE, 0, at)) >= 0:
        if len(tail) - at >= _END.size and _ends(tail, at, size):
            return True
    return False


def _ends(tail: bytes, at: int, size: int) -> bool:
    """Return whether the end record of the archive is at ``at`` in its tail."""
    _, _, _, _, entries, length, start, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        return False
    end = at
    if entries in _IN_ZIP64 or length in _IN_ZIP64 or start in _IN_ZIP64:
        end = at - _ZIP64_LOCATOR.size - _ZIP64_END.size
        if end < 0:
            return False
        record = _ZIP64_END.unpack_from(tail, end)
        locator = _ZIP64_LOCATOR.unpack_from(tail, end + _ZIP64_END.size)
        if (record[0], locator[0]) != (_ZIP64_END_SIGNATURE, _ZIP64_LOCATOR_SIGNATURE):
            return False
        length, start = record[8:10]
    return bool(start + length == size - len(tail) + end)


_BUFFER = 1024 * 1024


class PartialDownload:
    """A file that is being written.

    Attributes:
        size: the number of bytes that were written.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.size = 0
        self._file = file

    async def write(self, data: bytes) -> None:
        """Append ``data``. Raises OSError."""
        self.size += len(data)
        await trio.to_thread.run_sync(self._file.write, data)

    async def tail(self, length: int) -> bytes:
        """Return the last ``length`` bytes, or all if there are fewer. Raises OSError."""

        def read() -> bytes:
            self._file.seek(max(0, self.size - length))
            return self._file.read()

        return await trio.to_thread.run_sync(read)


@asynccontextmanager
async def partial_download(target: Path, entropy: EntropySource) -> AsyncIterator[PartialDownload]:
    """Write ``target`` in the block: it appears, or is replaced, when the block has ended.

    Until then the data is in a hidden file in the same folder, which its owner alone can read; the
    mode stays. If the block raises or is cancelled, that file is removed, and ``target`` is
    untouched. Raises OSError.
    """
    target = await trio.to_thread.run_sync(target.resolve)
    path = target.parent / f".{target.name}.{entropy.getrandbits(32):08x}.partial"
    file = await trio.to_thread.run_sync(_create, path)
    try:
        with file:
            yield PartialDownload(file)
            await trio.to_thread.run_sync(_sync, file)
        await trio.to_thread.run_sync(_publish, path, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _create(path: Path) -> BinaryIO:
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    return os.fdopen(opened, "w+b", buffering=_BUFFER)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _publish(path: Path, target: Path) -> None:
    path.replace(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

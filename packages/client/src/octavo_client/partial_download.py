"""Write a file that appears under its name complete and durable, or not at all."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import trio

from octavo_client.retrying import EntropySource

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
    target = await trio.to_thread.run_sync(_without_links, target)
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


def _without_links(path: Path) -> Path:
    return Path(os.path.realpath(path))


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

"""Temporary files for the blob store, in a folder of their own."""

import errno
import hashlib
import os
import shutil
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

import trio
from octavo_rules.identity import Digest

from octavo.store.blobs.blob_store import BlobsFull, BlobsUnavailable

_BUFFER = 256 * 1024
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def disk_failures() -> Iterator[None]:
    """Raise an `OSError` of the block as `BlobsUnavailable`.

    FileNotFoundError and FileExistsError are left as they are: the caller knows what they mean.
    """
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        reason = f"the blobs can't be used: {error.strerror or error}"
        kind = BlobsFull if error.errno in _FULL else BlobsUnavailable
        raise kind(reason) from error


def create_file(path: Path) -> int:
    """Create a file that only its owner can use, and return its descriptor. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


class StagedFile:
    """A file that bytes are written to, and whose digest is computed on the way.

    Attributes:
        path: the file. What is written to it may be in memory until `finish`.
        size: the number of bytes so far.
        crc: the CRC-32 of the bytes that were written, as zip archives have it; complete after
            `finish`.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.size = 0
        self.crc = 0
        self._descriptor = descriptor
        self._hash = hashlib.sha256()
        self._pending: list[bytes] = []
        self._waiting = 0

    async def write(self, chunk: bytes) -> None:
        """Append bytes.

        Raises `BlobsUnavailable`. Then, and when cancelled, the file can't be used further.
        """
        self._pending.append(chunk)
        self._waiting += len(chunk)
        self.size += len(chunk)
        if self._waiting >= _BUFFER:
            await self._flush()
        else:
            await trio.lowlevel.checkpoint_if_cancelled()

    async def finish(self) -> Digest:
        """Write what is in memory, make the file durable, and return the digest of its bytes.

        Raises the same errors as `write`, and is cancelled like it.
        """
        await self._flush(durable=True)
        return Digest(self._hash.hexdigest())

    async def _flush(self, *, durable: bool = False) -> None:
        pending, self._pending, self._waiting = self._pending, [], 0
        with disk_failures():
            await trio.to_thread.run_sync(self._write, pending, durable)

    def _write(self, pending: list[bytes], durable: bool) -> None:
        for chunk in pending:
            self._hash.update(chunk)
            self.crc = zlib.crc32(chunk, self.crc)
            view = memoryview(chunk)
            while view:
                view = view[os.write(self._descriptor, view) :]
        if durable:
            os.fsync(self._descriptor)


class Staging:
    """A folder of staged files, on the file system of the data folder.

    Args:
        folder: the folder; `open_staging` creates it.

    Attributes:
        path: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder

    @asynccontextmanager
    async def file(self, name: str) -> AsyncIterator[StagedFile]:
        """Create the file ``name`` for the block, after which it is removed unless it was moved.

        Raises `BlobsUnavailable`, and FileExistsError if there is such a file.
        """
        path = self.path / name
        with disk_failures():
            descriptor = await trio.to_thread.run_sync(create_file, path)
        try:
            yield StagedFile(path, descriptor)
        finally:
            os.close(descriptor)
            await _remove(path)

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[Path]:
        """Yield a path at which another program can write the file ``name``.

        The file is removed at the end of the block.
        """
        path = self.path / name
        try:
            yield path
        finally:
            await _remove(path)

    @asynccontextmanager
    async def folder(self, name: str) -> AsyncIterator[Path]:
        """Create the folder ``name`` for the block, after which it is removed with what is in it.

        Raises `BlobsUnavailable`, and FileExistsError if there is such a folder.
        """
        path = self.path / name
        with disk_failures():
            await trio.to_thread.run_sync(path.mkdir, 0o700)
        try:
            yield path
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(partial(shutil.rmtree, path, ignore_errors=True))


async def _remove(path: Path) -> None:
    with suppress(OSError), trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(path.unlink)


async def open_staging(folder: Path, name: str) -> Staging:
    """Return a staging in ``folder``, and remove the files that a killed server left there.

    Its files are in the folder ``name``, which must never have been used before: worker processes
    of a server that was killed may still create files at the paths that it gave them. Only the
    server that holds the data folder may call it. Raises `BlobsUnavailable`.
    """
    staged, removed = folder / name, folder / f"{name}.removed"

    def prepare() -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        removed.mkdir(mode=0o700)
        for left in [*folder.iterdir()]:
            if left != removed:
                # A folder in which files are still created could not be removed at its path.
                left.rename(removed / left.name)
        shutil.rmtree(removed)
        staged.mkdir(mode=0o700)

    with disk_failures():
        await trio.to_thread.run_sync(prepare)
    return Staging(staged)

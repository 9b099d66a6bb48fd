"""Blobs as files in a folder of the local file system."""

import errno
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path

import trio

from octavo.store.blobs import blob_store, deletion_lock, staging

_OF_ONE_FILE = frozenset(
    {errno.EIO, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM}
)
"""Failures of one file, such as a bad sector, while others can be read."""
_REMEMBERED = 20_000
"""The maximum number of blobs that are known to be intact."""


class LocalBlobs:
    """Implements `octavo.store.blobs.BlobStore` with files.

    Before the first read of a blob, and whenever its size or time has changed since, its bytes are
    compared with the digest in its key: `BlobDamaged` is a `BlobMissing`.

    Args:
        folder: the folder of the blobs. Sources on the same file system are renamed, others copied.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Size and time of the blobs that are known to be intact, in the order of their checks.
        self._intact: dict[blob_store.BlobKey, tuple[int, int]] = {}

    async def put(self, key: blob_store.BlobKey, source: Path) -> None:
        """See `octavo.store.blobs.BlobStore`. The file is moved; it must be durable already."""
        with staging.disk_failures():
            await trio.to_thread.run_sync(move_to_blob, self._folder, key, source)

    async def read(
        self, key: blob_store.BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """See `octavo.store.blobs.BlobStore`."""
        with staging.disk_failures():
            descriptor = await trio.to_thread.run_sync(self._open, key)
        try:
            at = start
            while stop is None or at < stop:
                size = blob_store.CHUNK if stop is None else min(blob_store.CHUNK, stop - at)
                with staging.disk_failures():
                    chunk = await trio.to_thread.run_sync(os.pread, descriptor, size, at)
                if not chunk:
                    return
                at += len(chunk)
                yield chunk
        finally:
            os.close(descriptor)

    async def is_intact(self, key: blob_store.BlobKey) -> bool:
        """See `octavo.store.blobs.BlobStore`."""

        def look() -> bool:
            try:
                os.close(self._open(key))
            except blob_store.BlobMissing:
                return False
            return True

        with staging.disk_failures():
            return await trio.to_thread.run_sync(look)

    async def fetch(self, key: blob_store.BlobKey, target: Path) -> None:
        """See `octavo.store.blobs.BlobStore`. On the same file system, it is a second name."""

        def link() -> None:
            os.close(self._open(key))
            try:
                target.hardlink_to(self._path(key))
            except FileNotFoundError:
                raise blob_store.BlobMissing(f"the blob {key} is missing") from None
            except FileExistsError:
                raise
            except OSError:
                # Another file system, or one without links.
                self._copy(key, target)

        with staging.disk_failures():
            await trio.to_thread.run_sync(link)

    def _copy(self, key: blob_store.BlobKey, target: Path) -> None:
        try:
            source = self._path(key).open("rb")
        except FileNotFoundError:
            raise blob_store.BlobMissing(f"the blob {key} is missing") from None
        with source, open(staging.create_file(target), "wb") as written:
            shutil.copyfileobj(source, written, blob_store.CHUNK)

    async def delete(self, key: blob_store.BlobKey) -> None:
        """See `octavo.store.blobs.BlobStore`. Fails while a backup copies the blobs."""
        path = self._path(key)

        def remove() -> None:
            if path.parent.is_dir():
                with deletion_lock.deleting(self._folder):
                    path.unlink(missing_ok=True)
                    # Otherwise the blob could be back after a crash.
                    sync(path.parent)

        with staging.disk_failures():
            await trio.to_thread.run_sync(remove)

    async def check(self) -> None:
        """See `octavo.store.blobs.BlobStore`."""
        if not await trio.to_thread.run_sync(os.access, self._folder, os.W_OK | os.X_OK):
            raise blob_store.BlobsUnavailable("the folder of the blobs can't be written")

    def _open(self, key: blob_store.BlobKey) -> int:
        """Return the descriptor of a blob that is intact."""
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise blob_store.BlobMissing(f"the blob {key} is missing") from None
        except OSError as error:
            raise _unreadable(key, error) from error
        try:
            self._check(key, descriptor)
        except OSError as error:
            os.close(descriptor)
            raise _unreadable(key, error) from error
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _check(self, key: blob_store.BlobKey, descriptor: int) -> None:
        status = os.fstat(descriptor)
        state = status.st_size, status.st_mtime_ns
        if self._intact.get(key) == state:
            return
        with open(descriptor, "rb", closefd=False) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != blob_store.digest_of_key(key):
            raise blob_store.BlobDamaged(f"the blob {key} is damaged")
        if len(self._intact) >= _REMEMBERED:
            self._intact.pop(next(iter(self._intact)), None)
        self._intact[key] = state

    def _path(self, key: blob_store.BlobKey) -> Path:
        return self._folder / blob_store.path_of_key(key)


def _unreadable(key: blob_store.BlobKey, error: OSError) -> Exception:
    """Return the error to raise: `BlobDamaged` if it concerns this blob alone."""
    if error.errno in _OF_ONE_FILE:
        return blob_store.BlobDamaged(f"the blob {key} can't be read: {error.strerror}")
    return error


def move_to_blob(folder: Path, key: blob_store.BlobKey, source: Path) -> None:
    """Move a durable file into a folder of blobs, durably; folders are created. Raises OSError."""
    path = folder / blob_store.path_of_key(key)
    make_folders(path.parent)
    try:
        source.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The folder is a file system of its own, which other machines may use, too.
        _copy_durably(source, path)
        source.unlink()
    sync(path.parent)


def make_folders(folder: Path) -> list[Path]:
    """Make ``folder`` and those above it that are missing, durably; return them, outermost first.

    Raises OSError.
    """
    missing = [*takewhile(lambda path: not path.exists(), (folder, *folder.parents))][::-1]
    for path in missing:
        path.mkdir(mode=0o700, exist_ok=True)
        sync(path.parent)
    return missing


def _copy_durably(source: Path, path: Path) -> None:
    part = path.with_name(f".{path.name}.partial")
    try:
        opener = partial(os.open, mode=0o600)
        with source.open("rb") as read, open(part, "wb", opener=opener) as written:
            shutil.copyfileobj(read, written, blob_store.CHUNK)
            written.flush()
            os.fsync(written.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def keys_in(folder: Path) -> Iterator[blob_store.BlobKey]:
    """Yield the keys of the blobs in a folder, which may be missing; other files are ignored.

    Yielded blobs may be removed meanwhile. Raises OSError.
    """
    for outer in _entries(folder):
        for inner in _entries(folder / outer):
            for name in _entries(folder / outer / inner):
                key = blob_store.BlobKey(name)
                place = f"{outer}/{inner}/{name}"
                if blob_store.is_blob_key(name) and blob_store.path_of_key(key) == place:
                    yield key


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def sync(path: Path) -> None:
    """Make a file, or the entries of a folder, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Copy the blobs that a database names to another folder, with their digests checked.

A blob never changes, and its key contains the digest of its bytes. So one that is there already
needs no copy, and a folder that has more blobs than its database names is complete: blobs are added
before a database is replaced, and removed afterwards.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple

from octavo_rules.identity import Digest

from octavo.store.blobs import BlobKey
from octavo.store.blobs.blob_store import path_of_key
from octavo.store.blobs.local import keys_in, move_to_blob
from octavo.store.sqlite.named_blobs import NamedBlob, NamedBlobs

MOST_FAULTS = 10
"""Blobs that are named in reports, at most."""
_CHUNK = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class BlobFault(NamedTuple):
    """A blob that can't be copied, and why: it ``is missing``, ``is damaged``."""

    key: BlobKey
    reason: str


class _UnusableBlob(Exception):
    """A source does not have the bytes of a blob; the text says why."""


class BlobTransfer:
    """Adds the blobs that a database names to a folder.

    It is a context manager, which removes what was added unless `keep` was called.

    Args:
        database: the database file, which nobody changes.
        folder: gets the blobs; created for its owner alone if it is missing.
        sources: folders to copy from; the first one with the right bytes is used.
        linkable: folders like ``folder``, whose files may get a second name there.

    Attributes:
        number: the blobs that the database names.
        total: their size in bytes.
        done: how much of that was processed.
        reused: the blobs whose bytes were there, in ``folder`` or a linkable one.
        faults: blobs that no source has; `MOST_FAULTS` at most.
        lacking: the number of such blobs.
        lacking_size: their size in bytes.
    """

    def __init__(
        self,
        database: Path,
        folder: Path,
        sources: Sequence[Path],
        linkable: Sequence[Path] = (),
    ) -> None:
        self._database = database
        self._folder = folder
        self._sources = sources
        self._linkable = linkable
        self._interrupted = Event()
        self._added: list[BlobKey] = []
        self._kept = False
        with NamedBlobs(database) as named:
            self.number, self.total = named.number_and_size()
        self.done = 0
        self.reused = 0
        self.lacking = 0
        self.lacking_size = 0
        self.faults: list[BlobFault] = []

    def run(self) -> None:
        """Add the blobs; each one that was added is durable.

        Blocks; `interrupt` ends it from another thread. Raises OSError if ``folder`` can't be
        written, and `octavo.store.StoreError`.
        """
        with NamedBlobs(self._database) as named:
            for blob in named:
                if self._interrupted.is_set():
                    return
                before = self.done
                try:
                    self._add(blob)
                except _UnusableBlob as fault:
                    self.lacking += 1
                    self.lacking_size += blob.size
                    if len(self.faults) < MOST_FAULTS:
                        self.faults.append(BlobFault(blob.key, str(fault)))
                self.done = before + blob.size

    def interrupt(self) -> None:
        """End `run` soon; from any thread."""
        self._interrupted.set()

    def keep(self) -> None:
        """Keep the blobs that were added."""
        self._kept = True

    def __enter__(self) -> "BlobTransfer":
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept:
            return
        for key in self._added:
            with suppress(OSError):
                (self._folder / path_of_key(key)).unlink()
            _remove_empty(self._folder, key)
        with suppress(OSError):
            self._partial.unlink()
        with suppress(OSError):
            self._folder.rmdir()

    @property
    def _partial(self) -> Path:
        return self._folder / ".partial"

    def _add(self, blob: NamedBlob) -> None:
        place = path_of_key(blob.key)
        if _has(self._folder / place, blob):
            self.reused += 1
            return
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            # Left by a process that was killed.
            self._partial.unlink()
        if any(self._link(folder / place, blob) for folder in self._linkable):
            self.reused += 1
        else:
            self._copy_from_any([folder / place for folder in self._sources], blob)
        if self._interrupted.is_set():
            return
        # A blob that replaces a damaged one is never removed.
        if not os.path.lexists(self._folder / place):
            self._added.append(blob.key)
        move_to_blob(self._folder, blob.key, self._partial)

    def _link(self, source: Path, blob: NamedBlob) -> bool:
        with suppress(OSError):
            os.link(source, self._partial, follow_symlinks=False)
            if _has(self._partial, blob):
                return True
            self._partial.unlink()
        return False

    def _copy_from_any(self, sources: Sequence[Path], blob: NamedBlob) -> None:
        reason = "is missing"
        for source in sources:
            try:
                self._copy(source, blob)
            except _UnusableBlob as fault:
                self._partial.unlink(missing_ok=True)
                # A damaged copy says more than a missing one.
                reason = str(fault) if reason == "is missing" else reason
            else:
                return
        raise _UnusableBlob(reason)

    def _copy(self, source: Path, blob: NamedBlob) -> None:
        with _opened(source) as opened, open(os.open(self._partial, _WRITE, 0o600), "wb") as to:
            digest = hashlib.sha256()
            for chunk in _chunks(opened):
                if self._interrupted.is_set():
                    return
                digest.update(chunk)
                to.write(chunk)
                self.done += len(chunk)
            if digest.hexdigest() != blob.digest:
                raise _UnusableBlob("is damaged")
            to.flush()
            os.fsync(to.fileno())


def described_faults(transfer: BlobTransfer) -> list[str]:
    """Return a line for each of the faults of a transfer, and one for those that are not named."""
    lines = [f"the blob {key} {why}" for key, why in transfer.faults]
    more = transfer.lacking - len(lines)
    return [*lines, f"and {more:,} more"] if more else lines


def remove_unnamed(folder: Path, database: Path) -> None:
    """Remove the blobs of a folder that a database file does not name. Raises OSError."""
    for key in _unnamed(folder, database):
        (folder / path_of_key(key)).unlink()
        _remove_empty(folder, key)
    with suppress(OSError):
        folder.rmdir()


def move_unnamed(folder: Path, database: Path, target: Path) -> bool:
    """Move the blobs of a folder that a database file does not name to the folder ``target``.

    Returns whether there were any. Raises OSError.
    """
    moved = False
    for key in _unnamed(folder, database):
        move_to_blob(target, key, folder / path_of_key(key))
        _remove_empty(folder, key)
        moved = True
    return moved


def _unnamed(folder: Path, database: Path) -> Iterator[BlobKey]:
    with NamedBlobs(database) as named:
        for key in keys_in(folder):
            if key not in named:
                yield key


def _remove_empty(folder: Path, key: BlobKey) -> None:
    parent = (folder / path_of_key(key)).parent
    with suppress(OSError):
        parent.rmdir()
        parent.parent.rmdir()


def _has(path: Path, blob: NamedBlob) -> bool:
    """Return whether a file has the bytes of a blob."""
    digest = hashlib.sha256()
    try:
        with _opened(path) as opened:
            if os.fstat(opened).st_size != blob.size:
                return False
            for chunk in _chunks(opened):
                digest.update(chunk)
    except _UnusableBlob:
        return False
    return Digest(digest.hexdigest()) == blob.digest


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a regular file, not through a symbolic link. Raises `_UnusableBlob`."""
    try:
        opened = os.open(path, _READ)
    except FileNotFoundError:
        raise _UnusableBlob("is missing") from None
    except OSError as error:
        raise _UnusableBlob(f"can't be read ({error.strerror})") from None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise _UnusableBlob("is not a file")
        yield opened
    finally:
        os.close(opened)


def _chunks(opened: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(opened, _CHUNK)
        except OSError as error:
            raise _UnusableBlob(f"can't be read ({error.strerror})") from None
        if not chunk:
            return
        yield chunk

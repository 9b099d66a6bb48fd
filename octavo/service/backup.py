"""``octavo backup``: a verified copy of the database and its blobs, also while the server runs.

The command copies by itself, on a connection of its own, instead of asking the server: a long copy
then costs the server no thread, and works the same when none runs.

A backup ``FILE`` is a database file; its blobs are in the folder ``FILE.blobs``, in the layout of
the data folder. Blobs are added to that folder before the file appears, and those that the file no
longer names are removed afterwards: at every moment, also after a crash, the folder has each blob
that the file names. Blobs that an earlier backup in the same folder has become hard links to those,
so that backups with different names share them. They are never links to those of the data folder: a
change of owner or mode must not affect the server.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from octavo.access.entropy import new_entropy
from octavo.cli.interruption import in_thread
from octavo.cli.progress import Progress, Report, size_text
from octavo.service.blob_transfer import BlobTransfer, remove_unnamed
from octavo.settings import KernelSettings
from octavo.store import StoreError, StoreFull
from octavo.store.blobs.deletion_lock import deletion_held_off
from octavo.store.blobs.local import make_folders, sync
from octavo.store.engine import require_installation
from octavo.store.open_blobs import FOLDER
from octavo.store.sqlite import DATABASE
from octavo.store.sqlite.backup import COMPANIONS, LOGS, Contents, DatabaseSnapshot, Verification


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yield an empty file with mode 0600 in the folder of ``target``.

    Missing folders are created with mode 0700. The block calls `publish` when the file is
    complete; otherwise the file and those folders are gone afterwards. Raises `OSError`.
    """
    made = make_folders(target.parent)
    path = target.parent / f".{target.name}.{new_entropy().hex()[:8]}.partial"
    published = False
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        yield path
        published = not path.exists()
    finally:
        # SQLite may have created files next to a database that it wrote.
        for end in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{end}")
        if not published:
            for folder in reversed(made):
                with suppress(OSError):
                    folder.rmdir()


def publish(path: Path, target: Path) -> int:
    """Make the file ``path`` durable, rename it to ``target``, and return its size in bytes.

    Raises `OSError`.
    """
    size = path.stat().st_size
    sync(path)
    path.replace(target)
    sync(target.parent)
    return size


BLOBS = ".blobs"
"""The suffix of the folder with the blobs of a backup."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class BackupFailed(Exception):
    """Nothing was backed up or restored; the problems say why, in one line each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup.

    Attributes:
        file: the copy of the database.
        size: its size in bytes.
        contents: what the database holds.
        blobs: the copied blobs; None if they were left out.
    """

    file: Path
    size: int
    contents: Contents
    blobs: BlobTransfer | None


async def back_up(
    settings: KernelSettings, target: Path, *, replace: bool, blobs: bool, report: Report
) -> Backup:
    """Copy the database to ``target``, an absolute path, and its blobs to the folder next to it.

    The copy has every change that was acknowledged before the call. It is verified, and only its
    owner can read it. ``target`` appears when it is complete and durable; ``replace`` allows one
    that exists to be replaced. ``blobs`` False leaves the blobs out. Blobs that are missing or
    damaged do not prevent the backup; the result names them.

    Raises `BackupFailed`; then, and when cancelled, nothing is left behind.
    """
    if settings.database is not None:
        raise BackupFailed(
            "the data is in PostgreSQL: back it up with"
            f" pg_dump --format=custom --file={target} {settings.database},"
            ' and copy the blobs (docs/operation.md, "Backup of PostgreSQL")'
        )
    database = settings.data_dir.absolute() / DATABASE
    source = settings.data_dir.absolute() / FOLDER
    size = 0
    target = without_links(target)
    try:
        await require_installation(settings.data_dir)
        _check_target(target, database, replace=replace)
        async with AsyncExitStack() as stack:
            if blobs:
                waiting = partial(report, Progress("waiting for another backup", 0, None))
                await stack.enter_async_context(deletion_held_off(source, waiting))
            snapshot = stack.enter_context(closing(DatabaseSnapshot(database)))
            path = stack.enter_context(partial_file(target))
            size = snapshot.size
            watch = growth(path, "writing", size, report)
            await in_thread(partial(snapshot.write, path), snapshot.interrupt, watch)
            report(Progress("checking", 0, None))
            with closing(Verification(path)) as verification:
                contents = await in_thread(verification.run, verification.interrupt)
            transfer = None
            if blobs:
                folder = blobs_of(target)
                transfer = BlobTransfer(path, folder, [source], _other_backups(folder))
                size += transfer.total
                stack.enter_context(transfer)
                await transferred(transfer, report)
            try:
                written = await trio.to_thread.run_sync(publish, path, target)
            finally:
                if transfer is not None and not path.exists():
                    transfer.keep()
        if blobs:
            await trio.to_thread.run_sync(_remove_unnamed, target)
    except StoreFull:
        raise _disk_full(target, size) from None
    except StoreError as error:
        raise BackupFailed(
            f"the database {database} can't be copied to {target}: {error}"
        ) from None
    except (OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _disk_full(target, size) from None
        raise BackupFailed(f"{target} can't be written: {reason(error)}") from None
    return Backup(target, written, contents, transfer)


async def transferred(transfer: BlobTransfer, report: Report) -> None:
    """Run a transfer, and report its progress; if cancelled, it ends soon."""

    def look() -> None:
        report(Progress("images", transfer.done, transfer.total))

    if transfer.number:
        look()
        await in_thread(transfer.run, transfer.interrupt, look)


def blobs_of(backup: Path) -> Path:
    """Return the folder of the blobs of a backup."""
    return Path(f"{backup}{BLOBS}")


def _other_backups(folder: Path) -> list[Path]:
    """Return the folders of the blobs of other backups next to ``folder``, the newest first."""
    others = [
        path
        for path in folder.parent.glob(f"*{BLOBS}")
        if path != folder and path.is_dir() and not path.is_symlink()
    ]
    return sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)


def _remove_unnamed(target: Path) -> None:
    folder = blobs_of(target)
    try:
        remove_unnamed(folder, target)
    except OSError as error:
        raise BackupFailed(
            f"{target} is complete, but blobs that it does not name can't be removed from"
            f" {folder}: {reason(error)}"
        ) from None


def _disk_full(target: Path, size: int) -> BackupFailed:
    return BackupFailed(f"the disk of {target} is full: the backup takes about {size_text(size)}")


def _check_target(target: Path, database: Path, *, replace: bool) -> None:
    live = {os.path.realpath(f"{database}{end}") for end in ("", *COMPANIONS)}
    if os.path.realpath(target) in live:
        raise BackupFailed(f"{target} is the database itself: name another file")
    if target.is_dir():
        raise BackupFailed(f"{target} is a folder: name a file")
    if target.exists() and not target.is_file():
        raise BackupFailed(f"{target} is a device or the like: name a file")
    # Not created: it may be the folder of a disk that is not mounted.
    if not target.parent.exists():
        raise BackupFailed(
            f"the folder {target.parent} does not exist: create it, or mount its disk"
        )
    if target.exists() and not replace:
        raise BackupFailed(f"{target} exists: name another file, or replace it with --replace")
    folder = blobs_of(target)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise BackupFailed(f"{folder} is not a folder: remove it, or name another file")
    for end in LOGS:
        # SQLite would apply it to the backup.
        if Path(f"{target}{end}").exists():
            raise BackupFailed(
                f"{target}{end} exists, the log of another database:"
                " remove it, or name another file"
            )


def without_links(path: Path) -> Path:
    """Return the file that ``path`` leads to: the logs of a database are next to that."""
    return Path(os.path.realpath(path))


def growth(path: Path, step: str, total: int, report: Report) -> Callable[[], None]:
    """Return a function that reports the size of the file at ``path``, which grows."""

    def look() -> None:
        with suppress(OSError):
            report(Progress(step, path.stat().st_size, total))

    return look


def reason(error: Exception) -> str:
    """Return what an error of the file system says, without its number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

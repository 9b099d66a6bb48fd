"""``octavo backup``: a verified copy of the database, also while the server runs.

The command copies by itself, on a connection of its own, instead of asking the server: a long copy
then costs the server no thread, and works the same when none runs.
"""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from octavo.service.engine import require_installation
from octavo.service.interruption import in_thread
from octavo.service.partial_file import partial_file, publish
from octavo.settings import Settings
from octavo.store import StoreError, StoreFull
from octavo.store.sqlite import DATABASE
from octavo.store.sqlite.backup import COMPANIONS, LOGS, Contents, DatabaseSnapshot, Verification


class BackupFailed(Exception):
    """Nothing was backed up or restored; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step has come.

    Attributes:
        step: what is done now: ``writing``, ``checking``.
        total: estimated size in bytes; None when the step can't be measured.
    """

    step: str
    done: int
    total: int | None


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup: the file, its size in bytes, and what it holds."""

    file: Path
    size: int
    contents: Contents


async def back_up(settings: Settings, target: Path, *, replace: bool, report: Report) -> Backup:
    """Copy the database to ``target``, an absolute path, verified and with mode 0600.

    The copy has every change that was acknowledged before the call. ``target`` appears when it
    is complete and durable; ``replace`` allows one that exists to be replaced. Raises
    `BackupFailed`; then, and when cancelled, nothing is left behind.
    """
    if settings.database is not None:
        raise BackupFailed(
            "the data is in PostgreSQL: back it up with"
            f" pg_dump --format=custom --file={target} {settings.database}"
        )
    database = settings.data_dir.absolute() / DATABASE
    size = 0
    target = without_links(target)
    try:
        await require_installation(settings.data_dir)
        _check_target(target, database, replace=replace)
        with closing(DatabaseSnapshot(database)) as snapshot, partial_file(target) as path:
            size = snapshot.size
            watch = growth(path, "writing", size, report)
            await in_thread(partial(snapshot.write, path), snapshot.interrupt, watch)
            report(Progress("checking", 0, None))
            with closing(Verification(path)) as verification:
                contents = await in_thread(verification.run, verification.interrupt)
            written = await trio.to_thread.run_sync(publish, path, target)
    except StoreFull:
        raise BackupFailed(
            f"the disk of {target} is full: the backup takes about {megabytes(size)}"
        ) from None
    except StoreError as error:
        raise BackupFailed(
            f"the database {database} can't be copied to {target}: {error}"
        ) from None
    except (OSError, UnicodeError) as error:
        raise BackupFailed(f"{target} can't be written: {reason(error)}") from None
    return Backup(target, written, contents)


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


def megabytes(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e6:.1f} MB" if size < 1e7 else f"{size / 1e6:,.0f} MB"


def reason(error: Exception) -> str:
    """Return what an error of the file system says, without its number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

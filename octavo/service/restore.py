"""``octavo restore``: put a verified backup in place of the database."""

import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event

import trio

from octavo.control.folder import DataFolderError, DataFolderInUse, holding
from octavo.service.backup import BackupFailed, Progress, Report, growth, reason, without_links
from octavo.service.entropy import now
from octavo.service.interruption import in_thread
from octavo.service.partial_file import partial_file, publish, sync
from octavo.settings import Settings
from octavo.store import StoreError, StoreFull, StoreUnusable
from octavo.store.sqlite import DATABASE
from octavo.store.sqlite.backup import COMPANIONS, LOGS, Contents, Verification, fold_logs

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Restored:
    """A finished restore.

    Attributes:
        replaced: where the former database is now; None when there was none.
        contents: what the restored database holds.
    """

    replaced: Path | None
    contents: Contents


class _Copy:
    """A copy of a database, and of the logs next to it, that can be interrupted."""

    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self._interrupted = Event()

    def run(self) -> None:
        self._copy("")
        # A plain copy of a database in use comes with its logs.
        for end in LOGS:
            if Path(f"{self._source}{end}").exists():
                self._copy(end)

    def _copy(self, end: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with (
            open(f"{self._source}{end}", "rb") as source,
            # The logs hold the same secrets as the database.
            open(os.open(f"{self._target}{end}", flags, 0o600), "wb") as to,
        ):
            while not self._interrupted.is_set() and (chunk := source.read(_CHUNK)):
                to.write(chunk)

    def interrupt(self) -> None:
        self._interrupted.set()


async def restore(settings: Settings, source: Path, *, report: Report) -> Restored:
    """Replace the database in the data folder by a backup, which is verified first.

    ``source`` is the absolute path of the backup; the logs of a plain copy are applied to it. The
    former database stays in the folder under a dated name, with the logs that could not be applied
    to it. Raises `BackupFailed`; then, and when cancelled, the former database is in place.
    """
    if settings.database is not None:
        raise BackupFailed(
            "the data is in PostgreSQL: stop every server, and restore a dump of pg_dump with"
            f" pg_restore --clean --if-exists --dbname={settings.database} {source}"
        )
    folder = settings.data_dir.absolute()
    database = folder / DATABASE
    with ExitStack() as stack:
        size = _size_of(source, database)
        try:
            stack.enter_context(holding(folder))
        except DataFolderInUse:
            raise BackupFailed(
                f"a server runs with the data folder {folder}: stop it, then restore"
            ) from None
        except DataFolderError as error:
            raise BackupFailed(str(error)) from None
        try:
            path = stack.enter_context(partial_file(database))
            copy = _Copy(without_links(source), path)
            watch = growth(path, "copying", size, report)
            await in_thread(copy.run, copy.interrupt, watch)
            report(Progress("checking", 0, None))
            contents = await _verified(source, path)
            replaced = await trio.to_thread.run_sync(_replace, database, path)
        except StoreError as error:
            raise BackupFailed(str(error)) from None
        except OSError as error:
            raise BackupFailed(f"{source} can't be restored to {folder}: {reason(error)}") from None
    return Restored(replaced, contents)


def _size_of(source: Path, database: Path) -> int:
    try:
        if os.path.realpath(source) == os.path.realpath(database):
            raise BackupFailed(f"{source} is the database itself: name a backup")
        # Anything else, such as a pipe, may never be read to its end.
        if source.exists() and not source.is_file():
            raise BackupFailed(f"{source} is not a file: name a backup")
        with open(source, "rb") as opened:
            return os.fstat(opened.fileno()).st_size
    except OSError as error:
        raise BackupFailed(f"{source} can't be read: {reason(error)}") from None


async def _verified(source: Path, path: Path) -> Contents:
    try:
        with closing(Verification(path)) as verification:
            contents = await in_thread(verification.run, verification.interrupt)
            verification.require_known_schema()
    except StoreFull:
        raise
    except StoreUnusable as error:
        raise BackupFailed(f"{source} can't be restored: {error}") from None
    return contents


def _replace(database: Path, path: Path) -> Path | None:
    """Keep the database aside and rename ``path`` to its name; return where it is kept.

    A crash at any point leaves the former or the new database under the name. The former one is
    complete, unless it was damaged: then its logs may be with the file that is kept.
    """
    replaced = None
    # What can fail for want of room comes before anything of the former database is removed.
    sync(path)
    if database.exists():
        replaced = _aside(database)
        # First, as SQLite removes the logs of a file that it can't read.
        kept_logs = _link_logs(database, replaced)
        try:
            folded = fold_logs(database)
        except StoreError:
            # They go on being used under their own names.
            _remove(replaced, kept_logs)
            raise
        if folded:
            _remove(replaced, kept_logs)
        _link(database, replaced)
    try:
        # Logs must be gone before another database has their name: SQLite would apply them to it.
        _remove(database, COMPANIONS)
        sync(database.parent)
        publish(path, database)
    except OSError as error:
        if not path.exists():
            raise BackupFailed(
                f"the backup is in place, but its disk may not keep it ({reason(error)}):"
                " check the disk, then restore again"
            ) from error
        if replaced is not None:
            _link_logs(replaced, database)
        raise
    return replaced


def _aside(database: Path) -> Path:
    day = f"{datetime.fromtimestamp(now(), UTC):%Y%m%dT%H%M%SZ}"
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        path = database.with_name(f"{database.stem}-replaced-{day}{again}{database.suffix}")
        if not path.exists():
            return path
    raise AssertionError("unreachable: counting has no end")


def _link_logs(database: Path, replaced: Path) -> list[str]:
    """Give the logs of ``database`` the name ``replaced``, too; return which there are."""
    found = [end for end in LOGS if Path(f"{database}{end}").exists()]
    for end in found:
        _link(Path(f"{database}{end}"), Path(f"{replaced}{end}"))
    return found


def _remove(database: Path, ends: Iterable[str]) -> None:
    for end in ends:
        Path(f"{database}{end}").unlink(missing_ok=True)


def _link(database: Path, replaced: Path) -> None:
    try:
        os.link(database, replaced)
    except OSError:
        # A file system without hard links; a copy keeps the name in use until the end.
        shutil.copy2(database, replaced)
        sync(replaced)
    os.chmod(replaced, 0o600)

"""``octavo restore``: put a verified backup in place of the database and its blobs.

Blobs are added to the data folder before the database is replaced, and those that the new database
does not name leave it afterwards: they are moved next to the former database, which is a backup
like any other then.
"""

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event

import trio

from octavo.access.entropy import now
from octavo.cli.interruption import in_thread
from octavo.cli.progress import Progress, Report
from octavo.service import backup, blob_transfer
from octavo.settings import KernelSettings
from octavo.store import StoreError, StoreFull, StoreUnusable, data_folder, open_blobs
from octavo.store.blobs.local import sync
from octavo.store.sqlite import DATABASE
from octavo.store.sqlite.backup import COMPANIONS, LOGS, Contents, Verification, fold_logs

_CHUNK = 1024 * 1024
_MADE = (open_blobs.FOLDER, Path(DATABASE).stem)
"""The prefixes of the names that a restore creates in a data folder."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A finished restore.

    Attributes:
        replaced: where the former database is now; None when there was none.
        contents: what the restored database holds.
        blobs: the blobs that it names; None if they were left out.
        replaced_blobs: where blobs are now that the database does not name; None without any.
    """

    replaced: Path | None
    contents: Contents
    blobs: blob_transfer.BlobTransfer | None
    replaced_blobs: Path | None


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
            # The logs contain the same secrets as the database.
            open(os.open(f"{self._target}{end}", flags, 0o600), "wb") as to,
        ):
            while not self._interrupted.is_set() and (chunk := source.read(_CHUNK)):
                to.write(chunk)

    def interrupt(self) -> None:
        self._interrupted.set()


async def restore(
    settings: KernelSettings, source: Path, *, blobs: bool, incomplete: bool, report: Report
) -> Restored:
    """Replace the database in the data folder by a backup, which is verified first.

    ``source`` is the absolute path of the backup; the logs of a plain copy are applied to it. The
    former database stays in the folder under a dated name, with the logs that could not be applied
    to it, and with the blobs that only it names.

    ``blobs`` False leaves the blobs as they are. A backup whose blobs are damaged or missing is
    refused unless ``incomplete``; a blob that the data folder has needs not be in the backup.
    Raises `BackupFailed`; then, and when cancelled, the former database is in place.
    """
    if settings.database is not None:
        raise backup.BackupFailed(
            "the data is in PostgreSQL: stop every server, and restore a dump of pg_dump with"
            f" pg_restore --clean --if-exists --dbname={settings.database} {source},"
            ' and the blobs (docs/operation.md, "Backup of PostgreSQL")'
        )
    folder = settings.data_dir.absolute()
    database = folder / DATABASE
    with ExitStack() as stack:
        size = _size_of(source, database)
        try:
            stack.enter_context(data_folder.holding(folder))
        except data_folder.DataFolderInUse:
            raise backup.BackupFailed(
                f"a server runs with the data folder {folder}: stop it, then restore"
            ) from None
        except data_folder.DataFolderError as error:
            raise backup.BackupFailed(str(error)) from None
        try:
            path = stack.enter_context(backup.partial_file(database))
            copy = _Copy(backup.without_links(source), path)
            watch = backup.growth(path, "copying", size, report)
            await in_thread(copy.run, copy.interrupt, watch)
            report(Progress("checking", 0, None))
            contents = await _verified(source, path)
            transfer = None
            if blobs:
                transfer = stack.enter_context(_transfer(source, path, folder))
                await backup.transferred(transfer, report)
                if transfer.lacking and not incomplete:
                    raise backup.BackupFailed(*_refusal(source, transfer))
            try:
                replaced = await trio.to_thread.run_sync(_replace, database, path)
            finally:
                if transfer is not None and not path.exists():
                    transfer.keep()
            await trio.to_thread.run_sync(_give_to_owner, folder)
            replaced_blobs = None
            if blobs:
                aside = backup.blobs_of(replaced or _aside(database))
                if await trio.to_thread.run_sync(_move_unnamed, folder, database, aside):
                    replaced_blobs = aside
                    await trio.to_thread.run_sync(_give_to_owner, folder)
        except StoreError as error:
            raise backup.BackupFailed(str(error)) from None
        except OSError as error:
            raise backup.BackupFailed(
                f"{source} can't be restored to {folder}: {backup.reason(error)}"
            ) from None
    return Restored(replaced, contents, transfer, replaced_blobs)


def _transfer(source: Path, path: Path, folder: Path) -> blob_transfer.BlobTransfer:
    """Return the transfer of the blobs that ``path``, a copy of ``source``, names."""
    source = backup.without_links(source)
    sources = [backup.blobs_of(source)]
    if source.name == DATABASE:
        # A plain copy of a data folder.
        sources.append(source.parent / open_blobs.FOLDER)
    return blob_transfer.BlobTransfer(path, folder / open_blobs.FOLDER, sources)


def _refusal(source: Path, transfer: blob_transfer.BlobTransfer) -> list[str]:
    return [
        f"{source} can't be restored: blobs that it names are missing or damaged",
        *blob_transfer.described_faults(transfer),
        (
            "restore without them with --incomplete; if the blobs are in an object store, restore"
            " the database alone with --database-only"
        ),
    ]


def _move_unnamed(folder: Path, database: Path, target: Path) -> bool:
    try:
        return blob_transfer.move_unnamed(folder / open_blobs.FOLDER, database, target)
    except OSError as error:
        raise backup.BackupFailed(
            f"the backup is in place, but blobs that it does not name can't be moved to {target}:"
            f" {backup.reason(error)}; restore again to repeat that"
        ) from None


def _size_of(source: Path, database: Path) -> int:
    try:
        if os.path.realpath(source) == os.path.realpath(database):
            raise backup.BackupFailed(f"{source} is the database itself: name a backup")
        # Anything else, such as a pipe, may never be read to its end.
        if source.exists() and not source.is_file():
            raise backup.BackupFailed(f"{source} is not a file: name a backup")
        with open(source, "rb") as opened:
            return os.fstat(opened.fileno()).st_size
    except OSError as error:
        raise backup.BackupFailed(f"{source} can't be read: {backup.reason(error)}") from None


async def _verified(source: Path, path: Path) -> Contents:
    try:
        with closing(Verification(path)) as verification:
            contents = await in_thread(verification.run, verification.interrupt)
            verification.require_known_schema()
            await trio.to_thread.run_sync(verification.expect_readers)
    except StoreFull:
        raise
    except StoreUnusable as error:
        raise backup.BackupFailed(f"{source} can't be restored: {error}") from None
    return contents


def _replace(database: Path, path: Path) -> Path | None:
    """Keep the database aside and rename ``path`` to its name; return where it is kept.

    A crash at any point leaves the former or the new database under the name. The former one is
    complete, unless it was damaged: then its logs may be with the file that is kept.
    """
    replaced = None
    # This may fail on a full disk, so it comes before anything of the former database is removed.
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
        backup.publish(path, database)
    except OSError as error:
        if not path.exists():
            raise backup.BackupFailed(
                f"the backup is in place, but its disk may not keep it ({backup.reason(error)}):"
                " check the disk, then restore again"
            ) from error
        if replaced is not None:
            _link_logs(replaced, database)
        raise
    return replaced


def _give_to_owner(folder: Path) -> None:
    """Give the files that a restore by root created to the owner of the data folder.

    The owner, who runs the server, may change the folder meanwhile: no path through it is followed,
    and files that no restore created keep their owner.
    """
    owner = folder.stat()
    if os.geteuid() or not owner.st_uid:
        return
    for parent, folders, files, opened in os.fwalk(folder, follow_symlinks=False):
        if parent == str(folder):
            folders[:] = [name for name in folders if name.startswith(_MADE)]
        for name in (*folders, *files):
            if parent == str(folder) and not name.startswith(_MADE):
                continue
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=opened, follow_symlinks=False)
                is_own = stat.S_ISDIR(status.st_mode) or status.st_nlink == 1
                if not status.st_uid and is_own:
                    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=opened, follow_symlinks=False)


def _aside(database: Path) -> Path:
    day = f"{datetime.fromtimestamp(now(), UTC):%Y%m%dT%H%M%SZ}"
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        path = database.with_name(f"{database.stem}-replaced-{day}{again}{database.suffix}")
        if not path.exists():
            return path
    raise AssertionError("unreachable: counting has no end")


def _link_logs(database: Path, replaced: Path) -> list[str]:
    """Link the logs of ``database`` as those of ``replaced``; return which ones exist."""
    ends = [end for end in LOGS if Path(f"{database}{end}").exists()]
    for end in ends:
        _link(Path(f"{database}{end}"), Path(f"{replaced}{end}"))
    return ends


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

"""``octavo backup``: a verified copy of the database and its images, also while the server runs."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
import trio

from octavo.cli.interruption import Interrupted, until_signal
from octavo.cli.output import Command, Failed, example, say
from octavo.cli.progress import ProgressDisplay, counted, size_text
from octavo.cli.reading import read, takes_settings
from octavo.control.client import ControlFailed, ask
from octavo.service.backup import BackupFailed, back_up, blobs_of
from octavo.service.blob_transfer import described_faults
from octavo.store.sqlite.backup import Contents


@click.command(
    "backup",
    cls=Command,
    help="Write a copy of the database to FILE, and of the images to the folder FILE.blobs, and "
    "verify them. The server may run meanwhile: the copy has every change that was acknowledged "
    "before the command began. FILE appears when the backup is complete, and only its owner can "
    "read it. Images that an earlier backup in the same folder has are not copied again.",
    epilog=example("octavo backup --data-dir /var/lib/octavo /backup/monday.sqlite3"),
)
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="replace FILE if it exists")
@click.option("--database-only", is_flag=True, help="leave the images out")
@takes_settings("data_dir", "database", "object_store")
@click.pass_context
def command(
    context: click.Context, /, file: str, replace: bool, database_only: bool, **texts: str | None
) -> None:
    """Write the copy, and print what it holds. Raises `Failed`."""
    settings = read(context, texts).settings
    in_object_store = bool(settings.object_store)
    with suppress(ControlFailed):
        # The server knows its engine from options that this command did not get.
        if settings.database is None and ask(settings.data_dir, "engine") == "postgresql":
            raise Failed(
                "the server keeps its data in PostgreSQL: back it up with"
                f" pg_dump --format=custom --file={file} and the address of its database,"
                ' and copy the blobs (docs/operation.md, "Backup of PostgreSQL")'
            )
        in_object_store = in_object_store or ask(settings.data_dir, "blobs") == "object store"
    try:
        with ProgressDisplay() as report:
            work = partial(
                back_up,
                settings,
                Path(os.path.abspath(file)),
                replace=replace,
                blobs=not (database_only or in_object_store),
                report=report,
            )
            done = trio.run(until_signal, work)
    except BackupFailed as error:
        raise Failed(*error.problems) from None
    except Interrupted:
        raise Failed("interrupted: nothing was written") from None
    say(f"{done.file}: {size_text(done.size)}, {described(done.contents)}")
    if done.contents.index_damaged:
        say(
            "the search index of the database is damaged, and left out: the service makes it anew"
            " after a restart, or after the backup was restored"
        )
    if in_object_store:
        say("the images are in an object store, and not in the backup (docs/operation.md)")
    blobs = done.blobs
    if blobs is not None and blobs.number:
        say(
            f"{blobs_of(done.file)}: images: {counted(blobs.number - blobs.lacking, 'file')},"
            f" {size_text(blobs.total - blobs.lacking_size)}, {blobs.reused:,} of them there"
            " already or in another backup"
        )
    if blobs is not None and blobs.lacking:
        raise Failed(
            "the backup lacks images that are missing or damaged in the data folder",
            *described_faults(blobs),
        )


def described(contents: Contents) -> str:
    """Return what a database holds, for people."""
    return (
        f"{counted(contents.accounts, 'account')}, {counted(contents.workspaces, 'workspace')},"
        f" {counted(contents.files, 'file')}, schema version {contents.schema}"
    )

"""``octavo restore``: put a backup in place of the database and its blobs."""

import os
from functools import partial
from pathlib import Path

import click
import trio

from octavo.cli.commands.backup import described
from octavo.cli.interruption import Interrupted, until_signal
from octavo.cli.output import Command, Failed, example, say
from octavo.cli.progress import ProgressDisplay, counted
from octavo.cli.reading import read, takes_settings
from octavo.service.backup import BackupFailed
from octavo.service.blob_transfer import described_faults
from octavo.service.restore import restore


@click.command(
    "restore",
    cls=Command,
    help="Verify the backup FILE, with its folder FILE.blobs, and put it in place of the database. "
    "The server must not run. The former database stays in the data folder under a dated name, "
    "with the images that the backup does not have.",
    epilog=example("octavo restore --data-dir /var/lib/octavo /backup/monday.sqlite3"),
)
@click.argument("file", metavar="FILE")
@click.option("--database-only", is_flag=True, help="leave the images as they are")
@click.option("--incomplete", is_flag=True, help="restore although images are missing or damaged")
@takes_settings("data_dir", "database", "object_store")
@click.pass_context
def command(
    context: click.Context,
    /,
    file: str,
    database_only: bool,
    incomplete: bool,
    **texts: str | None,
) -> None:
    """Restore the backup, and print what to do next. Raises `Failed`."""
    settings = read(context, texts).settings
    try:
        with ProgressDisplay() as report:
            work = partial(
                restore,
                settings,
                Path(os.path.abspath(file)),
                blobs=not (database_only or settings.object_store),
                incomplete=incomplete,
                report=report,
            )
            done = trio.run(until_signal, work)
    except BackupFailed as error:
        raise Failed(*error.problems) from None
    except Interrupted:
        raise Failed("interrupted: nothing was changed") from None
    say(f"restored: {described(done.contents)}")
    if settings.object_store:
        say("the images are in an object store, which was not changed (docs/operation.md)")
    if done.blobs is not None and done.blobs.number:
        say(f"images: {counted(done.blobs.number - done.blobs.lacking, 'file')}")
        for line in described_faults(done.blobs):
            say(line)
    if done.replaced is not None:
        say(f"the former database is {done.replaced}: delete it when nobody misses anything")
    if done.replaced_blobs is not None:
        say(f"images that the backup does not name are in {done.replaced_blobs}: delete that, too")
    say(
        "what was revoked or removed since the backup is valid again: published links, also those"
        " that were taken down, and keys, sessions and members (docs/operation.md)"
    )
    say(
        "start the server now; devices that saw later changes bring back what they still have"
        ' (packages/client/docs/client.md, "After a restored backup")'
    )

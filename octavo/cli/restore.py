"""``octavo restore``: put a backup in place of the database."""

import os
from functools import partial
from pathlib import Path

import click
import trio

from octavo.cli.backup import described
from octavo.cli.help import Command, example
from octavo.cli.output import Failed, say
from octavo.cli.progress import ProgressDisplay
from octavo.cli.reading import read, takes_settings
from octavo.service.backup import BackupFailed
from octavo.service.interruption import Interrupted, until_signal
from octavo.service.restore import restore


@click.command(
    "restore",
    cls=Command,
    help="Verify the backup FILE and put it in place of the database. The server must not run. "
    "The former database stays in the data folder under a dated name.",
    epilog=example("octavo restore --data-dir /var/lib/octavo /backup/monday.sqlite3"),
)
@click.argument("file", metavar="FILE")
@takes_settings("data_dir", "database")
@click.pass_context
def command(context: click.Context, /, file: str, **given: str | None) -> None:
    """Restore the backup, and print what to do next. Raises `Failed`."""
    settings = read(context, given).settings
    try:
        with ProgressDisplay() as report:
            work = partial(restore, settings, Path(os.path.abspath(file)), report=report)
            done = trio.run(until_signal, work)
    except BackupFailed as error:
        raise Failed(str(error)) from None
    except Interrupted:
        raise Failed("interrupted: nothing was changed") from None
    say(f"restored: {described(done.contents)}")
    if done.replaced is not None:
        say(f"the former database is {done.replaced}: delete it when nobody misses anything")
    say(
        "start the server now; devices that saw later changes bring back what they still have"
        ' (docs/client.md, "After a restored backup")'
    )

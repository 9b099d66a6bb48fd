"""``octavo backup``: a verified copy of the database, also while the server runs."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
import trio

from octavo.cli.help import Command, example
from octavo.cli.output import Failed, say
from octavo.cli.progress import ProgressDisplay
from octavo.cli.reading import read, takes_settings
from octavo.control.client import ControlFailed, ask
from octavo.service.backup import BackupFailed, back_up, megabytes
from octavo.service.interruption import Interrupted, until_signal
from octavo.store.sqlite.backup import Contents


@click.command(
    "backup",
    cls=Command,
    help="Write a copy of the database to FILE and verify it. The server may run meanwhile: the "
    "copy has every change that was acknowledged before the command began. FILE appears when it "
    "is complete, and only its owner can read it.",
    epilog=example("octavo backup --data-dir /var/lib/octavo /backup/monday.sqlite3"),
)
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="replace FILE if it exists")
@takes_settings("data_dir", "database")
@click.pass_context
def command(context: click.Context, /, file: str, replace: bool, **given: str | None) -> None:
    """Write the copy, and print what it holds. Raises `Failed`."""
    settings = read(context, given).settings
    with suppress(ControlFailed):
        # The server knows its engine from options that this command did not get.
        if settings.database is None and ask(settings.data_dir, "engine") == "postgresql":
            raise Failed(
                "the server keeps its data in PostgreSQL: back it up with"
                f" pg_dump --format=custom --file={file} and the address of its database"
            )
    try:
        with ProgressDisplay() as report:
            work = partial(
                back_up, settings, Path(os.path.abspath(file)), replace=replace, report=report
            )
            done = trio.run(until_signal, work)
    except BackupFailed as error:
        raise Failed(str(error)) from None
    except Interrupted:
        raise Failed("interrupted: nothing was written") from None
    say(f"{done.file}: {megabytes(done.size)}, {described(done.contents)}")


def described(contents: Contents) -> str:
    """Return what a database holds, for people."""
    return (
        f"{_counted(contents.accounts, 'account')}, {_counted(contents.workspaces, 'workspace')},"
        f" {_counted(contents.files, 'file')}, schema version {contents.schema}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

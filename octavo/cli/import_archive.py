"""``octavo import``: bring a folder or a zip archive into a workspace."""

import os
from functools import partial
from pathlib import Path

import click
import trio

from octavo import service
from octavo.cli.help import Command, example
from octavo.cli.output import Failed, counted, say
from octavo.cli.progress import ProgressDisplay
from octavo.cli.server_key import read_key, server_access, takes_server
from octavo.service.interruption import Interrupted, until_signal


@click.command(
    "import",
    cls=Command,
    help="Import the notes and images of SOURCE, a folder or a zip archive, into a workspace. "
    "Everything is checked before the first note is imported. Files of other kinds, and settings "
    "of programs, are left out and counted; symbolic links in a folder are not followed.",
    epilog=example(
        "octavo import Vault --server https://notes.example.org \\",
        "    --workspace Recipes --create --key-file ~/.octavo-key",
    ),
)
@click.argument("source", metavar="SOURCE")
@takes_server
@click.option("--create", is_flag=True, help="create the workspace if there is none of this name")
@click.option(
    "--resume",
    metavar="ID",
    type=click.UUID,
    help="continue an import that was interrupted, from the same SOURCE",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    server: str,
    workspace: str,
    key_file: str | None,
    create: bool,
    resume: object | None,
) -> None:
    """Import, and print what was imported. Raises `Failed`."""
    access = server_access(server, read_key(context, key_file))
    with ProgressDisplay(lines=False) as report:
        transfers = service.WorkspaceTransfers(access, workspace, report)
        work = partial(
            transfers.import_from,
            Path(os.path.abspath(source)),
            create=create,
            import_id=None if resume is None else str(resume),
        )
        problems: tuple[str, ...] = ()
        try:
            done = trio.run(until_signal, work)
        except service.TransferFailed as error:
            problems = error.problems
        except Interrupted:
            problems = ("interrupted",)
    if problems:
        if transfers.import_id is not None:
            problems = (*problems, f"to continue, add --resume {transfers.import_id}")
        raise Failed(*problems)
    say(described(done))


def described(done: "service.ImportReport") -> str:
    """Return what was imported, for people."""
    left_out = [f"{number:,} {kind}" for kind, number in done.left_out.items() if number]
    if done.links:
        left_out.append(counted(done.links, "symbolic link"))
    rest = f"; left out: {', '.join(left_out)}" if left_out else ""
    notes = counted(done.summary.notes, "note")
    images = counted(done.summary.attachments, "image")
    return f"{done.workspace}: imported {notes} and {images}{rest}"

"""``octavo import``: bring a folder or a zip archive into a workspace."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click
import trio

from octavo.cli.interruption import Interrupted, until_signal
from octavo.cli.output import Command, Failed, example, say
from octavo.cli.progress import ProgressDisplay, counted
from octavo.features.archives.commands import server_key

if TYPE_CHECKING:
    from octavo.features.archives.commands.transfer_reports import ImportReport


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
@click.argument("source", metavar="[SOURCE]", required=False)
@server_key.takes_server
@click.option("--create", is_flag=True, help="create the workspace if there is none of this name")
@click.option(
    "--resume",
    metavar="ID",
    type=click.UUID,
    help="continue the import ID, which an interrupted import printed, from the same SOURCE",
)
@click.option(
    "--abort",
    metavar="ID",
    type=click.UUID,
    help="remove the import ID, which is not complete, instead of importing; what was imported "
    "stays. It needs no --workspace",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str | None,
    server: str,
    workspace: str,
    key_file: str | None,
    create: bool,
    resume: UUID | None,
    abort: UUID | None,
) -> None:
    """Import, and print what was imported. Raises `Failed`."""
    # They load the HTTP client.
    from octavo.features.archives.commands.transfer_reports import TransferFailed
    from octavo.features.archives.commands.workspace_transfers import WorkspaceTransfers

    if (source is None) == (abort is None):
        raise Failed("give either SOURCE, or --abort with the id of an import", exit_code=2)
    if resume is not None and abort is not None:
        raise Failed("--resume and --abort exclude each other", exit_code=2)
    if create and (resume or abort) is not None:
        raise Failed(
            "--create is for a new import: the workspace of an earlier one exists", exit_code=2
        )
    if source is not None:
        server_key.require_workspace(workspace)
    access = server_key.ServerAccess(server, server_key.read_key(context, key_file))
    with ProgressDisplay() as report:
        transfers = WorkspaceTransfers(access, workspace, report, report.waiting)
        problems: tuple[str, ...] = ()
        try:
            if source is None:
                if trio.run(until_signal, partial(transfers.abort, str(abort))):
                    printed = f"the import {abort} was removed"
                else:
                    printed = f"the import {abort} was complete already: nothing was removed"
            else:
                work = partial(
                    transfers.import_from,
                    Path(os.path.abspath(source)),
                    create=create,
                    import_id=None if resume is None else str(resume),
                )
                done = trio.run(until_signal, work)
                printed = described(done)
        except TransferFailed as error:
            problems = error.problems
        except Interrupted:
            problems = ("interrupted",)
    if problems:
        if transfers.import_id is not None and source is not None:
            instead = " instead of --create" if create else ""
            problems = (*problems, f"to continue, add --resume {transfers.import_id}{instead}")
        raise Failed(*problems)
    say(printed)


def described(done: "ImportReport") -> str:
    """Return what was imported, for people."""
    left_out = [_left_out(kind, number) for kind, number in done.left_out.items() if number]
    if done.links:
        left_out.append(counted(done.links, "symbolic link"))
    rest = f"; left out: {', '.join(left_out)}" if left_out else ""
    notes = counted(done.summary.notes, "note")
    images = counted(done.summary.attachments, "image")
    imported = "was imported already: " if done.was_done else "imported "
    cleaned = done.summary.cleaned
    if cleaned:
        rest += f"; without the hidden characters in {counted(cleaned, 'path')}"
    return f"{done.workspace}: {imported}{notes} and {images}{rest}"


def _left_out(kind: str, number: int) -> str:
    files = counted(number, "file")
    match kind:
        case "settings" | "history":
            return files.replace(" ", f" {kind} ")
        case _:
            return f"{files} of other kinds"

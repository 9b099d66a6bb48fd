"""``octavo export``: write a workspace to a zip archive."""

import os
from functools import partial
from pathlib import Path
from typing import Literal

import click
import trio

from octavo.cli.interruption import Interrupted, until_signal
from octavo.cli.output import Command, Failed, example, say
from octavo.cli.progress import ProgressDisplay, counted, size_text
from octavo.features.archives.commands import server_key

_NAMED = 20
"""Images that the archive lacks and that are named; its report names all."""


@click.command(
    "export",
    cls=Command,
    help="Write a workspace to the zip archive FILE, which appears when it is complete, and only "
    "its owner can read it. `octavo import` brings it back unchanged.",
    epilog=example(
        "octavo export recipes.zip --server https://notes.example.org \\",
        "    --workspace Recipes --replace --key-file ~/.octavo-key",
    ),
)
@click.argument("file", metavar="FILE")
@server_key.takes_server
@click.option(
    "--format",
    "export_format",
    type=click.Choice(["all", "notes", "history"]),
    default="all",
    show_default=True,
    help="all files, notes alone, or all files with their earlier revisions",
)
@click.option("--replace", is_flag=True, help="replace FILE if it exists")
@click.pass_context
def command(
    context: click.Context,
    /,
    file: str,
    server: str,
    workspace: str,
    key_file: str | None,
    export_format: Literal["all", "notes", "history"],
    replace: bool,
) -> None:
    """Export, and print the size. Raises `Failed`."""
    # They load the HTTP client.
    from octavo.features.archives.commands.transfer_reports import TransferFailed
    from octavo.features.archives.commands.workspace_transfers import WorkspaceTransfers

    server_key.require_workspace(workspace)
    if file == "-":
        raise Failed("an archive is not written to standard output: name a file", exit_code=2)
    target = Path(os.path.abspath(file))
    access = server_key.ServerAccess(server, server_key.read_key(context, key_file))
    if target.exists() and not target.is_file():
        raise Failed(f"{target} is not a file: name a file")
    if target.exists() and not replace:
        raise Failed(f"{target} exists: name another file, or replace it with --replace")
    try:
        with ProgressDisplay() as report:
            transfers = WorkspaceTransfers(access, workspace, report, report.waiting)
            done = trio.run(until_signal, partial(transfers.export_to, target, export_format))
    except TransferFailed as error:
        raise Failed(*error.problems) from None
    except Interrupted:
        raise Failed("interrupted: nothing was written") from None
    say(f"{target}: {size_text(done.size)}, {counted(done.files, 'file')}")
    if done.lacked:
        raise Failed(
            f"the archive lacks {counted(len(done.lacked), 'image')}, damaged or missing on the"
            " server; restore from a backup of the server, upload again, or delete:",
            *done.lacked[:_NAMED],
            *(["…, named in octavo-export-report.txt"] if len(done.lacked) > _NAMED else []),
        )

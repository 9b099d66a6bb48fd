"""``octavo actors``: what the running service does now."""

import click

from octavo.cli.output import Command, Failed, example, say
from octavo.cli.reading import read, takes_settings
from octavo.control.client import ControlFailed, ask


@click.command(
    "actors",
    cls=Command,
    help="Show the tree of the actors of the service that runs with this data folder: "
    "what each is, its state, and what it has handled; and what is used of the limits that keep "
    "it available.",
    epilog=example("octavo actors --data-dir /var/lib/octavo"),
)
@takes_settings("data_dir")
@click.pass_context
def command(context: click.Context, /, **texts: str | None) -> None:
    """Print the tree. Raises `Failed`."""
    try:
        say(ask(read(context, texts).settings.data_dir, "actors"))
    except ControlFailed as error:
        raise Failed(str(error)) from None

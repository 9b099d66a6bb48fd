"""``octavo invite``: an invitation from the terminal of the machine."""

from functools import partial
from urllib.parse import quote

import click
import trio

from octavo.cli.output import Command, example, say
from octavo.cli.reading import address_of, public_url_of, read, takes_settings
from octavo.features.members import invitations_of_terminal


@click.command(
    "invite",
    cls=Command,
    help="Create an invitation to register, and print its link, which works once, for seven days. "
    "The server need not run.",
    epilog=example("octavo invite --administrator --address ada@example.org"),
)
@click.option("--administrator", is_flag=True, help="who registers becomes an administrator")
@click.option("--address", metavar="ADDRESS", help="only this address can register with it")
@takes_settings("data_dir", "database", "public_url")
@click.pass_context
def command(
    context: click.Context, /, administrator: bool, address: str | None, **options: str | None
) -> None:
    """Print the link. Raises `Failed`."""
    loaded = read(context, options)
    invite = partial(
        invitations_of_terminal.invite,
        loaded.settings,
        administrator=administrator,
        address=None if address is None else address_of(address),
    )
    token = trio.run(invite)
    say(f"{public_url_of(loaded)}/register?invitation={quote(token, safe='')}")

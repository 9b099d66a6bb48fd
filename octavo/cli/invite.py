"""``octavo invite``: an invitation from the terminal of the machine."""

from contextlib import suppress
from functools import partial
from urllib.parse import quote

import click
import trio

from octavo import service
from octavo.cli.help import Command, example
from octavo.cli.output import Failed, say
from octavo.cli.reading import read, takes_settings
from octavo.control.client import ControlFailed, ask


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
    context: click.Context, /, administrator: bool, address: str | None, **given: str | None
) -> None:
    """Print the link. Raises `Failed`."""
    found = read(context, given)
    settings = found.settings
    try:
        token = trio.run(
            partial(service.invite, settings, administrator=administrator, address=address)
        )
    except service.InvalidAddress as error:
        raise Failed(str(error), exit_code=2) from None
    except service.InvitationRefused as error:
        raise Failed(str(error)) from None
    reached_at = settings.public_url
    if "public_url" not in found.origins:
        # The server that runs knows it from options that this command did not get.
        with suppress(ControlFailed):
            reached_at = ask(settings.data_dir, "public_url")
    say(f"{reached_at}/register?invitation={quote(token, safe='')}")

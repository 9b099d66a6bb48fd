"""``octavo recover``: a link to choose a new password, without mail."""

from functools import partial

import click
import trio

from octavo.cli.help import Command, example
from octavo.cli.output import Failed, say
from octavo.cli.reading import public_url_of, read, takes_settings
from octavo.features.accounts import recovery
from octavo.features.accounts.rules.password import reset_link
from octavo.features.mail import sending


@click.command(
    "recover",
    cls=Command,
    short_help="Print a link to choose a new password.",
    help="Print a link to choose a new password for the account with ADDRESS. It works once, for "
    "an hour. The server need not run.",
    epilog=example("octavo recover ada@example.org"),
)
@click.argument("address")
@takes_settings("data_dir", "database", "public_url")
@click.pass_context
def command(context: click.Context, /, address: str, **given: str | None) -> None:
    """Print the link. Raises `Failed`."""
    found = read(context, given)
    try:
        token = trio.run(partial(recovery.recover, found.settings, address))
    except sending.UnusableAddress as error:
        raise Failed(str(error), exit_code=2) from None
    except recovery.RecoveryRefused as error:
        raise Failed(str(error)) from None
    say(reset_link(public_url_of(found), token))

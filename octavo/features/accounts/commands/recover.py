"""``octavo recover``: a link to choose a new password, without mail."""

from functools import partial

import click
import trio

from octavo.access.audit import command_audit
from octavo.access.entropy import jitter, new_entropy, now
from octavo.cli.help import Command, example
from octavo.cli.output import Failed, say
from octavo.cli.reading import public_url_of, read, takes_settings
from octavo.features.accounts.password_reset import create_reset_token
from octavo.features.accounts.rules.password import reset_link
from octavo.features.mail import sending
from octavo.features.mail.sending import usable_address
from octavo.model.access.account import AccountMissing
from octavo.settings import KernelSettings
from octavo.store import StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import NO_LISTENERS


class RecoveryRefused(Exception):
    """No link was created; the text says why, in one line."""


async def recover(settings: KernelSettings, address: str) -> str:
    """Create a token to choose a new password for the account with ``address``; return it.

    Works while a server runs. Raises `UnusableAddress`, and `RecoveryRefused`.
    """
    parsed = usable_address(address)
    try:
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
            _, token = await create_reset_token(
                command_audit(engine.store), parsed, now=now, new_token=new_entropy
            )
    except AccountMissing:
        raise RecoveryRefused(f"no account has the address {parsed}") from None
    except StoreError as error:
        raise RecoveryRefused(str(error)) from None
    if token is None:
        raise RecoveryRefused(
            f"the account with the address {parsed} is disabled: an administrator can enable it"
        )
    return token


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
        token = trio.run(partial(recover, found.settings, address))
    except sending.UnusableAddress as error:
        raise Failed(str(error), exit_code=2) from None
    except RecoveryRefused as error:
        raise Failed(str(error)) from None
    say(reset_link(public_url_of(found), token))

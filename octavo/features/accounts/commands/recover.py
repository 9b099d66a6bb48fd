"""``octavo recover``: a link to choose a new password, without mail."""

import click
import trio

from octavo.access.audit import command_audit
from octavo.access.entropy import jitter, new_entropy, now
from octavo.cli.output import Command, Failed, example, say
from octavo.cli.reading import address_of, public_url_of, read, takes_settings
from octavo.features.accounts.password_reset import create_reset_token
from octavo.features.accounts.rules.password import reset_link
from octavo.model.access.account import AccountMissing, Address
from octavo.settings import KernelSettings
from octavo.store import StoreError
from octavo.store.engine import open_engine
from octavo.store.transaction import NO_LISTENERS


async def recover(settings: KernelSettings, address: Address) -> str:
    """Create a token to choose a new password for the account with ``address``; return it.

    Works while a server runs. Raises `Failed`.
    """
    try:
        async with open_engine(settings, NO_LISTENERS, random=jitter, serving=False) as engine:
            _, token = await create_reset_token(
                command_audit(engine.store), address, now=now, new_token=new_entropy
            )
    except AccountMissing:
        raise Failed(f"no account has the address {address}") from None
    except StoreError as error:
        raise Failed(str(error)) from None
    if token is None:
        raise Failed(
            f"the account with the address {address} is disabled: an administrator can enable it"
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
def command(context: click.Context, /, address: str, **options: str | None) -> None:
    """Print the link. Raises `Failed`."""
    loaded = read(context, options)
    token = trio.run(recover, loaded.settings, address_of(address))
    say(reset_link(public_url_of(loaded), token))

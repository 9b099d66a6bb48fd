"""``octavo mail test``: whether the mail settings work."""

import click
import trio

from octavo.cli.output import Command, command_group, example, say
from octavo.cli.reading import address_of, read, takes_settings
from octavo.features.mail import sending

_EXAMPLE = "octavo mail test ada@example.org"
_SETTINGS = (
    "public_url",
    "smtp_host",
    "smtp_security",
    "smtp_port",
    "smtp_user",
    "smtp_password",
    "mail_from",
)


command = command_group("mail", help="Test the mail settings.", epilog=example(_EXAMPLE))


@command.command(
    "test",
    cls=Command,
    help="Send a test message to ADDRESS with the settings at hand. It does not pass through the "
    "outbox; the server need not run.",
    epilog=example(_EXAMPLE),
)
@click.argument("address")
@takes_settings(*_SETTINGS)
@click.pass_context
def test(context: click.Context, /, address: str, **options: str | None) -> None:
    """Send the message. Raises `Failed`."""
    settings = read(context, options).settings
    trio.run(sending.send_test_message, settings, address_of(address))
    say(
        f"{settings.smtp_host}:{settings.smtp_port} accepted a message to {address}: "
        "look in its inbox, and in its spam folder"
    )

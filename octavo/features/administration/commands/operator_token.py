"""``octavo operator-token``: a token for the service of the operator."""

import click

from octavo.access.entropy import new_entropy
from octavo.cli.output import Command, example, say
from octavo.model.access.token import digest_of, operator_token


@click.command(
    "operator-token",
    cls=Command,
    help="Make an operator token, and print it with its digest. The token is for the service that "
    "calls the operator API; the digest is for the setting operator_tokens. Neither is stored.",
    epilog=example("octavo operator-token"),
)
def command() -> None:
    """Print a new token and its digest."""
    token = operator_token(new_entropy())
    say(f"token:  {token}")
    say(f"digest: {digest_of(token.encode()).hex()}")

"""``octavo openapi``: the document of the contract, without a server."""

import json

import click

from octavo.cli.output import Command, example, say
from octavo.service.registry import api_document


@click.command(
    "openapi",
    cls=Command,
    help="Print the API document (OpenAPI 3.1), as the server returns it at /api/openapi.json.",
    epilog=example("octavo openapi > openapi.json"),
)
def command() -> None:
    """Print the document. Raises `Failed`."""
    say(json.dumps(api_document(), ensure_ascii=False, indent=2))

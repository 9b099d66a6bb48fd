"""``octavo serve``: run the service until SIGTERM or SIGINT."""

from functools import partial

import click
import trio
from antechamber import CertificateError
from antechamber.listener import ListenError
from greenroom import RestartIntensityExceeded

from octavo.cli.output import Command, Failed, example
from octavo.cli.pauses import loading, pause_rarely
from octavo.cli.reading import read, takes_settings
from octavo.features.legal.rules import LegalTextError
from octavo.store import StoreError
from octavo.store.blobs import BlobsUnavailable, BlobsUnusable
from octavo.store.data_folder import DataFolderError

EXPECTED = (
    ListenError,
    CertificateError,
    LegalTextError,
    DataFolderError,
    BlobsUnavailable,
    BlobsUnusable,
    StoreError,
    RestartIntensityExceeded,
)


@click.command(
    "serve",
    cls=Command,
    help="Run the service until SIGTERM or SIGINT; a second one ends it immediately.",
    epilog=example("octavo serve --bind 0.0.0.0:8080 --public-url https://notes.example.org"),
)
@click.option(
    "--new",
    "new",
    is_flag=True,
    help="start a new installation although there are images of an earlier one, whose database is "
    "missing",
)
@takes_settings()
@click.pass_context
def command(context: click.Context, /, *, new: bool, **texts: str | None) -> None:
    """Serve. Raises `Failed`: 1 it could not start or keep running, 2 settings."""
    settings = read(context, texts).settings
    with loading():
        # It takes a second.
        from octavo.service.running import run, start_log  # noqa: PLC0415
    pause_rarely()
    reasons: tuple[BaseException, ...] = ()
    try:
        trio.run(partial(run, settings, start_log(settings), new=new))
    except* EXPECTED as group:
        reasons = group.exceptions
    if reasons:
        raise Failed(*map(str, reasons))

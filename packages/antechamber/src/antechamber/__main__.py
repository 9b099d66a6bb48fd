"""``antechamber module:app``: serve an ASGI application, with the limits as options."""

import argparse
import importlib
import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import trio
from hypercorn.utils import LifespanFailureError

from antechamber.connection_handler import ServerOptions
from antechamber.limits import Limits, raise_file_limit
from antechamber.listener import (
    Certificate,
    CertificateError,
    ListenError,
    check_certificate,
    open_listener,
)
from antechamber.proxies import parse_networks
from antechamber.serve import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM.

    Args:
        arguments: the command line without the program; None uses that of the process.

    Returns:
        The exit status: 0 after a stop, 1 if the application does not start or the address can't
        be used.

    Raises:
        SystemExit: with 2 and a message if the arguments are invalid, with 0 after help.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    limits = {limit.name: getattr(options, limit.name) for limit in fields(Limits)}
    limits["connections"] = raise_file_limit(limits["connections"])
    try:
        certificate = _certificate(options.certificate, options.key)
        server = ServerOptions(
            now=time.time,
            new_id=lambda: str(uuid.uuid4()),
            limits=Limits(**limits),
            trusted_proxies=parse_networks(options.trusted_proxies),
            proxy_header=options.proxy_header,
        )
        application = _load(options.application)
    except (CertificateError, LookupError, ValueError) as error:
        parser.error(str(error.args[0]))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    run = partial(serve, application, options=server, certificate=certificate)
    failed = False
    try:
        trio.run(_run, run, options.bind, options.shutdown_timeout)
    except* (ListenError, LifespanFailureError) as errors:
        failed = True
        reason: BaseException = errors
        while isinstance(reason, BaseExceptionGroup):
            reason = reason.exceptions[0]
        sys.stderr.write(f"antechamber: {reason}\n")
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="antechamber", description="Serve an ASGI application on trio."
    )
    parser.add_argument("application", metavar="module:app", help="the application")
    add = partial(parser.add_argument, help="%(default)s")
    add("--bind", type=_address, default="127.0.0.1:8000", metavar="HOST:PORT")
    add("--certificate", metavar="PATH", help="PEM file with its chain; turns TLS on")
    add("--key", metavar="PATH", help="PEM file of the certificate's key")
    add("--trusted-proxies", default="", metavar="NETWORKS", help='such as "10.0.0.0/8, ::1"')
    add("--proxy-header", choices=("x-forwarded", "forwarded"), default="x-forwarded")
    add("--shutdown-timeout", type=float, default=10.0, metavar="SECONDS")
    group = parser.add_argument_group("limits", "times in seconds, sizes in bytes")
    for limit in fields(Limits):
        group.add_argument(
            f"--{limit.name.replace('_', '-')}",
            type=type(limit.default),
            default=limit.default,
            metavar="NUMBER",
            help="%(default)s",
        )
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _certificate(chain: str | None, key: str | None) -> Certificate | None:
    if chain is None or key is None:
        if chain or key:
            raise ValueError("--certificate and --key belong together")
        return None
    certificate = Certificate(chain, key)
    check_certificate(certificate)
    return certificate


def _load(reference: str) -> Any:  # noqa: ANN401  # whatever the user names
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"{reference!r} is not of the form module:app")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        # If the module exists but fails to import another one, its own traceback is more useful.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise LookupError(f"there is no module {error.name!r}") from None
    except AttributeError as error:
        if error.obj is not sys.modules.get(module):
            raise
        raise LookupError(f"{module!r} has no {name!r}") from None


async def _run(run: Any, bind: tuple[str, int], shutdown_timeout: float) -> None:  # noqa: ANN401
    with (
        await open_listener(*bind) as listener,
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals,
    ):

        async def shutdown() -> None:
            await anext(signals)
            # Later clients are refused instead of left waiting.
            listener.close()

        async with trio.open_nursery() as nursery:
            [url] = await nursery.start(
                partial(run, [listener], shutdown=shutdown, shutdown_timeout=shutdown_timeout)
            )
            sys.stdout.write(f"antechamber listens on {url}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

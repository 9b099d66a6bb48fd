"""Open the listening socket and check its certificate, with errors that operators can act on."""

import errno
import socket
import ssl
from dataclasses import dataclass

import trio

from antechamber.limits import BACKLOG


class ListenError(Exception):
    """The address can't be listened on; the message gives the reason and the remedy."""


async def open_listener(host: str, port: int) -> socket.socket:
    """Listen on ``host`` (an IP address, or a name whose first address is used) and ``port``.

    Port 0 selects a free port. Returns a non-blocking socket that already listens; the caller
    closes it. Raises `ListenError` when the name is unknown, the port is in use or not permitted,
    or the machine lacks the address. Cancelled during the name lookup, no socket stays open.
    """
    try:
        addresses = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise ListenError(
            f"no address is known for the host {host}: "
            "bind to an IP address, such as 127.0.0.1:8080"
        ) from None
    family, kind, protocol, _, address = addresses[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # Otherwise a restart would fail while closed connections are in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise ListenError(_explain(error, host, port)) from error
    return listener


def _explain(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"port {port} of {host} is in use by another process: "
                "stop it, or bind to another port"
            )
        case errno.EACCES:
            return (
                f"this user may not listen on port {port} of {host}: choose a port of 1024 or above"
            )
        case errno.EADDRNOTAVAIL:
            return f"this machine does not have the address {host}: bind to another"
        case _:
            return f"listening on port {port} of {host} failed: {error.strerror}"


class CertificateError(Exception):
    """The certificate is unusable; the message gives the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The PEM files of a certificate chain and of its private key."""

    chain: str
    key: str


def check_certificate(certificate: Certificate) -> None:
    """Raise `CertificateError` unless both files are readable and belong together."""
    for file in (certificate.chain, certificate.key):
        _check_readable(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Loading the chain alone first separates its errors from those of the key.
        context.load_verify_locations(certificate.chain)
    except ssl.SSLError as error:
        raise CertificateError(
            f"{certificate.chain} is not a PEM certificate: use a file with the "
            "certificate and its chain, which begins with -----BEGIN CERTIFICATE-----"
        ) from error
    try:
        context.load_cert_chain(certificate.chain, certificate.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            fault = f"is not the key of the certificate {certificate.chain}"
        elif isinstance(error, ValueError):
            fault = "is encrypted with a password"
        else:
            fault = "is not a PEM private key"
        raise CertificateError(
            f"{certificate.key} {fault}: use the certificate's own PEM key, without a password"
        ) from error


def _check_readable(file: str) -> None:
    try:
        with open(file, "rb"):
            return
    except OSError as error:
        raise CertificateError(
            f"{file} can't be read ({error.strerror}): use a file that exists and that "
            "this user may read"
        ) from error


def _no_password() -> bytes:
    # Without this callback OpenSSL would prompt on the terminal.
    raise ValueError("the key has a password")

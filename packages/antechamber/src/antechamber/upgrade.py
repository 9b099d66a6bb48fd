"""Check and accept WebSocket handshakes, and expose the connection as a stream."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import trio

from antechamber.asgi import ServeUpgraded
from antechamber.head import Head
from antechamber.limits import READ_SIZE, WRITE_SIZE
from antechamber.rejection import ClientGone, RequestRejected, malformed
from antechamber.response import FixedHeaders

if TYPE_CHECKING:
    from antechamber.connection import HttpConnection

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""Proves that the server understood the handshake (RFC 6455 section 1.3)."""


def check_handshake(head: Head) -> None:
    """Reject a WebSocket request that violates RFC 6455 section 4.2.1.

    Raises `RequestRejected`: 426 for a version other than 13, 400 for the key.
    """
    versions = [value for name, value in head.headers if name == b"sec-websocket-version"]
    if versions != [b"13"]:
        raise RequestRejected(
            "websocket_version",
            "The supported WebSocket version is 13: send sec-websocket-version: 13.",
            headers=((b"sec-websocket-version", b"13"), (b"upgrade", b"websocket")),
        )
    keys = [value for name, value in head.headers if name == b"sec-websocket-key"]
    if len(keys) != 1 or not _is_nonce(keys[0]):
        raise malformed("The header sec-websocket-key must be 16 random bytes in base64.")


def _is_nonce(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False


def handshake_response(
    head: Head, subprotocol: str | None, headers: Sequence[tuple[bytes, bytes]]
) -> bytes:
    """Return the response that accepts a checked handshake (RFC 6455 section 4.2.2).

    Args:
        head: that of the request.
        subprotocol: one of those that it offers, or None.
        headers: more of the response; names in lower case.

    Raises `InvalidResponse` for an invalid header.
    """
    [key] = [value for name, value in head.headers if name == b"sec-websocket-key"]
    accepted = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    lines = [
        b"HTTP/1.1 101 Switching Protocols",
        b"upgrade: websocket",
        b"connection: upgrade",
        b"sec-websocket-accept: " + accepted,
    ]
    if subprotocol is not None:
        lines.append(b"sec-websocket-protocol: " + subprotocol.encode("latin-1"))
    more = FixedHeaders(headers)
    return b"\r\n".join(lines) + b"\r\n" + more.lines + b"\r\n"


def handshake_request(head: Head) -> bytes:
    """Return the head of a checked handshake as bytes, for whoever accepts it by itself."""
    target = head.raw_path + (b"?" + head.query if head.query else b"")
    lines = [b"GET %b HTTP/1.1" % target, *(b"%b: %b" % header for header in head.headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


class Upgrade(NamedTuple):
    """What follows a handshake.

    Attributes:
        response: accepts it; empty if ``serve`` does.
        serve: serves the connection.
        request_id: that of the request.
        request: what ``serve`` receives before the first frame.
    """

    response: bytes
    serve: ServeUpgraded
    request_id: str
    request: bytes = b""


class UpgradedStream(trio.abc.HalfCloseableStream):
    """The rest of a connection as a stream, which begins with ``received``.

    Reads have no deadline. A send that exceeds its deadline closes the connection and cancels the
    waiting task.
    """

    __slots__ = ("_closed", "_connection", "_received", "_send_now")

    def __init__(
        self, connection: "HttpConnection", send_now: Callable[[bytes], int], received: bytes
    ) -> None:
        self._connection = connection
        self._send_now = send_now
        self._received = received
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Wait for at most ``max_bytes`` bytes; return ``b""`` at the end of input."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._check_open()
        size = READ_SIZE if max_bytes is None else max_bytes
        if not self._received:
            self._received = await self._connection.receive()
        else:
            await trio.lowlevel.cancel_shielded_checkpoint()
        data, self._received = self._received[:size], self._received[size:]
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send all of ``data``. Raises `trio.BrokenResourceError` when the client is gone.

        After an exception or a cancellation any part may have been sent.
        """
        await trio.lowlevel.checkpoint()
        self._check_open()
        whole = bytes(data)
        try:
            for at in range(0, len(whole), WRITE_SIZE):
                await self._connection.send(whole[at : at + WRITE_SIZE])
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    def send_now(self, data: bytes) -> int:
        """Send what the socket accepts without blocking; return the number of bytes.

        Used to send one message to many clients. Raises `trio.BrokenResourceError` when the client
        is gone.
        """
        if self._closed:
            raise trio.ClosedResourceError
        try:
            return self._send_now(data)
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Shut down the sending side. Raises `trio.BrokenResourceError` when the client is gone."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        try:
            await self._connection.send_end()
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`.

        Messages of a client share the rounds of the event loop with its requests
        (`antechamber.network_turns`).
        """
        return self._connection.may_begin()

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""
        await self._connection.begin()

    async def wait_send_all_might_not_block(self) -> None:
        """Return immediately: `send_all` waits by itself."""
        await trio.lowlevel.checkpoint()
        self._check_open()

    async def aclose(self) -> None:
        """Do nothing: the connection closes when whoever serves it returns."""
        self._closed = True
        await trio.lowlevel.checkpoint()

    def _check_open(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError

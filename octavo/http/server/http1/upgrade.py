"""Check WebSocket handshakes, and expose the connection as a stream."""

import base64
import binascii

import trio

from octavo.http.server.connection_port import StreamPort
from octavo.http.server.http1.head import Head
from octavo.http.server.limits import READ_SIZE, WRITE_SIZE
from octavo.http.server.rejection import ClientGone, RequestRejected, malformed


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


class UpgradedStream(trio.abc.HalfCloseableStream):
    """The rest of a connection as a stream, which begins with ``replayed``.

    Reads have no deadline. A send that exceeds its deadline closes the connection and cancels the
    waiting task.
    """

    def __init__(self, line: StreamPort, replayed: bytes) -> None:
        self._line = line
        self._replayed = replayed
        self._closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Wait for at most ``max_bytes`` bytes; return ``b""`` at the end of input."""
        await trio.lowlevel.checkpoint_if_cancelled()
        self._check_open()
        size = READ_SIZE if max_bytes is None else max_bytes
        if not self._replayed:
            self._replayed = await self._line.receive()
        else:
            await trio.lowlevel.cancel_shielded_checkpoint()
        data, self._replayed = self._replayed[:size], self._replayed[size:]
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
                await self._line.send(whole[at : at + WRITE_SIZE])
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    def send_now(self, data: bytes) -> int:
        """Send what the socket accepts without blocking; return the number of bytes.

        Used to send one message to many clients. Raises `trio.BrokenResourceError` when the client
        is gone.
        """
        self._check_open()
        try:
            return self._line.send_now(data)
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    async def send_eof(self) -> None:
        """Shut down the sending side. Raises `trio.BrokenResourceError` when the client is gone."""
        await trio.lowlevel.checkpoint()
        self._check_open()
        try:
            await self._line.send_end()
        except ClientGone as error:
            raise trio.BrokenResourceError from error

    def may_begin(self) -> bool:
        """Count a message of the client; return False when it has to wait for `begin`.

        Messages of a client share the rounds of the event loop with its requests
        (`octavo.http.server.network_turns`).
        """
        return self._line.may_begin()

    async def begin(self) -> None:
        """Wait until the client may begin a message. Cancellation counts nothing."""
        await self._line.begin()

    async def wait_send_all_might_not_block(self) -> None:
        """Return immediately: `send_all` waits by itself."""
        await trio.lowlevel.checkpoint()
        self._check_open()

    async def aclose(self) -> None:
        """Do nothing: the connection closes when the application returns."""
        self._closed = True
        await trio.lowlevel.checkpoint()

    def _check_open(self) -> None:
        if self._closed:
            raise trio.ClosedResourceError

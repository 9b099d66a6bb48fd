"""Read and write the socket of a connection, plain or TLS, without needless task switches.

trio's streams pass through the scheduler on every call, even when data is available. The plain
transport uses the file descriptor directly and waits only when it must.
"""

import os
from typing import Protocol

import trio

from antechamber.limits import READ_SIZE
from antechamber.rejection import ClientGone

#: Consecutive reads or writes of one connection before other tasks run.
MAX_EAGER = 8
# Maximum number of waits without a preceding read attempt.
_MAX_RESTS = 31
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)


class Transport(Protocol):
    """The reading and writing side of a connection.

    ``descriptor`` is the socket's file descriptor, for polling only; ``eager`` counts the reads and
    writes since the last pass through the scheduler. The owner of the stream closes it.
    """

    descriptor: int
    eager: int

    def receive_now(self) -> bytes:
        """Return the bytes available without blocking; ``b""`` if there are none."""

    async def receive(self) -> bytes:
        """Wait for bytes; return ``b""`` at the end of input.

        A broken connection counts as the end of input. Cancellation loses no bytes.
        """

    async def receive_later(self) -> bytes:
        """Receive as `receive` does, when data is unlikely to be available yet."""

    def send_now(self, data: bytes) -> int:
        """Send what the socket accepts without blocking; return the number of bytes.

        Raises `ClientGone`.
        """

    async def send(self, data: memoryview) -> None:
        """Send all of ``data``.

        Raises `ClientGone`. After an exception or a cancellation any part may have been sent.
        """

    async def send_end(self) -> None:
        """Shut down the sending side and keep the receiving side open.

        Raises `ClientGone`.
        """

    async def linger(self, *, expecting: bool) -> None:
        """Shut down the sending side, then wait until the peer closes.

        Input is discarded: closing a socket with unread bytes resets the connection, which may
        discard the response at the client. ``expecting`` is whether more of a request is expected.
        The caller sets the deadline.
        """


def plain_transport(stream: trio.SocketStream) -> Transport:
    """Return a transport over the socket of ``stream``, which keeps its ownership."""
    return _PlainTransport(stream)


def tls_transport(stream: "trio.SSLStream[trio.SocketStream]") -> Transport:
    """Return a transport over ``stream``, whose handshake is complete."""
    return _TlsTransport(stream)


class _PlainTransport:
    __slots__ = ("_misses", "_rests", "_socket", "descriptor", "eager")

    def __init__(self, stream: trio.SocketStream) -> None:
        self._misses = self._rests = 0
        self._socket = stream.socket
        self.descriptor = stream.socket.fileno()
        self.eager = 0

    def receive_now(self) -> bytes:
        try:
            return os.read(self.descriptor, READ_SIZE)
        except OSError:
            return b""

    async def receive(self) -> bytes:
        descriptor = self.descriptor
        if self.eager >= MAX_EAGER:
            self.eager = 0
            await trio.lowlevel.checkpoint()
        while True:
            try:
                data = os.read(descriptor, READ_SIZE)
            except BlockingIOError:
                self.eager = 0
                await trio.lowlevel.wait_readable(descriptor)
            except OSError:
                return b""
            else:
                # A full read: the client sends without pause.
                self.eager += MAX_EAGER if len(data) == READ_SIZE else 1
                return data

    async def receive_later(self) -> bytes:
        self.eager = 0
        if self._rests:
            self._rests -= 1
        else:
            # A busy client has often sent its next request by the time the others ran, and an
            # attempt to read saves the two system calls of a wait. After misses, attempts become
            # rarer.
            await trio.lowlevel.checkpoint()
            try:
                data = os.read(self.descriptor, READ_SIZE)
            except BlockingIOError:
                self._misses = self._rests = min(2 * self._misses + 1, _MAX_RESTS)
            except OSError:
                return b""
            else:
                self._misses = 0
                return data
        await trio.lowlevel.wait_readable(self.descriptor)
        try:
            return os.read(self.descriptor, READ_SIZE)
        except BlockingIOError:
            # Another descriptor of the same socket has read it, or the kernel was wrong.
            return await self.receive()
        except OSError:
            return b""

    def send_now(self, data: bytes) -> int:
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ClientGone from None

    async def send(self, data: memoryview) -> None:
        self.eager = 0
        while data:
            await trio.lowlevel.wait_writable(self.descriptor)
            try:
                data = data[os.write(self.descriptor, data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ClientGone from None

    async def send_end(self) -> None:
        try:
            self._socket.shutdown(trio.socket.SHUT_WR)
        except OSError:
            raise ClientGone from None

    async def linger(self, *, expecting: bool) -> None:
        try:
            self._socket.shutdown(trio.socket.SHUT_WR)
        except OSError:
            return
        while await self.receive():
            continue


class _TlsTransport:
    __slots__ = ("_stream", "descriptor", "eager")

    def __init__(self, stream: "trio.SSLStream[trio.SocketStream]") -> None:
        self._stream = stream
        self.descriptor = stream.transport_stream.socket.fileno()
        self.eager = 0

    def receive_now(self) -> bytes:
        return b""

    async def receive(self) -> bytes:
        self.eager = 0
        try:
            return bytes(await self._stream.receive_some(READ_SIZE))
        except _GONE:
            return b""

    async def receive_later(self) -> bytes:
        return await self.receive()

    def send_now(self, data: bytes) -> int:
        return 0

    async def send(self, data: memoryview) -> None:
        self.eager = 0
        try:
            await self._stream.send_all(data)
        except _GONE:
            raise ClientGone from None

    async def send_end(self) -> None:
        # The caller has signalled the end in a protocol above TLS.
        try:
            await self._stream.transport_stream.send_eof()
        except _GONE:
            raise ClientGone from None

    async def linger(self, *, expecting: bool) -> None:
        try:
            if expecting:
                # A TLS close ends both directions: clients that are still sending report an error
                # and do not read their response.
                while await self._stream.receive_some(READ_SIZE):
                    continue
            else:
                await self._stream.unwrap()
        except _GONE:
            return

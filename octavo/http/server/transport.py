"""The socket of a connection, plain or under TLS, without a task switch where none is needed.

trio's own streams pass through the scheduler with every call, also when the data is there. The
plain transport reads and writes the file descriptor at once and waits only when it must.
"""

import os
from typing import Protocol

import trio

from octavo.http.server.limits import READ_SIZE
from octavo.http.server.rejection import ClientGone

#: So many times in a row a connection may send without giving others a turn.
PATIENCE = 8
# So many times at most a connection is not looked at before it is waited for.
_MOST_RESTS = 31
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError)


class Transport(Protocol):
    """What a connection reads from and writes to.

    ``descriptor`` is that of the socket, for polling alone; ``eager`` counts what was received
    or sent since a call last passed through the scheduler: other tasks have waited so long.
    Closing is up to the owner of the stream.
    """

    descriptor: int
    eager: int

    def receive_now(self) -> bytes:
        """Return what has arrived, without waiting; ``b""`` when that is nothing."""

    async def receive(self) -> bytes:
        """Wait for bytes; ``b""`` means that the peer sends no more.

        A broken connection reads like one that ended. Cancelling loses nothing.
        """

    async def receive_later(self) -> bytes:
        """Do as `receive` does, where nothing is likely to have arrived yet."""

    def send_now(self, data: bytes) -> int:
        """Send what can be sent without waiting, and answer how many bytes that was.

        Raises `ClientGone`.
        """

    async def send(self, data: memoryview) -> None:
        """Send all of ``data``.

        Raises `ClientGone`. When that or a cancellation ends it, any part may have been sent.
        """

    async def send_end(self) -> None:
        """Tell the peer that no more comes, while what it sends is still read.

        Raises `ClientGone`.
        """

    async def linger(self, *, expecting: bool) -> None:
        """Tell the peer that no more comes, then wait for its own end.

        What still arrives is dropped: to close while bytes are on their way resets the
        connection, and a reset takes the answer from the client. ``expecting`` says that more of
        a request is on its way. How long is up to the caller.
        """


def plain_transport(stream: trio.SocketStream) -> Transport:
    """Return the transport over the socket of ``stream``, which goes on owning it."""
    return _Plain(stream)


def tls_transport(stream: "trio.SSLStream[trio.SocketStream]") -> Transport:
    """Return the transport over ``stream``, whose handshake is done."""
    return _Tls(stream)


class _Plain:
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
        if self.eager >= PATIENCE:
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
                # As much as that at once: the client sends without pause.
                self.eager += PATIENCE if len(data) == READ_SIZE else 1
                return data

    async def receive_later(self) -> bytes:
        self.eager = 0
        if self._rests:
            self._rests -= 1
        else:
            # A busy client has asked again when the others have had their turn, and looking
            # spares the two system calls of a wait. One that hasn't is looked at more rarely.
            await trio.lowlevel.checkpoint()
            try:
                data = os.read(self.descriptor, READ_SIZE)
            except BlockingIOError:
                self._misses = self._rests = min(2 * self._misses + 1, _MOST_RESTS)
            except OSError:
                return b""
            else:
                self._misses = 0
                return data
        await trio.lowlevel.wait_readable(self.descriptor)
        return await self.receive()

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


class _Tls:
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
        # Whoever asks for this has told the end in a protocol of its own.
        try:
            await self._stream.transport_stream.send_eof()
        except _GONE:
            raise ClientGone from None

    async def linger(self, *, expecting: bool) -> None:
        try:
            if expecting:
                # The end of TLS ends both ways: clients that send take it for a failure, and
                # don't look at their answer.
                while await self._stream.receive_some(READ_SIZE):
                    continue
            else:
                await self._stream.unwrap()
        except _GONE:
            return

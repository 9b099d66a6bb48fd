"""A stand-in for PgBouncer in session mode with ``ignore_startup_parameters``."""

import contextlib
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import trio

# PgBouncer gives these to the server, and drops others.
KEPT = frozenset({b"user", b"database", b"client_encoding", b"application_name", b"timezone"})
PORT = 5432
_PIECE = 65_536


class Pooler:
    """Copies the bytes of sessions, and drops parameters at their start.

    Args:
        url: of the server, on a Unix socket.
        address: of the pooler.

    Attributes:
        dropped: the names of the parameters that clients sent in vain.
        replaced: bytes of the clients, and others of the same length that the server gets instead.
    """

    def __init__(self, url: str, folder: str) -> None:
        parts = urlsplit(url)
        [place] = parse_qs(parts.query)["host"]
        self._server = f"{place}/.s.PGSQL.{PORT}"
        self.url = f"postgresql://postgres@{parts.path}?host={folder}&port={PORT}"
        self.path = f"{folder}/.s.PGSQL.{PORT}"
        self.dropped: set[bytes] = set()
        self.replaced: tuple[bytes, bytes] = (b"", b"")

    async def serve(self, client: trio.SocketStream) -> None:
        async with client, await trio.open_unix_socket(self._server) as server:
            head = b""
            while len(head) < 4 or len(head) < struct.unpack_from("!I", head)[0]:
                received = await client.receive_some(_PIECE)
                if not received:
                    return
                head += bytes(received)
            await server.send_all(self._startup(head))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._copy, client, server, nursery.cancel_scope)
                nursery.start_soon(self._copy, server, client, nursery.cancel_scope)

    def _startup(self, head: bytes) -> bytes:
        """The first message of a client without what is dropped; a cancellation as it is."""
        if head[4:8] != struct.pack("!I", 3 << 16):
            return head
        names_and_values = head[8:].split(b"\0")
        kept = b""
        for name, value in zip(names_and_values[::2], names_and_values[1::2], strict=False):
            if name.lower() in KEPT:
                kept += name + b"\0" + value + b"\0"
            elif name:
                self.dropped.add(name)
        body = head[4:8] + kept + b"\0"
        return struct.pack("!I", len(body) + 4) + body

    async def _copy(
        self, source: trio.SocketStream, target: trio.SocketStream, ended: trio.CancelScope
    ) -> None:
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for received in source:
                await target.send_all(bytes(received).replace(*self.replaced))
        ended.cancel()


@asynccontextmanager
async def pooler_before(url: str) -> AsyncIterator[Pooler]:
    """Run a pooler before the server at ``url`` for the block."""
    # A socket's path is short: at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="octavo-pool-") as folder:
        pooler = Pooler(url, folder)
        with trio.socket.socket(trio.socket.AF_UNIX) as socket:
            await socket.bind(pooler.path)
            socket.listen()
            listener = trio.SocketListener(socket)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.serve_listeners, pooler.serve, [listener])
                try:
                    yield pooler
                finally:
                    nursery.cancel_scope.cancel()

"""A WebSocket to the server whose TCP connection is always closed.

The connections that trio-websocket opens itself are left to the garbage collector when the server
refuses the handshake, or closes first.
"""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import trio
from trio_websocket import HandshakeError, WebSocketConnection, wrap_client_stream

OPENING, CLOSING = 20.0, 5.0
"""Seconds for the opening and for the closing handshake."""


@asynccontextmanager
async def websocket(
    url: httpx.URL, subprotocol: str, headers: dict[str, str], tls: ssl.SSLContext
) -> AsyncIterator[WebSocketConnection]:
    """Open a WebSocket at an ``http`` or ``https`` URL for the duration of the block.

    Raises `HandshakeError`, including `ConnectionRejected`, or OSError if that fails. An exception
    of the block propagates without an exception group.
    """
    stream = await _connected(url, tls)
    try:
        async with trio.open_nursery() as nursery:
            with trio.fail_after(OPENING):
                socket = await wrap_client_stream(
                    nursery,
                    stream,
                    url.netloc.decode(),
                    url.raw_path.decode(),
                    subprotocols=[subprotocol],
                    extra_headers=[(k.encode(), v.encode()) for k, v in headers.items()],
                )
            yield socket
            with trio.move_on_after(CLOSING):
                await socket.aclose()
            nursery.cancel_scope.cancel(reason="the stream was left")
    except trio.TooSlowError:
        raise HandshakeError from None
    except BaseExceptionGroup as group:
        [*causes] = _causes(group)
        if len(causes) != 1:
            raise
        raise causes[0] from None
    finally:
        await trio.aclose_forcefully(stream)


async def _connected(
    url: httpx.URL, tls: ssl.SSLContext
) -> "trio.SocketStream | trio.SSLStream[trio.SocketStream]":
    secure = url.scheme == "https"
    with trio.move_on_after(OPENING):
        tcp = await trio.open_tcp_stream(url.host, url.port or (443 if secure else 80))
        if not secure:
            return tcp
        return trio.SSLStream(tcp, tls, server_hostname=url.host, https_compatible=True)
    raise HandshakeError


def _causes(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield the exceptions of a group, except cancellations."""
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _causes(each)
        elif not isinstance(each, trio.Cancelled):
            yield each

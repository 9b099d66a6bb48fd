"""A WebSocket to the server, whose TCP connection is closed whatever becomes of it.

trio-websocket opens connections itself, too, but leaves them to the garbage collector when the
server refuses the handshake, or closes first.
"""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import trio
from trio_websocket import HandshakeError, WebSocketConnection, wrap_client_stream

OPENING, CLOSING = 20.0, 5.0
"""Seconds for the handshake, and for the farewell."""


@asynccontextmanager
async def websocket(
    url: httpx.URL, subprotocol: str, headers: dict[str, str], tls: ssl.SSLContext
) -> AsyncIterator[WebSocketConnection]:
    """Open a WebSocket at ``url``, of ``http`` or ``https``, until the block ends.

    Raises `HandshakeError`, `ConnectionRejected` among it, or OSError, when it can't be had. What
    the block raises comes out alone.
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
            nursery.cancel_scope.cancel(reason="the stream is left")
    except trio.TooSlowError:
        raise HandshakeError from None
    except BaseExceptionGroup as group:
        [*told] = _alone(group)
        if len(told) != 1:
            raise
        raise told[0] from None
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


def _alone(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Give what was raised, without what was cancelled because of it."""
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _alone(each)
        elif not isinstance(each, trio.Cancelled):
            yield each

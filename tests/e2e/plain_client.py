"""A hand-written HTTP client, for heavy load and for servers that die."""

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import trio

from tests.e2e.served_contract import check_head
from tests.e2e.server import PATIENCE


class ConnectionLost(Exception):
    """The connection ended before the response was complete."""


class Response(NamedTuple):
    """A response of a server; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)


class PlainClient:
    """One connection, opened with the first request; responses have a ``content-length``.

    Args:
        port: of a server on this machine.
        headers: sent with every request.
    """

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port = port
        self._headers = {"host": "notes.example.org", **headers}
        self._stream: trio.SocketStream | None = None
        self._received = b""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)

    async def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a request, with ``body`` as JSON unless it is None.

        Raises `ConnectionLost`, and `Undocumented` for a response that the contract does not have.
        """
        lines = {**self._headers, **(headers or {})}
        content = b""
        if body is not None:
            content = json.dumps(body).encode()
            lines |= {"content-type": "application/json", "content-length": str(len(content))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        with trio.fail_after(PATIENCE):
            try:
                if self._stream is None:
                    self._stream = await trio.open_tcp_stream("127.0.0.1", self._port)
                request = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode()
                await self._stream.send_all(request + content)
                response = await self._read_response(self._stream)
            except (OSError, trio.BrokenResourceError) as error:
                raise ConnectionLost from error
        check_head(method, path.partition("?")[0], response.status, list(response.headers.items()))
        return response

    async def _read_response(self, stream: trio.SocketStream) -> Response:
        while b"\r\n\r\n" not in self._received:
            await self._receive(stream)
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        pairs = (line.split(": ", 1) for line in rest)
        headers = {name.lower(): value for name, value in pairs}
        length = int(headers["content-length"])
        while len(self._received) < length:
            await self._receive(stream)
        body, self._received = self._received[:length], self._received[length:]
        return Response(int(first.split(" ", 2)[1]), headers, body)

    async def _receive(self, stream: trio.SocketStream) -> None:
        data = await stream.receive_some()
        if not data:
            raise ConnectionLost
        self._received += data

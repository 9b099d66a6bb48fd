"""Calls of API operations by other operations and by pages, in the same process.

The caller is a client of the API: what it reads and changes passes through the same operations,
with their checks of input, rights, origin and rates, as the requests of any other client.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import trio
from antechamber.asgi import Event, Receive, Scope
from octavo_rules.problems import Header
from octavo_rules.schema_base import ListPage
from pydantic_core import to_json

from octavo.http.contract.call import Principal, Reply
from octavo.http.contract.slices import encoded_in_slices

_PIECE = 256 * 1024

M = TypeVar("M")
T = TypeVar("T")

Perform = Callable[[Scope, Receive, str], Awaitable[object]]
"""Performs the operation that a scope requests, as `Application.perform` does."""
PerformAs = Callable[[Scope, Receive, str, Principal], Awaitable[object]]
"""Performs an operation for a caller that was authenticated already."""

OF_PAGE = "octavo.page"
"""The member of the scope of a call that a page makes; no request from outside has it."""

_FORWARDED = frozenset({b"cookie", b"user-agent", b"origin"})


class Performed(NamedTuple):
    """The result of an operation that sets headers, such as a cookie."""

    result: object
    headers: tuple[Header, ...]


class Api:
    """The operations of the API, called on behalf of the sender of another request.

    Every call raises the `Problem` of a refusal.

    Args:
        perform: performs an operation.
        scope: of the other request; its cookie, origin and client are those of the calls.
        request_id: of the other request.
        of_page: whether a page calls; operations may record that.
    """

    def __init__(
        self, perform: Perform, scope: Scope, request_id: str, *, of_page: bool = False
    ) -> None:
        self._perform = perform
        self._scope = {**scope, OF_PAGE: True} if of_page else scope
        self._request_id = request_id
        self._headers = [header for header in scope["headers"] if header[0] in _FORWARDED]

    async def get(self, kind: type[M], path: str, /, **query: str | None) -> M:
        """Return the response of a GET operation, of type ``kind``.

        Members of ``query`` that are None are left out.
        """
        parameters = {name: value for name, value in query.items() if value is not None}
        return typed(kind, (await self.call("GET", path, query=parameters)).result)

    async def find(
        self, kind: type[ListPage[T]], path: str, matches: Callable[[T], bool]
    ) -> T | None:
        """Return the first item of a list that matches, or None.

        Pages of the list, of type ``kind``, are read until it is found; one is held at a time.
        Raises the problems of the operation.
        """
        after: str | None = None
        while True:
            page = await self.get(kind, path, limit="500", after=after)
            for item in page.items:
                if matches(item):
                    return item
            if page.next is None:
                return None
            after = page.next

    async def send(
        self, kind: type[M], method: str, path: str, body: Mapping[str, object] | None = None
    ) -> M:
        """Perform an operation that changes something; return its response of type ``kind``.

        If cancelled, it may have been performed.
        """
        return typed(kind, (await self.call(method, path, body)).result)

    async def send_file(
        self,
        kind: type[M],
        path: str,
        file: BinaryIO,
        *,
        name: str,
        media_type: str,
        boundary: str,
    ) -> M:
        """Perform an operation whose body is a form with the field ``file``.

        ``name`` is the file name, without quotes, backslashes and control characters; ``boundary``
        does not occur in the file. If cancelled, it may have been performed.
        """
        start = (
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
            f"content-type: {media_type}\r\n\r\n"
        ).encode()
        end = f"\r\n--{boundary}--\r\n".encode()
        content_type = f"multipart/form-data; boundary={boundary}".encode()
        scope = self._scope_of("POST", path, None, [(b"content-type", content_type)])
        receive = _receiving_file(start, file, end)
        result = await self._perform(scope, receive, self._request_id)
        return typed(kind, result.body if isinstance(result, Reply) else result)

    async def send_chunks(
        self, kind: type[M], method: str, path: str, chunks: AsyncIterator[bytes]
    ) -> M:
        """Perform an operation whose body is bytes, which arrive while it is performed.

        What ``chunks`` raises propagates. If cancelled, it may have been performed.
        """
        scope = self._scope_of(method, path, None, [(b"content-type", b"application/octet-stream")])
        result = await self._perform(scope, _receiving_chunks(chunks), self._request_id)
        return typed(kind, result.body if isinstance(result, Reply) else result)

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Sequence[Header] = (),
    ) -> Performed:
        """Perform an operation; return its result and the headers that it sets.

        ``headers`` are sent in addition. If cancelled, it may have been performed.
        """
        content = b""
        if body is not None:
            content = await encoded_in_slices(body, to_json)
        sent = [*headers]
        if body is not None:
            sent.append((b"content-type", b"application/json"))
            sent.append((b"content-length", b"%d" % len(content)))
        scope = self._scope_of(method, path, query, sent)
        result = await self._perform(scope, _receiving(content), self._request_id)
        if isinstance(result, Reply):
            return Performed(result.body, tuple(result.headers))
        return Performed(result, ())

    def _scope_of(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Sequence[Header],
    ) -> Scope:
        return {
            **self._scope,
            "method": method,
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(query or {}).encode(),
            "headers": [*self._headers, *headers],
        }


def api_as(principal: Principal, perform: PerformAs, scope: Scope, request_id: str) -> Api:
    """Return the API for a caller that was authenticated already: no credential is sent again."""

    async def perform_as(scope: Scope, receive: Receive, request_id: str) -> object:
        return await perform(scope, receive, request_id, principal)

    return Api(perform_as, {**scope, "headers": []}, request_id)


def typed(kind: type[M], result: object) -> M:
    """Return ``result`` as a ``kind``. Raises TypeError if it is none, which is a bug."""
    if not isinstance(result, kind):
        raise TypeError(f"the operation returned {type(result).__name__}, not {kind.__name__}")
    return result


def _receiving(content: bytes) -> Receive:
    sent = False

    async def receive() -> Event:
        nonlocal sent
        if sent:
            await trio.sleep_forever()
        sent = True
        return {"type": "http.request", "body": content, "more_body": False}

    return receive


def _receiving_file(start: bytes, file: BinaryIO, end: bytes) -> Receive:
    def pieces() -> Iterator[bytes]:
        yield start
        while piece := file.read(_PIECE):
            yield piece
        yield end

    waiting = pieces()
    following: bytes | None = next(waiting)

    async def receive() -> Event:
        nonlocal following
        if following is None:
            await trio.sleep_forever()
            raise AssertionError("it never ends")
        body, following = following, next(waiting, None)
        return {"type": "http.request", "body": body, "more_body": following is not None}

    return receive


def _receiving_chunks(chunks: AsyncIterator[bytes]) -> Receive:
    async def receive() -> Event:
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": chunk, "more_body": True}

    return receive

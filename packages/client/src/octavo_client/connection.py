"""Send requests, with retries where these are safe: a change is applied at most once.

Reads, and changes with a mutation id, are idempotent: they are retried when the connection fails
and when the server responds with 503 or 429. Other changes are retried only if the previous attempt
certainly had no effect: no connection was established, or the response was 429.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, TypeVar
from uuid import UUID

import httpx
import trio
from octavo_rules.identity import MutationId
from pydantic import BaseModel, ValidationError

from octavo_client import errors
from octavo_client.content import ContentStream, RequestContent
from octavo_client.retrying import EntropySource, Failures, Retrying

M = TypeVar("M", bound=BaseModel)
Effect = Literal["none", "repeatable", "single"]
"""The effect of a request: none, the same if it is sent twice, or another one each time."""

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
TEMPORARY = frozenset((429, 503))
"""Statuses after which a request is sent again."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can be sent repeatedly.

    Attributes:
        path: the path below the URL of the server.
        body: the JSON body.
        mutation_id: the mutation id, which is also in the body.
        content: the body, if it is not JSON.
        temporary: the statuses after which it is sent again.
        attempts: the maximum number of times it is sent; None for that of the retry policy.
        patient: wait for the response without a time limit.
    """

    method: str
    path: str
    body: object = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    effect: Effect = "none"
    mutation_id: MutationId | None = None
    content: RequestContent | None = None
    temporary: frozenset[int] = TEMPORARY
    attempts: int | None = None
    patient: bool = False


def parse_response(kind: type[M], body: bytes | str) -> M:
    """Parse the JSON ``body`` as a ``kind``. Raises `UnexpectedResponse` if it does not match.

    Unknown members are ignored, so that newer servers may add some. Times have the zone UTC.
    """
    try:
        return kind.model_validate_json(body, extra="ignore", by_alias=True, by_name=False)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False)
        place = "/".join(map(str, first["loc"]))
        raise errors.UnexpectedResponse(
            f"not a {kind.__name__}: {first['msg']} at /{place}"
        ) from None


class StreamedBody:
    """The body of a response, as it arrives.

    Attributes:
        status: the status of the response.
        headers: its headers.
    """

    def __init__(self, response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes. Raises `ConnectionFailed` if the rest is missing."""
        return await anext(self._chunks)


class ApiConnection:
    """Sends requests to one server with the credential of one caller.

    Args:
        http: the HTTP client; its owner closes it.
        retrying: the retry policy.
        entropy: the source of randomness for identifiers and jitter.
        on_retry: called before a request is sent again, with the failure.

    Attributes:
        credential: the headers that authenticate the caller.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        retrying: Retrying,
        entropy: EntropySource,
        on_retry: Callable[[errors.ClientError], object],
    ) -> None:
        self.retrying = retrying
        self.entropy = entropy
        self._on_retry = on_retry
        self.credential: dict[str, str] = {}
        self._http = http

    @property
    def url(self) -> httpx.URL:
        """The URL of the server."""
        return self._http.base_url

    def failures(self) -> Failures:
        """Return a count of failures, without any."""
        return Failures(self.retrying, self.entropy, self._on_retry)

    def new_id(self) -> str:
        """Return a random UUID (RFC 9562 section 5.4)."""
        return str(UUID(int=self.entropy.getrandbits(128), version=4))

    def new_mutation(self) -> MutationId:
        """Return a new mutation id."""
        return MutationId(self.new_id())

    async def ask(self, kind: type[M], request: Request) -> M:
        """Send ``request``, and return the response as a ``kind``.

        Raises `ClientError`, whose ``outcome_unknown`` says whether a change may have happened. If
        cancelled, it may have happened as well.
        """
        try:
            return self.read(kind, await self.send(request), request)
        except errors.ClientError as error:
            error.mutation_id = request.mutation_id
            raise

    def read(self, kind: type[M], response: httpx.Response, request: Request) -> M:
        """Parse the response to ``request``. Raises `UnexpectedResponse`."""
        try:
            return parse_response(kind, response.content)
        except errors.UnexpectedResponse as error:
            error.outcome_unknown = request.effect != "none"
            raise

    async def send(self, request: Request) -> httpx.Response:
        """Return the successful response to ``request``.

        Raises the same errors as `ask`, and is cancelled like it.
        """
        failures = self.failures()
        in_doubt = False
        while True:
            try:
                response = await self._exchange(request)
            except httpx.RequestError as error:
                sent = not isinstance(error, _NOT_SENT)
                in_doubt |= sent and request.effect != "none"
                failure = failures.add(_failed(error, in_doubt))
                if not self._again(request, failures, safe=not sent):
                    raise failure from error
            else:
                if response.is_success:
                    return response
                in_doubt |= response.status_code >= 500 and request.effect != "none"
                problem = _problem(response, response.content, in_doubt=in_doubt)
                failure = failures.add(problem)
                if not self._passing(request, problem):
                    raise problem
                if not self._again(request, failures, safe=problem.status == 429):
                    raise problem
            await failures.wait(failure)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedBody]:
        """Provide the body of the response as it arrives.

        The request is retried until the response starts. The iterator raises `ConnectionFailed` if
        the body is incomplete. Leaving the block closes the connection.
        """
        failures = self.failures()
        while True:
            try:
                response = await self._http.send(self._made(request), stream=True)
            except httpx.RequestError as error:
                failure = failures.add(_failed(error, in_doubt=False))
                if not self._again(request, failures, safe=True):
                    raise failure from error
                await failures.wait(failure)
                continue
            content = response.aiter_bytes()
            try:
                if response.is_success:
                    async with aclosing(_chunks(content)) as chunks:
                        yield StreamedBody(response, chunks)
                    return
                problem = _problem(response, await _whole(content), in_doubt=False)
            finally:
                with trio.move_on_after(1, shield=True):
                    await response.aclose()
                    # Exhausts the generators within httpx, which can't be closed otherwise.
                    await _whole(content)
            failures.add(problem)
            if not self._passing(request, problem):
                raise problem
            if not self._again(request, failures, safe=True):
                raise problem
            await failures.wait(problem)

    def _passing(self, request: Request, problem: errors.ProblemError) -> bool:
        """Return whether the problem is temporary, and ends soon enough."""
        return problem.status in request.temporary and self.retrying.allows(problem.retry_after)

    def _again(self, request: Request, failures: Failures, *, safe: bool) -> bool:
        attempts = request.attempts or self.retrying.attempts
        return failures.number < attempts and (safe or request.effect != "single")

    async def _exchange(self, request: Request) -> httpx.Response:
        made = self._made(request)
        if request.content is None:
            return await self._http.send(made)
        async with request.content.open() as chunks:
            made.stream = ContentStream(chunks)
            return await self._http.send(made)

    def _made(self, request: Request) -> httpx.Request:
        headers = {**self.credential, **request.headers}
        if request.content is not None:
            headers["content-type"] = request.content.media_type
            size = request.content.size
            if size is None:
                headers["transfer-encoding"] = "chunked"
            else:
                headers["content-length"] = str(size)
        extensions = {}
        if request.patient:
            extensions["timeout"] = {**self._http.timeout.as_dict(), "read": None}
        made = self._http.build_request(
            request.method,
            request.path,
            params=dict(request.query),
            headers=headers,
            json=request.body,
            extensions=extensions,
        )
        made.stream = ContentStream(_Whole(made.content))
        return made


class _Whole:
    """Iterates over one chunk."""

    def __init__(self, content: bytes) -> None:
        self._rest = [content] if content else []

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._rest:
            raise StopAsyncIteration
        return self._rest.pop()


def _failed(error: httpx.RequestError, in_doubt: bool) -> errors.ConnectionFailed:
    reason: BaseException | None = error
    while reason is not None and not str(reason):
        reason = reason.__cause__ or reason.__context__
    detail = type(error).__name__ if reason is None else f"{type(error).__name__}: {reason}"
    return errors.ConnectionFailed(detail, outcome_unknown=in_doubt)


def _problem(response: httpx.Response, content: bytes, *, in_doubt: bool) -> errors.ProblemError:
    return errors.problem_error(response.status_code, response.headers, content, in_doubt=in_doubt)


async def _whole(content: AsyncIterator[bytes]) -> bytes:
    """Return the remaining body, up to an error."""
    body = bytearray()
    with suppress(httpx.RequestError, httpx.StreamError):
        async for data in content:
            body += data
    return bytes(body)


async def _chunks(content: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    try:
        async for data in content:
            yield data
    except httpx.RequestError as error:
        raise _failed(error, in_doubt=False) from error

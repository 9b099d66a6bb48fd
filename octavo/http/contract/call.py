"""A call of an operation, what authenticates and limits it, and what a handler returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from octavo_rules.problems import Header
from pydantic import BaseModel

from octavo.http.contract.memory_budget import COUNTED, Hold, MemoryBudget, reservation_of

if TYPE_CHECKING:
    from antechamber.asgi import Scope

    from octavo.http.contract.operation import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A model with additional headers, or with a status other than the declared one.

    ``headers`` have lower-case names that the operation declares; ``status`` None means the
    declared one. ``encoded`` is what `encoded_json` returned for ``body``, if it is known.
    """

    body: T
    headers: tuple[Header, ...] = ()
    status: int | None = None
    encoded: bytes | None = None


@dataclass(frozen=True, slots=True)
class EncodedJson(Generic[T]):
    """A large model that the handler has encoded piece by piece in a thread.

    Encoding it as a whole would block the event loop, and its objects take much more memory.
    """

    json: bytes


def encoded_json(body: BaseModel) -> bytes:
    """Return a model as the JSON of a response, to send it several times."""
    return body.__pydantic_serializer__.to_json(body, by_alias=True, warnings=False)


@dataclass(frozen=True, slots=True)
class NotModified:
    """A 304: the client's copy is current (RFC 9110 section 15.4.5).

    ``headers`` are those of the 200 that identify the version, such as ``etag``.
    """

    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """An HTML page, which is sent with the security headers of pages."""

    MEDIA_TYPE: ClassVar[str] = "text/html; charset=utf-8"

    html: bytes
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes sent as they are produced; ``length`` is their number, if known.

    ``media_type`` is one that the operation declares. When ``chunks`` raises, the connection is
    closed, since the response head was sent already. ``chunks`` is closed in any case, also when a
    HEAD does not need it; if iteration never began, none of its code runs.
    """

    chunks: AsyncIterator[bytes]
    media_type: str
    length: int | None = None
    headers: tuple[Header, ...] = ()
    status: int | None = None


class NoBytes:
    """The chunks of a `Stream` that responds to HEAD, and is not read."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


P = TypeVar("P", bound="Principal")


class Principal(Protocol):
    """The authenticated caller."""

    @property
    def name(self) -> str:
        """Its identifier for the log, never an address or a secret."""

    @property
    def locked(self) -> bool:
        """True when the account is locked, which restricts the operations that it may use."""

    @property
    def scopes(self) -> Collection[str] | None:
        """The scopes that its credential is limited to; None for one with full access."""

    @property
    def confined(self) -> bool:
        """True when its credential is limited to a part of what its scopes cover."""


class Authenticator(Protocol):
    """Authenticates the calls of one `Security`."""

    async def authenticate(self, call: Call) -> Principal:
        """Return the caller, from the headers, the method and the client of ``call``.

        Raises one of the problems that the security of an operation implies
        (`octavo.http.contract.declared_responses.derived_problems`). Cancellation changes nothing.
        """


class RateLimiter(Protocol):
    """Limits the rate of calls."""

    async def admit(self, rate_class: str, call: Call) -> None:
        """Count ``call`` in ``rate_class``; a cancelled call may be counted.

        Raises `RateLimited` with the seconds to wait.
        """


class Call:
    """What a handler knows of its call besides the declared parts of the request.

    Attributes:
        request_id: the id in the response and the log.
        operation: the declaration of the operation.
        scope: the ASGI scope, for anything else.
        principal: the caller; None under `Security.NONE`.
        remote_address: the client's address; None without one (a Unix socket).
        holder: the account whose memory it uses, or the client's address without one.
        body: the memory of the body; None if it is small.
        changed: whether a call of an operation that only ``reads`` has changed something.
        hold: the memory that is reserved, released when the response was sent; None if small.
        has_long_texts: whether some of it is for long texts, which are encoded in slices.
    """

    __slots__ = (
        "_memory",
        "body",
        "changed",
        "has_long_texts",
        "hold",
        "holder",
        "operation",
        "principal",
        "remote_address",
        "request_id",
        "scope",
    )

    def __init__(
        self,
        request_id: str,
        operation: Operation,
        scope: Scope,
        remote_address: str | None,
        memory: MemoryBudget,
    ) -> None:
        self._memory = memory
        self.request_id = request_id
        self.operation = operation
        self.scope = scope
        self.principal: Principal | None = None
        self.remote_address = self.holder = remote_address
        self.body: Hold | None = None
        self.hold: Hold | None = None
        self.changed = self.has_long_texts = False

    def authenticated_as(self, principal: Principal) -> None:
        """Set the caller."""
        self.principal = principal
        self.holder = principal.name

    async def expect(self, size: int) -> None:
        """Reserve ``size`` bytes in all for a response that may be as large as others were.

        Waits for room for a moment, unless memory is reserved already: requests that hold some
        could wait for each other. Raises `ServerBusy` without room. When cancelled, nothing is
        reserved.
        """
        if self.hold is not None or self._own():
            self._take(size)
        elif size >= COUNTED:
            self.hold = await self._memory.wait_briefly(self.holder, size)

    async def reserve(self, size: int) -> None:
        """Reserve ``size`` bytes in all for long texts, before they are read.

        A small size is not counted. Hold nothing that others wait for. Waits like `expect`, raises
        the same errors, and is cancelled like it.
        """
        self.has_long_texts |= size >= COUNTED
        await self.expect(size)

    def take(self, size: int) -> None:
        """Reserve ``size`` bytes in all without waiting, as for texts that were read just now.

        Raises `ServerBusy` without room: the texts would use memory while they wait.
        """
        self.has_long_texts |= size >= COUNTED
        self._take(size)

    def _take(self, size: int) -> None:
        if self.hold is not None:
            self.hold.grow(max(self.hold.size, size), own=self._own())
        elif size >= COUNTED:
            self.hold = self._memory.hold(self.holder, size, own=self._own())

    def _own(self) -> int:
        """Return the bytes that the request has reserved already: for its body, and for a page."""
        outer = reservation_of(self.scope)
        body = 0 if self.body is None else self.body.size
        return body if outer is None else body + outer.size

    def keep(self, size: int) -> None:
        """Keep ``size`` bytes of what is reserved; a small size is not counted."""
        if self.hold is not None:
            self.hold.resize(size if size >= COUNTED else 0)

    @property
    def method(self) -> str:
        """The method of the request; HEAD is served by the handler of GET."""
        method: str = self.scope["method"]
        return method

    @property
    def headers(self) -> list[Header]:
        """The headers of the request, names in lower case."""
        headers: list[Header] = self.scope["headers"]
        return headers

    def header(self, name: bytes) -> bytes | None:
        """Return the first value of the header ``name`` (in lower case); None without one."""
        return next((value for header, value in self.headers if header == name), None)

    def principal_as(self, kind: type[P]) -> P:
        """Return the caller as the ``kind`` that this operation's authenticator returns.

        Raises TypeError when it is of another kind, which is a bug.
        """
        if not isinstance(self.principal, kind):
            raise TypeError(f"{self.operation.id} is called by {self.principal!r}, not by a {kind}")
        return self.principal


def remote_address_of(scope: Scope) -> str | None:
    """Return the client's address in ``scope``; None without one."""
    client = scope.get("client")
    return client[0] if client else None

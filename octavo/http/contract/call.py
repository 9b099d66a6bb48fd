"""One call of an operation, and the seams to those who judge it before its handler runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from octavo.http.contract.memory_budget import Hold
    from octavo.http.contract.operation import Operation
    from octavo.http.contract.problems import Header
    from octavo.http.server.asgi import Scope

P = TypeVar("P", bound="Principal")


class Principal(Protocol):
    """Who calls."""

    @property
    def name(self) -> str:
        """Who it is, as the log tells it: an identifier, never an address or a secret."""

    @property
    def locked(self) -> bool:
        """True when the account may use what a locked account keeps, and nothing else."""


class Authenticator(Protocol):
    """Finds out who calls the operations of one `Security`."""

    async def authenticate(self, call: Call) -> Principal:
        """Return who calls, judged by the headers, the method and the client of ``call``.

        Raises one of the problems that the security of an operation implies
        (`octavo.http.contract.declared_answers.derived_problems`). Cancelling changes nothing.
        """


class RateLimiter(Protocol):
    """Holds back who calls too often."""

    async def admit(self, rate_class: str, call: Call) -> None:
        """Count ``call`` in ``rate_class``. Cancelled, it may count.

        Raises `RateLimited`, which says in how many seconds to come back.
        """


class Call:
    """What a handler knows of its call beside the declared parts of the request.

    Attributes:
        request_id: the id that the answer and the log carry.
        operation: the declaration of what is called.
        scope: of ASGI, for what nothing else here gives.
        principal: who calls; None under `Security.NONE`.
        hold: the memory that its answer takes; None for little. Whoever sends the answer
            releases it.
    """

    __slots__ = ("hold", "operation", "principal", "request_id", "scope")

    def __init__(self, request_id: str, operation: Operation, scope: Scope) -> None:
        self.request_id = request_id
        self.operation = operation
        self.scope = scope
        self.principal: Principal | None = None
        self.hold: Hold | None = None

    @property
    def method(self) -> str:
        """The method of the request; HEAD where the handler is that of the GET."""
        method: str = self.scope["method"]
        return method

    @property
    def headers(self) -> list[Header]:
        """The headers of the request, names in lower case."""
        headers: list[Header] = self.scope["headers"]
        return headers

    @property
    def client(self) -> str | None:
        """The address that the request comes from; None when it has none (a Unix socket)."""
        return client_of(self.scope)

    def header(self, name: bytes) -> bytes | None:
        """Return the first value of the header ``name`` (in lower case); None without one."""
        return next((value for given, value in self.headers if given == name), None)

    def principal_as(self, kind: type[P]) -> P:
        """Return who calls, as the ``kind`` that the authenticator of this operation answers.

        Raises TypeError when it is another: the operation and its authenticator don't fit.
        """
        if not isinstance(self.principal, kind):
            raise TypeError(f"{self.operation.id} is called by {self.principal!r}, no {kind}")
        return self.principal


def client_of(scope: Scope) -> str | None:
    """Return the address of the client of ``scope``; None when it has none."""
    client = scope.get("client")
    return client[0] if client else None

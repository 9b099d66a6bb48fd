"""The declaration of an operation, attached to its handler and enforced by the pipeline.

Operations are async methods of a class that holds what they need::

    class NoteOperations:
        @operation(
            id="getNote",
            method="GET",
            path="/api/notes/{noteId}",
            tag="notes",
            summary="Read a note",
            problems=(NotFound,),
        )
        async def get_note(self, call: Call, path: NotePath) -> Note: ...

The handler's parameters ``path``, ``query`` and ``headers`` name the models of those parts of the
request, its return annotation the model of the success (`octavo.http.contract.signature`).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Concatenate, Literal, ParamSpec, TypeVar

from octavo_rules.problems import Problem
from pydantic import BaseModel

from octavo.http.contract.bodies.body import BodyKind
from octavo.http.contract.call import Call
from octavo.http.contract.error_format import ErrorFormat
from octavo.http.contract.prepared_response import PAGE_HEADERS, Headers

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[Concatenate[S, Call, P], Awaitable[R]]

_ATTRIBUTE = "__octavo_operations__"


class Security(Enum):
    """How an operation authenticates its callers."""

    NONE = "none"
    SESSION_OR_KEY = "session or key"
    OPERATOR = "operator"
    MCP = "mcp"


class Locked(Enum):
    """Whether accounts may call an operation that are locked, or must accept documents first."""

    REFUSED = "refused"
    ALLOWED = "allowed"
    CONDITIONAL = "conditional"
    """The handler refuses them unless a condition holds, which its description names."""


class ContractError(Exception):
    """A declaration contradicts its handler, another declaration, or itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """The declaration of an operation; as a decorator, it is attached to the handler.

    A handler declared twice serves two operations. Contradictions are detected when the contract is
    assembled (`octavo.http.contract.assembly`).

    Attributes:
        id: unique in the contract, in camelCase.
        method: of HTTP; every GET also serves HEAD.
        path: the template; ``{name}`` matches one segment, ``{nameId}`` a UUID.
        tag: the group in the document.
        summary: a few words for the document.
        description: Markdown for the document; may be empty.
        security: how callers authenticate; an operation for anybody says so.
        locked: whether accounts may call it that are locked, or must accept documents first.
        scope: the scope with which a limited credential may call it; None if it needs full access.
        confinable: a credential that is limited to a part of its scope may call it, too: the
            handler keeps to that part.
        status: the status of the success.
        other_statuses: statuses that a `Reply` or `Stream` may have instead.
        problems: those of the operation itself; `declared_responses` adds the implied ones.
        body: how the body is read; None without one.
        time: seconds that the handler may take; None for the server's default.
        renews_time: ``time``, which must be given, starts again with the bytes that the client
            sends or receives (`octavo.http.contract.renewed_time`).
        rate: class of the rate limit; None for none.
        finish_when_client_leaves: the handler runs to completion after a disconnect.
        headers: names (in lower case) and descriptions of optional headers of the success.
        media_types: the media types of a `Stream`.
        page_headers: the security headers of an `HtmlPage`.
        errors: the format of refusals; None for problem details.
        reads: an operation by POST changes nothing, as one by GET. When memory is short, its
            response may be refused; that of an operation that may have changed something is sent.
    """

    id: str
    method: Method
    path: str
    tag: str
    summary: str
    description: str = ""
    security: Security = Security.SESSION_OR_KEY
    locked: Locked = Locked.REFUSED
    scope: str | None = None
    confinable: bool = False
    status: int = 200
    other_statuses: tuple[int, ...] = ()
    problems: tuple[type[Problem], ...] = ()
    body: BodyKind[object] | None = None
    time: float | None = None
    renews_time: bool = False
    rate: str | None = None
    finish_when_client_leaves: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    media_types: tuple[str, ...] = ()
    page_headers: Headers = PAGE_HEADERS
    errors: ErrorFormat | None = None
    reads: bool = False

    def __call__(self, handler: Handler[S, P, R]) -> Handler[S, P, R]:
        """Attach the declaration to ``handler``, before those that it has."""
        setattr(handler, _ATTRIBUTE, (self, *declarations_of(handler)))
        return handler


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Declaration):
    """A declaration, completed by the signature of its handler.

    Attributes:
        handler: name of the method.
        path_model: of the path parameters; None without any.
        query_model: of the query; None without one.
        header_model: of the headers read; None without any.
        response_type: the type of the success for pydantic; None if it is not a document.
        empty: the handler may return None, for a success without content. With a ``response_type``
            it returns a `Reply` of None with one of ``other_statuses``.
        not_modified: the handler may return a 304.
        streams: the handler may return a `Stream`.
        page: the handler may return an `HtmlPage`.
    """

    handler: str
    path_model: type[BaseModel] | None
    query_model: type[BaseModel] | None
    header_model: type[BaseModel] | None
    response_type: object
    empty: bool
    not_modified: bool
    streams: bool
    page: bool

    @property
    def statuses(self) -> frozenset[int]:
        """Every success status of the operation."""
        not_modified = (304,) if self.not_modified else ()
        return frozenset((self.status, *self.other_statuses, *not_modified))


operation = Declaration
"""Declares an operation at its handler; it is called with the attributes of `Declaration`."""


def declarations_of(handler: object) -> tuple[Declaration, ...]:
    """Return the declarations of ``handler``, first to last; empty for any other object."""
    declarations: tuple[Declaration, ...] = getattr(handler, _ATTRIBUTE, ())
    return declarations

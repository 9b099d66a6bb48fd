"""The ASGI application: it routes requests to operations, WebSockets and the pages.

A request gets an id, a route, and is processed as its operation declares (`endpoint`); all problems
are rendered in one place. Paths outside the contract and not below ``/api/`` are forwarded to the
application of the pages, with the same id and in the same log. The forwarded scope carries the id
as a header, and a callback that reports a refusal to the request log.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import trio
from antechamber.asgi import REQUEST_ID_RULE, Receive, Scope, Send, extension_of
from antechamber.asgi import Application as ASGIApplication
from antechamber.error_boundary import only
from antechamber.network_prefix import network_prefix
from antechamber.rejection import ClientGone
from greenroom import unwrap
from octavo_rules import problems

from octavo.http.contract.assembly import contract_of, served_operations_of
from octavo.http.contract.bodies.body import ClientLeft
from octavo.http.contract.call import Authenticator, Call, Principal, RateLimiter, remote_address_of
from octavo.http.contract.declared_responses import UndeclaredResponseError
from octavo.http.contract.endpoint import Endpoint, FailureProblem
from octavo.http.contract.error_format import ErrorFormat
from octavo.http.contract.memory_budget import MemoryBudget, Reservation, with_reservation
from octavo.http.contract.operation import ContractError, Operation, Security
from octavo.http.contract.prepared_response import (
    WEBSOCKET_EVENTS,
    BrokenContent,
    PreparedResponse,
    formatted_problem,
    options_response,
    prepared_problem,
    problem_page,
)
from octavo.http.contract.request_context import RequestContext, RequestLog
from octavo.http.contract.router import Resource, Router


async def run_lifespan(receive: Receive, send: Send) -> None:
    """Complete the lifespan of an application that has nothing to start or stop."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif event["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


ProblemHtml = Callable[[problems.Problem, str], bytes | None]
"""Returns the HTML of a page that shows a problem; None without one."""

_REFUSED = "octavo.refused"


def forwarded_scope(scope: Scope, request_id: str, refused: Callable[[str], None]) -> Scope:
    """Return ``scope`` with the request id; ``refused`` receives the code of a refusal."""
    others = [header for header in scope["headers"] if header[0] != b"x-request-id"]
    headers = [*others, (b"x-request-id", request_id.encode())]
    return {**scope, "headers": headers, _REFUSED: refused}


def report_refusal(scope: Scope, code: str) -> None:
    """Report the problem ``code`` to the application that forwarded ``scope``, if any."""
    refused: Callable[[str], None] | None = scope.get(_REFUSED)
    if refused is not None:
        refused(code)


class _Absent(NamedTuple):
    """The answer at the path of an operation that is not offered, and its format."""

    detail: str
    errors: ErrorFormat | None


_MADE_AT_ONCE = 3
"""Large responses that are made at the same time, one for each client."""
_LOGGER = logging.getLogger(__name__)
_NOTHING = "There is nothing at this path."


class Application:
    """Serves the operations of ``groups``.

    Args:
        groups: instances whose classes declare operations.
        absent: classes whose operations this installation does not offer: each of their paths
            answers every method with 404 and the detail given here.
        new_id: generates the request id under other servers.
        log_request: receives the record of each completed request.
        authenticators: for each `Security` that an operation declares.
        rate_limiter: for the rate classes; required when an operation has one.
        memory: the budget of large requests and responses; None creates one.
        failure_problem: returns the problem for an exception of a handler that is not a `Problem`,
            such as a refusal or a failure of the database; None for a bug, which gets a 500.
        serving: called with the account that the current task serves, or with the network of the
            client without one.
        problem_html: returns the HTML that shows a problem of a page to a person, and takes the
            request id; None for problem details, as programs get them.
        fallback: serves every other path that is not below ``/api/``, and receives the lifespan.
        fallback_below_api: paths below ``/api/`` that the fallback serves as well.
        websockets: serves the WebSockets of a path from their handshake on, including id and log.
        public_url: address of the installation, without a trailing slash.
        elapsed: returns a time in seconds, for the durations in the log.
        strict: for tests: raise `UndeclaredResponseError` for a response that the contract does not
            declare.

    Raises:
        ContractError: the declarations contradict each other, or require a missing argument.
    """

    def __init__(
        self,
        groups: Sequence[object],
        *,
        absent: Mapping[type, str] | None = None,
        new_id: Callable[[], str],
        log_request: RequestLog,
        authenticators: Mapping[Security, Authenticator] | None = None,
        rate_limiter: RateLimiter | None = None,
        memory: MemoryBudget | None = None,
        failure_problem: FailureProblem = lambda _: None,
        serving: Callable[[str], object] = lambda _: None,
        problem_html: ProblemHtml = lambda _problem, _request_id: None,
        fallback: ASGIApplication | None = None,
        fallback_below_api: Collection[str] = (),
        websockets: Mapping[str, ASGIApplication] | None = None,
        public_url: str = "",
        elapsed: Callable[[], float] = trio.current_time,
        strict: bool = False,
    ) -> None:
        absent = absent or {}
        contract_of([*map(type, groups), *absent], served_operations_of)
        known = dict(authenticators or {})
        self._memory = budget = MemoryBudget() if memory is None else memory
        making = MemoryBudget(_MADE_AT_ONCE, 1)

        def endpoint(operation: Operation, group: object) -> Endpoint:
            authenticator = known.get(operation.security)
            if authenticator is None and operation.security is not Security.NONE:
                raise ContractError(
                    f"{operation.id} needs an authenticator for {operation.security}"
                )
            if rate_limiter is None and operation.rate is not None:
                raise ContractError(f"{operation.id} needs a rate limiter for {operation.rate}")
            return Endpoint(
                operation,
                getattr(group, operation.handler),
                authenticator=authenticator if operation.security is not Security.NONE else None,
                limiter=rate_limiter,
                memory=budget,
                making=making,
                failure_problem=failure_problem,
                serving=serving,
                elapsed=elapsed,
                strict=strict,
            )

        endpoints = [
            endpoint(operation, group)
            for group in groups
            for operation in served_operations_of(type(group))
        ]
        self._router = Router((e.operation.method, e.operation.path, e) for e in endpoints)
        self._absent = Router(
            (operation.method, operation.path, _Absent(detail, operation.errors))
            for group, detail in absent.items()
            for operation in served_operations_of(group)
        )
        self._new_id = new_id
        self._log_request = log_request
        self._failure_problem = failure_problem
        self._serving = serving
        self._problem_html = problem_html
        self._fallback = fallback
        self._fallback_below_api = frozenset(fallback_below_api)
        self._websockets = dict(websockets or {})
        self._public_url = public_url
        self._elapsed = elapsed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope.

        Exceptions of the server's ``send`` propagate, as do errors after the response head was
        sent: the server logs them and closes the connection. If the content of a stream is refused
        meanwhile, the response stays incomplete, and the connection is closed, too. Any other
        failure is logged here and gets a 500. Cancellation cancels the handler.
        """
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        context = RequestContext(
            scope, receive, send, self._new_id, self._memory, elapsed=self._elapsed
        )
        try:
            response: PreparedResponse | None = None
            try:
                route = self._route(context)
                if route is None:
                    await self._forward(context)
                elif isinstance(route, PreparedResponse):
                    response = route
                else:
                    endpoint, call, values = route
                    response = await endpoint.respond(
                        call, values, context.receive, context.exchange
                    )
            except Exception as error:
                if _goes_to_server(context, error):
                    raise
                response = self._refusal(context, error)
            if response is not None:
                if context.call is not None:
                    context.writer.holder = context.call.holder
                    if context.call.hold is not None:
                        context.writer.reserved = context.call.hold.size > 0
                        context.writer.permit_eviction(context.call.hold)
                await context.writer.send(response)
        except BrokenContent as broken:
            problem = self._problem_of(broken)
            if not context.writer.begun:
                await context.writer.send(self._refuse_late(context, problem, broken))
                return
            context.failure = problems.InternalError.code if problem is None else problem.code
            if problem is None or problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            # The caller has lost its access, or reached a limit: the server cuts the connection.
        finally:
            if context.call is not None and context.call.hold is not None:
                context.call.hold.release()
            self._log_request(context.record())

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
        elif self._fallback is not None:
            await self._fallback(scope, receive, send)
        else:
            await run_lifespan(receive, send)

    def _problem_of(self, broken: BrokenContent) -> problems.Problem | None:
        match unwrap(broken.__cause__ or broken):
            case problems.Problem() as problem:
                return problem
            case Exception() as error:
                return self._failure_problem(error)
            case _:
                return None

    def _refuse_late(
        self, context: RequestContext, problem: problems.Problem | None, broken: BrokenContent
    ) -> PreparedResponse:
        if problem is None:
            _LOGGER.error("request %s failed", context.request_id, exc_info=broken)
            problem = problems.InternalError()
        return self._refuse(context, problem)

    def _refusal(self, context: RequestContext, error: Exception) -> PreparedResponse | None:
        """Return the response to send after ``error``; None when the client is gone."""
        if isinstance(error, problems.Problem):
            return self._refuse(context, error)
        if isinstance(error, ClientLeft):
            return None
        _LOGGER.error("request %s failed", context.request_id, exc_info=error)
        return self._refuse(context, problems.InternalError())

    def _route(
        self, context: RequestContext
    ) -> tuple[Endpoint, Call, list[str]] | PreparedResponse | None:
        """Return the operation to call and the values of its path, or the response to OPTIONS.

        None if the fallback serves the path. Raises the `Problem` of any other request.
        """
        scope = context.scope
        resource, values = self._router.find(scope.get("raw_path") or _raw_path(scope))
        absent = self._absent_at(scope) if resource is None else None
        if not context.accepted:
            if resource is not None:
                context.errors = _any_of(resource).operation.errors
            elif absent is not None:
                context.errors = absent.errors
            raise problems.InvalidRequest(REQUEST_ID_RULE)
        if absent is not None:
            context.errors = absent.errors
            raise problems.NotFound(absent.detail)
        if resource is None:
            path = scope["path"]
            api_only = _is_api(path) and path not in self._fallback_below_api
            if self._fallback is None or api_only:
                raise problems.NotFound(_NOTHING)
            return None
        endpoint = resource.methods.get(context.method)
        if endpoint is None:
            context.errors = _any_of(resource).operation.errors
        else:
            context.errors = endpoint.operation.errors
            context.call = call = Call(
                context.request_id, endpoint.operation, scope, context.remote_address, self._memory
            )
            return endpoint, call, values
        if context.method == "OPTIONS":
            return options_response(resource.allow)
        allow = (b"allow", resource.allow)
        raise problems.MethodNotAllowed(
            f"This path accepts {resource.allow.decode()}.", headers=[allow]
        )

    async def _forward(self, context: RequestContext) -> None:
        """Let the fallback respond."""
        scope = context.scope
        assert self._fallback is not None
        self._serving(network_prefix(remote_address_of(scope)))
        reservation = Reservation(self._memory, context.remote_address, context.exchange)
        forwarded = with_reservation(
            forwarded_scope(scope, context.request_id, context.refused), reservation
        )
        send = partial(context.writer.forward, reservation)
        try:
            await self._fallback(forwarded, context.receive, send)
        finally:
            reservation.release()

    def _absent_at(self, scope: Scope) -> _Absent | None:
        resource, _ = self._absent.find(_raw_path(scope))
        return None if resource is None else _any_of(resource)

    async def perform(
        self, scope: Scope, receive: Receive, request_id: str, principal: Principal | None = None
    ) -> object:
        """Perform the operation at the method and path of ``scope`` for code in this process.

        ``principal`` is the caller if it was authenticated already; otherwise ``scope`` has its
        credential. Returns what the handler of the operation returns: a model, or a `Reply`. The
        operation is processed as for any other client, but nothing is sent or logged for it
        alone. Raises the `Problem` that would be the response, and any other exception of the
        handler. A cancelled handler may have made its change.
        """
        resource, values = self._router.find(_raw_path(scope))
        endpoint = None if resource is None else resource.methods.get(scope["method"])
        if endpoint is None:
            raise LookupError(f"there is no operation {scope['method']} {scope['path']}")
        call = Call(request_id, endpoint.operation, scope, remote_address_of(scope), self._memory)
        if principal is not None:
            call.authenticated_as(principal)
        return await endpoint.perform(call, values, receive, extension_of(scope))

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._websockets.get(scope["path"])
        if handler is not None:
            await handler(scope, receive, send)
            return
        context = RequestContext(scope, receive, send, self._new_id, self._memory, WEBSOCKET_EVENTS)
        problem = (
            problems.NotFound(_NOTHING)
            if context.accepted
            else problems.InvalidRequest(REQUEST_ID_RULE)
        )
        try:
            await context.writer.send(self._refuse(context, problem))
        finally:
            self._log_request(context.record())

    def _refuse(self, context: RequestContext, problem: problems.Problem) -> PreparedResponse:
        context.refused(problem.code)
        call = context.call
        if context.errors is not None:
            return formatted_problem(problem, context.errors)
        if call is not None and call.operation.page and _reads_html(call):
            html = self._problem_html(problem, context.request_id)
            if html is not None:
                return problem_page(problem, html, call.operation.page_headers)
        return prepared_problem(problem, context.request_id, self._public_url)


T = TypeVar("T")


def _any_of(resource: Resource[T]) -> T:
    """Return one entry, for the format of refusals that belong to no operation of the resource."""
    return next(iter(resource.methods.values()))


def _reads_html(call: Call) -> bool:
    """Return whether the client asks for HTML by name, as browsers do."""
    return b"text/html" in (call.header(b"accept") or b"").lower()


def _raw_path(scope: Scope) -> bytes:
    # Optional in ASGI.
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw


def _goes_to_server(context: RequestContext, error: Exception) -> bool:
    """Return whether ``error`` ends the connection, or the test; the record gets its code."""
    if isinstance(error, problems.Problem | ClientLeft):
        return False
    if isinstance(error, UndeclaredResponseError):
        return True
    if context.writer.begun and not only(error, ClientGone):
        context.failure = problems.InternalError.code
    return context.writer.begun


def _is_api(path: str) -> bool:
    return path.startswith("/api/") or path == "/api"

"""The one ASGI application: the operations of the contract, and whom the rest is handed to.

The way of a request: its id, its route, then what its operation declares (`endpoint`), and one
answer, in which every problem has the same form. What is no path of the contract and not below
``/api/`` goes to the application of the pages, with the same id and in the same log.

The lifespan of an application that has nothing to start and nothing to stop.

A request that is handed over to the application beside the contract, and what that tells back.

The scope of ASGI carries both: the id of the request as a header, for logs further down, and a
place where a refusal leaves its code, for the line of the request in the log.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from urllib.parse import quote

from octavo.http.contract.bodies import ClientLeft
from octavo.http.contract.call import Authenticator, Call, RateLimiter
from octavo.http.contract.declarations import contract_of, served_operations_of
from octavo.http.contract.declared_answers import UndeclaredAnswer
from octavo.http.contract.endpoint import Endpoint, FailureProblem
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import ContractError, Operation, Security
from octavo.http.contract.prepared_response import (
    OF_WEBSOCKET,
    BrokenContent,
    PreparedResponse,
    options_answer,
    prepared_problem,
)
from octavo.http.contract.problems import (
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    Problem,
)
from octavo.http.contract.request_context import RequestContext
from octavo.http.contract.request_log import RequestLog
from octavo.http.contract.router import Router
from octavo.http.server.asgi import Application as ASGIApplication
from octavo.http.server.asgi import Receive, Scope, Send
from octavo.http.server.request_id import RULE


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """Return the events of the lifespan until the shutdown. Cancelling leaves nothing behind."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif event["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


_REFUSED = "octavo.refused"


def handed_over(scope: Scope, request_id: str, refused: Callable[[str], None]) -> Scope:
    """Return ``scope`` with the id of the request; ``refused`` takes the code of a refusal."""
    others = [header for header in scope["headers"] if header[0] != b"x-request-id"]
    headers = [*others, (b"x-request-id", request_id.encode())]
    return {**scope, "headers": headers, _REFUSED: refused}


def tell_refused(scope: Scope, code: str) -> None:
    """Tell whoever handed ``scope`` over that it is refused with the problem ``code``.

    Where nobody did, as in tests of the pages alone, nobody is told.
    """
    refused: Callable[[str], None] | None = scope.get(_REFUSED)
    if refused is not None:
        refused(code)


_LOGGER = logging.getLogger(__name__)
_NOTHING = "Nothing is served at this path."


class Application:
    """Serves the operations of ``groups``.

    Args:
        groups: instances whose classes declare operations.
        new_id: makes the id of a request where the wire gives none.
        log_request: takes the record of each request when it is over.
        authenticators: for each `Security` that an operation declares.
        rate_limiter: for the rate classes; needed when an operation has one.
        memory: counts large requests and answers; None for one of its own.
        failure_problem: returns the problem for a failure of what the handlers rest on, such as
            a database; None for any other error, which is answered with 500.
        fallback: serves every other path that is not below ``/api/``; also gets the lifespan.
        fallback_below_api: the paths below ``/api/`` that it serves, too.
        websockets: serves a WebSocket at a path, from its handshake on: id and log included.
        public_url: address of the installation, without a slash at its end.
        strict: for tests: an answer that the contract does not have is raised as
            `UndeclaredAnswer`.

    Raises:
        ContractError: the declarations contradict each other, or need what is not given.
    """

    def __init__(
        self,
        groups: Sequence[object],
        *,
        new_id: Callable[[], str],
        log_request: RequestLog,
        authenticators: Mapping[Security, Authenticator] | None = None,
        rate_limiter: RateLimiter | None = None,
        memory: MemoryBudget | None = None,
        failure_problem: FailureProblem = lambda _: None,
        fallback: ASGIApplication | None = None,
        fallback_below_api: Collection[str] = (),
        websockets: Mapping[str, ASGIApplication] | None = None,
        public_url: str = "",
        strict: bool = False,
    ) -> None:
        contract_of([type(group) for group in groups], served_operations_of)
        known = dict(authenticators or {})
        self._memory = budget = MemoryBudget() if memory is None else memory
        endpoints = [
            _endpoint(operation, group, known, rate_limiter, budget, failure_problem, strict=strict)
            for group in groups
            for operation in served_operations_of(type(group))
        ]
        self._router = Router((e.operation.method, e.operation.path, e) for e in endpoints)
        self._new_id = new_id
        self._log_request = log_request
        self._fallback = fallback
        self._fallback_below_api = frozenset(fallback_below_api)
        self._websockets = dict(websockets or {})
        self._public_url = public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope of ASGI.

        What a server raises while it sends comes out, and so does what breaks an answer whose
        head was sent: it is the server's to log that and to cut the connection. Any other failure
        is logged here and answered with 500. Cancelling ends the handler.
        """
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._open(scope, receive, send)
        elif self._fallback is not None:
            await self._fallback(scope, receive, send)
        else:
            await answer_lifespan(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        passage = RequestContext(scope, receive, send, self._new_id, self._memory)
        try:
            answer = await self._answer(passage)
            if answer is not None:
                await passage.transmission.send(answer)
        except BrokenContent:
            passage.failure = InternalError.code
            raise
        finally:
            if passage.call is not None and passage.call.hold is not None:
                passage.call.hold.release()
            self._log_request(passage.record())

    async def _answer(self, passage: RequestContext) -> PreparedResponse | None:
        """Return what is to be sent; None when it was sent, or nobody waits for it."""
        try:
            return await self._route(passage)
        except Problem as problem:
            return self._refuse(passage, problem)
        except UndeclaredAnswer:
            raise
        except ClientLeft:
            return None
        except Exception as error:
            if passage.transmission.begun:
                passage.failure = InternalError.code
                raise
            _LOGGER.error("request %s failed", passage.request_id, exc_info=error)
            return self._refuse(passage, InternalError())

    async def _route(self, passage: RequestContext) -> PreparedResponse | None:
        if not passage.accepted:
            raise InvalidRequest(RULE)
        scope = passage.scope
        resource, values = self._router.find(_raw_path(scope))
        if resource is None:
            path = scope["path"]
            kept = _is_api(path) and path not in self._fallback_below_api
            if self._fallback is None or kept:
                raise NotFound(_NOTHING)
            handed = handed_over(scope, passage.request_id, passage.refused)
            await self._fallback(handed, passage.receive, passage.transmission.forward)
            return None
        endpoint = resource.methods.get(passage.method)
        if endpoint is not None:
            passage.call = call = Call(passage.request_id, endpoint.operation, scope)
            return await endpoint.answer(call, values, passage.receive, passage.exchange)
        if passage.method == "OPTIONS":
            return options_answer(resource.allow)
        allow = (b"allow", resource.allow)
        raise MethodNotAllowed(f"This path takes {resource.allow.decode()}.", headers=[allow])

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._websockets.get(scope["path"])
        if handler is not None:
            await handler(scope, receive, send)
            return
        passage = RequestContext(scope, receive, send, self._new_id, self._memory, OF_WEBSOCKET)
        problem = NotFound(_NOTHING) if passage.accepted else InvalidRequest(RULE)
        try:
            await passage.transmission.send(self._refuse(passage, problem))
        finally:
            self._log_request(passage.record())

    def _refuse(self, passage: RequestContext, problem: Problem) -> PreparedResponse:
        passage.refused(problem.code)
        return prepared_problem(problem, passage.request_id, self._public_url)


def _endpoint(
    operation: Operation,
    group: object,
    authenticators: Mapping[Security, Authenticator],
    limiter: RateLimiter | None,
    memory: MemoryBudget,
    failure_problem: FailureProblem,
    *,
    strict: bool,
) -> Endpoint:
    authenticator = authenticators.get(operation.security)
    if authenticator is None and operation.security is not Security.NONE:
        raise ContractError(f"{operation.id} needs an authenticator for {operation.security}")
    if limiter is None and operation.rate is not None:
        raise ContractError(f"{operation.id} needs a rate limiter for {operation.rate}")
    return Endpoint(
        operation,
        getattr(group, operation.handler),
        authenticator=authenticator if operation.security is not Security.NONE else None,
        limiter=limiter,
        memory=memory,
        failure_problem=failure_problem,
        strict=strict,
    )


def _raw_path(scope: Scope) -> bytes:
    # ASGI has it optional.
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw


def _is_api(path: str) -> bool:
    return path.startswith("/api/") or path == "/api"

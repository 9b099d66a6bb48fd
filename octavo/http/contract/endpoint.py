"""Process the calls of one operation: caller, input, handler, and the encoded response.

Everything that depends only on the declaration is computed at startup.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal, cast

from antechamber.asgi import Extension, Receive
from antechamber.network_prefix import network_prefix
from antechamber.response import FixedHeaders
from greenroom import unwrap
from octavo_rules.problems import AccountLocked, Header, InsufficientScope, Problem
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer

from octavo.http.contract.bodies.body import ClientLeft, declared_size
from octavo.http.contract.call import (
    Authenticator,
    Call,
    EncodedJson,
    HtmlPage,
    NotModified,
    Principal,
    RateLimiter,
    Reply,
    Stream,
    encoded_json,
)
from octavo.http.contract.declared_responses import DeclaredResponses
from octavo.http.contract.memory_budget import (
    COUNTED,
    STEP,
    CountedBody,
    MemoryBudget,
    reservation_of,
)
from octavo.http.contract.operation import Locked, Operation, Security
from octavo.http.contract.parameters import Parameters
from octavo.http.contract.prepared_response import API_HEADERS, NOT_STORED, PreparedResponse
from octavo.http.contract.renewed_time import RenewedTime
from octavo.http.contract.slices import encoded_in_slices

_JSON: Header = (b"content-type", b"application/json")
_PAGE: Header = (b"content-type", HtmlPage.MEDIA_TYPE.encode())
AUTHENTICATED_SECONDS = 1.0
"""Seconds for which a caller stays authenticated while the body arrives."""
_FORGOTTEN = 8
"""Each smaller response lowers the expected size of a response by this part, an eighth."""
_MAKING = 2
"""Copies of a response that are in memory while it is made: its texts, and the encoded document."""
_NO_LENGTH = frozenset({204, 304})

FailureProblem = Callable[[Exception], Problem | None]
"""Returns the problem for a failure, None for an error that is a bug."""


class Endpoint:
    """Serves the calls of one operation.

    Args:
        operation: its declaration.
        handler: the bound method that serves it.
        authenticator: for its security; None when it has none.
        limiter: for its rate class; None when it has none.
        memory: the budget of large bodies and responses.
        making: limits the number of large responses that are made at the same time: others wait
            with their memory, those of one holder in order and holders in turn. A call with a place
            waits for threads and connections only.
        failure_problem: returns the problem for a failure of a dependency, None for any other
            error.
        serving: called with the account that the current task serves, or with the network of the
            client without one.
        strict: raise `UndeclaredResponseError` where the handler violates the declaration.
    """

    def __init__(
        self,
        operation: Operation,
        handler: Callable[..., Awaitable[object]],
        *,
        authenticator: Authenticator | None,
        limiter: RateLimiter | None,
        memory: MemoryBudget,
        making: MemoryBudget,
        failure_problem: FailureProblem,
        serving: Callable[[str], object],
        elapsed: Callable[[], float],
        strict: bool,
    ) -> None:
        self.operation = operation
        self._elapsed = elapsed
        self._handler = handler
        self._authenticator = authenticator
        self._limiter = limiter
        self._memory = memory
        self._making = making
        self._failure_problem = failure_problem
        self._serving = serving
        self._locked_out = (
            operation.security is Security.SESSION_OR_KEY and operation.locked is Locked.REFUSED
        )
        # A stream that could only wait for memory is not started.
        self._room = STEP if operation.streams else 0
        # A large response that is expected may be refused.
        self._changes = operation.method != "GET" and not operation.reads
        self._may_be_refused = operation.body is None and not self._changes
        self._parameters = Parameters(operation)
        self._has_parameters = any(
            (operation.path_model, operation.query_model, operation.header_model)
        )
        self._body = body = operation.body
        # A body without a model is passed on as it arrives.
        self._large_body = body is not None and body.model is not None and body.limit >= COUNTED
        self._declared = DeclaredResponses(operation, strict=strict)
        cache_control = () if "cache-control" in operation.headers else (NOT_STORED,)
        security = operation.page_headers if operation.page else API_HEADERS
        self._headers = FixedHeaders([*cache_control, *security])
        self._json_headers = FixedHeaders([_JSON, *self._headers.headers])
        self._status = operation.status
        self._expected = 0
        response_type = operation.response_type
        self._model = response_type if isinstance(response_type, type) else None
        # The type checker has checked the members of a model; checking them again would cost each
        # response time. Other types are checked here, and models in the tests (``strict``).
        self._warnings: Literal["error", False] = "error"
        self._null = False
        if isinstance(response_type, type) and issubclass(response_type, BaseModel):
            self._serializer: SchemaSerializer = response_type.__pydantic_serializer__
            self._warnings = "error" if strict else False
        else:
            adapter = TypeAdapter(cast("type[object]", response_type))
            self._serializer = adapter.serializer
            self._null = response_type is not None and _takes_none(adapter)

    async def respond(
        self, call: Call, values: Sequence[str], receive: Receive, exchange: Extension | None
    ) -> PreparedResponse:
        """Serve ``call``; ``values`` are the values of the path parameters.

        Raises the `Problem` to respond with, `ClientLeft` when the body ended early, and any other
        exception of the handler. A cancelled handler may have made its change.
        """
        operation, renewed = self.operation, None
        if operation.renews_time and operation.time is not None and exchange is not None:
            renewed = RenewedTime(exchange, operation.time)
            receive = renewed.receive(receive)
        try:
            result = await self._serve(call, values, receive, exchange)
            if call.has_long_texts:
                response = self._encode(await self._encoded_in_slices(result))
            else:
                response = self._encode(result)
            del result
            content = response.content
            if content is not None and not isinstance(content, bytes):
                # Memory for it was reserved, or will be piece by piece.
                chunks = content if renewed is None else renewed.chunks(content)
                return response._replace(content=chunks)
            size = 0 if content is None else len(content)
            if size >= COUNTED or self._expected >= COUNTED or call.hold is not None:
                self._hold_response(call, size)
            return response
        except Problem as problem:
            self._declared.problem(problem)
            raise
        except Exception as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            try:
                raise refusal from error
            finally:
                # Its traceback refers to this frame: a cycle would keep the request in memory.
                del refusal

    async def _encoded_in_slices(self, result: object) -> object:
        """Return ``result`` with its JSON if it is a model."""
        reply = result if isinstance(result, Reply) else Reply(result)
        model = reply.body
        if not isinstance(model, BaseModel) or reply.encoded is not None:
            return result
        encoded = await encoded_in_slices(model, encoded_json)
        return replace(reply, encoded=encoded)

    def _hold_response(self, call: Call, size: int) -> None:
        """Reserve memory for a response that counts, or follows one that did.

        Raises `ServerBusy` without room, unless a change was made that must be responded to.
        """
        self._expected = max(size, self._expected - self._expected // _FORGOTTEN)
        counted = size if size >= COUNTED else 0
        must_respond = self._changes or call.changed
        if call.hold is not None:
            resize = call.hold.resize if must_respond else call.hold.grow
            resize(counted)
        elif counted:
            held = self._memory.reserve_unchecked if must_respond else self._memory.hold
            call.hold = held(call.holder, counted)

    async def perform(
        self, call: Call, values: Sequence[str], receive: Receive, exchange: Extension | None
    ) -> object:
        """Serve ``call`` for a caller in this process; return what the handler returns.

        Raises the same errors as `respond`, and is cancelled like it.
        """
        try:
            return await self._serve(call, values, receive, exchange)
        except Problem as problem:
            self._declared.problem(problem)
            raise
        except Exception as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            try:
                raise refusal from error
            finally:
                # Its traceback refers to this frame: a cycle would keep the request in memory.
                del refusal
        finally:
            outer = reservation_of(call.scope)
            if call.hold is None:
                pass
            elif outer is None:
                call.hold.release()
            else:
                # The page shows what was read.
                outer.keep(call.hold)

    def _refusal(self, error: Exception) -> Exception | None:
        """Return the problem to respond with, or `ClientLeft`; None if ``error`` is a bug."""
        # A handler with its own nursery raises its one problem in a group.
        single = unwrap(error)
        if isinstance(single, ClientLeft):
            return None if single is error else single
        if not isinstance(single, Exception):
            return None
        problem = single if isinstance(single, Problem) else self._failure_problem(single)
        if problem is not None:
            self._declared.problem(problem)
        return problem

    async def _serve(
        self, call: Call, values: Sequence[str], receive: Receive, exchange: Extension | None
    ) -> object:
        operation, scope = self.operation, call.scope
        # Authentication may wait, too: in the turn of this client, not in that of the one before.
        self._serving(network_prefix(call.holder))
        if self._authenticator is not None:
            self._admit(call, call.principal or await self._authenticator.authenticate(call))
            self._serving(network_prefix(call.holder))
        if self._limiter is not None and operation.rate is not None:
            await self._limiter.admit(operation.rate, call)
        arguments: dict[str, object] = {}
        if self._has_parameters or scope["query_string"]:
            arguments = self._parameters.check(values, scope["query_string"], scope["headers"])
        body = self._body
        if self._room:
            self._memory.require_room(call.holder, self._room)
        if self._expected >= COUNTED and self._may_be_refused:
            # Otherwise many could be made at the same time, before the first one counts.
            await call.expect(_MAKING * self._expected)
            with await self._making.wait(call.holder, 1):
                return await self._handle(call, arguments, exchange)
        if body is not None:
            authenticated = self._elapsed()
            if self._large_body:
                size = declared_size(scope["headers"], body.limit)
                if size >= COUNTED:
                    self._memory.require_room(call.holder, size)
                    with CountedBody(self._memory, call.holder) as counted:
                        call.body = counted.hold
                        arguments["body"] = await counted.read(body, scope["headers"], receive)
                        if self._elapsed() - authenticated > AUTHENTICATED_SECONDS:
                            await self._authenticate_again(call)
                        return await self._handle(call, arguments, exchange)
            arguments["body"] = await body.read(scope["headers"], receive)
            if self._elapsed() - authenticated > AUTHENTICATED_SECONDS:
                await self._authenticate_again(call)
        return await self._handle(call, arguments, exchange)

    def _admit(self, call: Call, principal: Principal) -> None:
        call.principal = principal
        call.holder = principal.name
        if self._locked_out and principal.locked:
            raise AccountLocked
        if principal.scopes is not None:
            self._check_limits(principal)

    def _check_limits(self, principal: Principal) -> None:
        """Raise `InsufficientScope` if the limits of a credential exclude the operation."""
        operation = self.operation
        if principal.scopes is not None and operation.scope not in principal.scopes:
            raise InsufficientScope(operation.scope)
        if principal.confined and not operation.confinable:
            raise InsufficientScope(
                None,
                "This key or token is limited to a folder, and this concerns other files, too.",
            )

    async def _authenticate_again(self, call: Call) -> None:
        """Check the caller again after a body that took long: its rights may have ended since."""
        if self._authenticator is not None:
            self._admit(call, await self._authenticator.authenticate(call))

    def _handle(
        self, call: Call, arguments: dict[str, object], exchange: Extension | None
    ) -> Awaitable[object]:
        """Return the call of the handler, which must be awaited immediately."""
        operation = self.operation
        if exchange is not None:
            if operation.time is not None:
                exchange.allow(operation.time)
            if operation.finish_when_client_leaves:
                exchange.ignore_disconnect()
        return self._handler(call, **arguments)

    def _encode(self, result: object) -> PreparedResponse:
        if type(result) is self._model:
            return self._content(self._status, result, ())
        if isinstance(result, Reply):
            if result.status is None and type(result.body) is self._model:
                self._declared.headers(result.headers)
                return self._content(self._status, result.body, result.headers, result.encoded)
            status = self._status
            if result.status is not None:
                status = result.status
                self._declared.status(status)
            self._declared.headers(result.headers)
            return self._checked(status, result.body, result.headers)
        if isinstance(result, NotModified):
            self._declared.not_modified()
            self._declared.headers(result.headers)
            return PreparedResponse(304, [*result.headers], self._headers, None)
        if isinstance(result, Stream):
            return self._stream(result)
        if isinstance(result, HtmlPage):
            return self._page(result)
        if isinstance(result, EncodedJson):
            return self._encoded(result.json)
        return self._checked(self._status, result, ())

    def _checked(
        self, status: int, content: object, headers: tuple[Header, ...]
    ) -> PreparedResponse:
        if content is None and self.operation.empty:
            length = () if status in _NO_LENGTH else ((b"content-length", b"0"),)
            return PreparedResponse(status, [*length, *headers], self._headers, None)
        if content is None:
            # pydantic writes None for any type, without a warning.
            fits = self._null
        else:
            fits = self._model is None or isinstance(content, self._model)
        if not fits:
            raise self._declared.other_content(content)
        return self._content(status, content, headers)

    def _content(
        self,
        status: int,
        content: object,
        headers: tuple[Header, ...],
        encoded: bytes | None = None,
    ) -> PreparedResponse:
        if encoded is not None and not self._warnings:
            body = encoded
        else:
            try:
                body = self._serializer.to_json(content, by_alias=True, warnings=self._warnings)
            except PydanticSerializationError as error:
                raise self._declared.other_content(content, str(error)) from None
            if encoded is not None and encoded != body:
                raise self._declared.other_content(content, "It was encoded as something else.")
        length = (b"content-length", b"%d" % len(body))
        return PreparedResponse(status, [length, *headers], self._json_headers, body)

    def _encoded(self, body: bytes) -> PreparedResponse:
        if self._warnings and self._model is not None:
            read: object = cast("type[BaseModel]", self._model).model_validate_json(body)
            if self._serializer.to_json(read, by_alias=True) != body:
                raise self._declared.other_content(read, "It was encoded as something else.")
        length = (b"content-length", b"%d" % len(body))
        return PreparedResponse(self._status, [length], self._json_headers, body)

    def _page(self, page: HtmlPage) -> PreparedResponse:
        if not self.operation.page:
            raise self._declared.other_content(page)
        self._declared.headers(page.headers)
        length = (b"content-length", b"%d" % len(page.html))
        return PreparedResponse(
            self._status, [_PAGE, length, *page.headers], self._headers, page.html
        )

    def _stream(self, stream: Stream) -> PreparedResponse:
        status = self._status if stream.status is None else stream.status
        self._declared.status(status)
        self._declared.headers(stream.headers)
        self._declared.media_type(stream.media_type)
        headers = [(b"content-type", stream.media_type.encode()), *stream.headers]
        if stream.length is not None:
            headers.append((b"content-length", b"%d" % stream.length))
        return PreparedResponse(status, headers, self._headers, stream.chunks)


def _takes_none(adapter: TypeAdapter[object]) -> bool:
    try:
        adapter.validate_python(None, strict=True)
    except ValidationError:
        return False
    return True

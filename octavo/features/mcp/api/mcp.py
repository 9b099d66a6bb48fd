"""The endpoint of the Model Context Protocol: assistants read notes, and may change them.

It is stateless and answers each message with a JSON document: it opens no event stream and keeps no
session. A request that is refused before its message is read gets an error in the format of MCP; a
message that was read is answered with a result, or with an error of JSON-RPC.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import NamedTuple

from antechamber.asgi import Receive
from octavo_rules import problems
from octavo_rules.identity import READ, WRITE
from pydantic import ConfigDict, RootModel

from octavo.access.caller import Caller
from octavo.features.accounts.credentials import CredentialKind
from octavo.features.usage.api import METERED
from octavo.http import contract
from octavo.http.callers import caller_of, refuse_other_origin
from octavo.http.refusals import WorkspaceBusy

_BEARER = b"bearer "


class AccessTokens:
    """Authenticates the operations of `Security.MCP`.

    Its challenges name every scope that can be granted, since clients ask for the scope of the
    first challenge. Tools that write are listed only for tokens that may use them: a program would
    not learn of them later. The person decides what to grant.

    Args:
        kind: looks up access tokens.
        public_url: the address of the installation.
        writes: whether programs may be allowed to write.
    """

    def __init__(self, kind: CredentialKind, *, public_url: str, writes: bool) -> None:
        self._kind = kind
        self._public_url = public_url
        self._scope = f"{READ} {WRITE}" if writes else READ

    async def authenticate(self, call: contract.Call) -> Caller:
        """Return the caller, limited to what a person allowed the program.

        Raises `NotSignedIn` and `CredentialRefused` with the header by which a program finds the
        authorization server.
        """
        header = call.header(b"authorization")
        if header is None or header[:7].lower() != _BEARER:
            raise token_missing(self._public_url, self._scope)
        caller = await self._kind.caller(header[7:])
        if caller is None:
            raise token_refused(self._public_url, self._scope)
        return caller


PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"
"""The metadata of the protected resource (RFC 9728), to which challenges refer."""
LONGEST_MESSAGE = 1024 * 1024
"""Maximum size of a message in bytes."""
_PARSE_ERROR = -32700
_SECONDS = 30.0


class NotAcceptable(problems.Problem):
    """The client accepts no JSON, which is all that the endpoint answers with."""

    status, code = 406, "not_acceptable"
    summary = "The response is application/json, which the header accept excludes."
    remedy = "Send accept: application/json, text/event-stream, as the protocol requires."


class McpMessageRefused(problems.Problem):
    """A message that breaks a rule of the protocol; the error of JSON-RPC has the rule."""

    status, code = 400, "mcp_message_refused"
    summary = "The message does not follow the Model Context Protocol."
    remedy = (
        "The message of the error says which rule is broken, and its code is one of JSON-RPC or of "
        "the protocol. If you use a client of others, update it."
    )


class McpMethodUnknown(problems.Problem):
    """A method that this server does not have."""

    status, code = 404, "mcp_method_unknown"
    summary = "There is no method of this name at this endpoint."
    remedy = "Call server/discover, which lists what the server can do."


class McpHeaders(NamedTuple):
    """The headers of a message, each with all its values."""

    versions: tuple[str, ...]
    methods: tuple[str, ...]
    names: tuple[str, ...]


Exchange = Callable[[contract.Call, object, McpHeaders], Awaitable[object]]
"""Returns the answer to a message, None if it expects none.

The caller is that of the call. Raises `McpMessageRefused`, `McpMethodUnknown`, `InsufficientScope`
and the problems of operations that tools perform.
"""


class McpMessage(RootModel[object]):
    """A message of the Model Context Protocol: a request, a notification or a response."""

    model_config = ConfigDict(
        cache_strings="keys",
        json_schema_extra={
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"type": ["string", "integer"]},
                "method": {"type": "string"},
                "params": {"type": "object"},
                "result": {"type": "object"},
                "error": {"type": "object"},
            },
            "required": ["jsonrpc"],
        },
    )


class McpBatch(RootModel[list[McpMessage]]):
    """A batch of messages, which the protocol has in revisions before 2025-06-18."""


class _MessageBody(contract.JsonBody[McpMessage]):
    """A message, or a batch; invalid JSON is refused with the error code of JSON-RPC for it."""

    def __init__(self) -> None:
        super().__init__(McpMessage, LONGEST_MESSAGE)
        shapes = (McpMessage, McpBatch)
        self.schema = {
            "anyOf": [{"$ref": f"#/components/schemas/{shape.__name__}"} for shape in shapes]
        }

    async def read(self, headers: contract.Headers, receive: Receive) -> McpMessage:
        try:
            return await super().read(headers, receive)
        except problems.InvalidRequest as fault:
            raise McpMessageRefused(
                _located(fault), members={contract.RPC_MEMBER: {"code": _PARSE_ERROR, "data": None}}
            ) from None


def _located(fault: problems.InvalidRequest) -> str:
    errors = fault.members.get("errors")
    if not isinstance(errors, list) or not errors:
        return fault.detail
    return str(errors[0]["message"])


def challenge(public_url: str, scope: str = READ, error: str | None = None) -> problems.Header:
    """Return the header that tells a client how to get a token (RFC 9728 section 5.1).

    ``scope`` is the scope to ask for, separated by spaces; ``error`` is a code of RFC 6750, for a
    request that had a token.
    """
    described = f'error="{error}", ' if error else ""
    metadata = f'resource_metadata="{public_url}{METADATA_PATH}"'
    return (b"www-authenticate", f'Bearer {described}{metadata}, scope="{scope}"'.encode())


def token_missing(public_url: str, scope: str = READ) -> problems.NotSignedIn:
    """Return the problem of a request without a token; ``scope`` as in `challenge`."""
    problem = problems.NotSignedIn("Send an access token as authorization: Bearer.")
    problem.headers = (challenge(public_url, scope),)
    return problem


def token_refused(public_url: str, scope: str = READ) -> problems.CredentialRefused:
    """Return the problem of a token that is unknown, revoked, expired or of another resource.

    ``scope`` as in `challenge`.
    """
    return problems.CredentialRefused(
        "The access token is not valid here, or no longer: refresh it, or ask for a new one.",
        headers=[challenge(public_url, scope, "invalid_token")],
    )


def write_scope_missing(public_url: str) -> problems.InsufficientScope:
    """Return the problem of a token that may only read."""
    scope = f"{READ} {WRITE}"
    problem = problems.InsufficientScope(
        WRITE, "The access token may read notes, but not change them."
    )
    problem.headers = (challenge(public_url, scope, "insufficient_scope"),)
    return problem


class OwnOriginOnly:
    """Refuses requests from pages of other origins, and authenticates the others.

    The protocol requires it against DNS rebinding; programs send no origin.

    Args:
        authenticator: checks the tokens.
        origin: of the installation, the only one that browsers may send messages from.
    """

    def __init__(self, authenticator: contract.Authenticator, *, origin: str) -> None:
        self._authenticator = authenticator
        self._origin = origin

    async def authenticate(self, call: contract.Call) -> contract.Principal:
        """Return the caller. Raises `WrongOrigin`, and what the authenticator raises."""
        refuse_other_origin(call.headers, self._origin)
        return await self._authenticator.authenticate(call)


class McpOperations:
    """The endpoint.

    Args:
        exchange: loads the function that answers messages, when the first one arrives.
    """

    def __init__(self, exchange: Callable[[], Awaitable[Exchange]]) -> None:
        self._exchange = exchange

    @contract.operation(
        id="serveMcp",
        method="POST",
        path=PATH,
        tag="mcp",
        summary="Send a message of the Model Context Protocol",
        description="Revisions 2024-11-05 to 2026-07-28. The endpoint keeps no session and opens "
        "no event stream: a request is answered with a JSON document, and a notification with 202. "
        "Where the endpoint is off, this is 404.",
        security=contract.Security.MCP,
        scope=READ,
        other_statuses=(202,),
        problems=(
            McpMessageRefused,
            problems.Forbidden,
            problems.WrongOrigin,
            problems.NotFound,
            problems.MethodNotAllowed,
            McpMethodUnknown,
            NotAcceptable,
            problems.RateLimited,
            WorkspaceBusy,
            *METERED,
        ),
        body=_MessageBody(),
        time=_SECONDS,
        reads=True,
        errors=contract.MCP_ERROR,
    )
    async def serve_mcp(
        self, call: contract.Call, body: McpMessage
    ) -> McpMessage | McpBatch | contract.Reply[None]:
        """Return the answer to a message."""
        _check_caller(call)
        headers = _headers_of(call)
        answer = await (await self._exchange())(call, body.root, headers)
        if answer is None:
            return contract.Reply(None, status=202)
        if isinstance(answer, list):
            return McpBatch.model_construct([McpMessage.model_construct(one) for one in answer])
        return McpMessage.model_construct(answer)

    @contract.operation(
        id="openMcp",
        method="GET",
        path=PATH,
        tag="mcp",
        summary="Open an event stream, which the endpoint refuses",
        description="Clients of earlier revisions try it, and continue without a stream after 405.",
        security=contract.Security.MCP,
        scope=READ,
        problems=(
            problems.Forbidden,
            problems.WrongOrigin,
            problems.NotFound,
            problems.MethodNotAllowed,
            NotAcceptable,
            problems.BodyTooLarge,
            problems.UnsupportedMediaType,
            problems.RateLimited,
        ),
        errors=contract.MCP_ERROR,
    )
    async def open_mcp(self, call: contract.Call) -> McpMessage:
        """Refuse to open a stream."""
        _check_caller(call)
        raise problems.MethodNotAllowed(
            "The endpoint opens no event stream: send messages with POST.",
            headers=[(b"allow", b"OPTIONS, POST")],
        )


def _headers_of(call: contract.Call) -> McpHeaders:
    """Return the headers that belong to the message. Raises `NotAcceptable`."""
    accept: list[bytes] = []
    versions: list[str] = []
    methods: list[str] = []
    names: list[str] = []
    for name, value in call.headers:
        if name == b"accept":
            accept.append(value)
        elif name == b"mcp-protocol-version":
            versions.append(value.decode("latin-1"))
        elif name == b"mcp-method":
            methods.append(value.decode("latin-1"))
        elif name == b"mcp-name":
            names.append(value.decode("latin-1"))
    if accept and not accepts_json(b",".join(accept)):
        raise NotAcceptable
    return McpHeaders(tuple(versions), tuple(methods), tuple(names))


def _check_caller(call: contract.Call) -> None:
    caller = caller_of(call)
    if caller.locked:
        raise problems.Forbidden(
            "The account is locked: an administrator of the installation can say why."
        )
    if caller.consent_due:
        raise problems.Forbidden(
            "The account must accept the terms and the privacy notice in force first: sign in to "
            "the pages of the installation."
        )


_JSON_RANGES = frozenset({b"application/json", b"application/*", b"*/*"})


@lru_cache(maxsize=64)
def accepts_json(accept: bytes) -> bool:
    """Return whether the header ``accept`` allows ``application/json`` (RFC 9110 section 12.5.1).

    The most specific of its ranges decides; a weight of 0 excludes what the range matches.
    """
    weights: dict[bytes, bool] = {}
    for item in accept.lower().split(b","):
        essence, *parameters = item.split(b";")
        media_range = essence.strip()
        if media_range in _JSON_RANGES:
            weights[media_range] = weights.get(media_range, False) or not _excluded(parameters)
    for media_range in (b"application/json", b"application/*", b"*/*"):
        if media_range in weights:
            return weights[media_range]
    return False


def _excluded(parameters: list[bytes]) -> bool:
    for parameter in parameters:
        name, _, value = parameter.strip().partition(b"=")
        if name.strip() == b"q":
            return value.strip() in (b"0", b"0.", b"0.0", b"0.00", b"0.000")
    return False

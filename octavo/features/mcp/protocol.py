"""Read one message of the protocol, in either of its eras.

Until revision 2025-11-25 a client starts with ``initialize``, and the header
``mcp-protocol-version`` names what was negotiated; this server keeps no session, so each message
stands alone. Since 2026-07-28 each request has its version and the capabilities of its client in
``_meta``, and headers that repeat parts of the body; both must agree, because proxies decide by the
headers (specification 2026-07-28, transports, "Server Validation").
"""

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, cast

from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.methods import CLIENT_REQUESTS
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from octavo.features.mcp.tools import whole

RequestId = str | int
Params = Mapping[str, object]

VERSIONS: Final = (*MODERN_PROTOCOL_VERSIONS, *reversed(HANDSHAKE_PROTOCOL_VERSIONS))
"""The revisions served, newest first."""
WITH_BATCHES: Final = frozenset({"2024-11-05", "2025-03-26"})
"""The revisions that know batches; 2025-06-18 removed them."""
ASSUMED_VERSION: Final = "2025-03-26"
"""The revision of a message without the header, which 2025-06-18 introduced."""
MAX_BATCH: Final = 16
RESOURCE_NOT_FOUND: Final = -32002
"""The code until 2025-11-25; since then it is that of invalid parameters."""

BAD_REQUEST, UNKNOWN_METHOD = 400, 404
_OK = 200
_NAMES: Final = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_HANDSHAKE = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)
_MODERN = frozenset(MODERN_PROTOCOL_VERSIONS)
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_MAX_QUOTED = 80


class ProtocolError(Exception):
    """A message that can't be answered with a result.

    Attributes:
        code: of JSON-RPC.
        message: what is wrong, for people.
        data: what the protocol defines for the code; None for nothing.
        id: of the message; None when it could not be read.
        status: of the HTTP response; 200 for an error that is an answer.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: object = None,
        id: RequestId | None = None,  # noqa: A002 - the name in JSON-RPC
        status: int = BAD_REQUEST,
    ) -> None:
        self.code = code
        self.message = message
        self.data = data
        self.id = id
        self.status = status
        super().__init__(message)


class RoutingHeaders(NamedTuple):
    """The values of the headers ``mcp-protocol-version``, ``mcp-method`` and ``mcp-name``."""

    versions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class McpRequest(NamedTuple):
    """A valid request that expects an answer."""

    id: RequestId
    method: str
    params: Params
    version: str

    @property
    def modern(self) -> bool:
        """Whether its revision is one without a handshake."""
        return self.version in _MODERN


def negotiated(requested: str) -> str:
    """Return the revision to offer to a client that initializes with ``requested``."""
    return requested if requested in _HANDSHAKE else LATEST_HANDSHAKE_VERSION


def batch_of(document: object, headers: RoutingHeaders) -> list[object] | None:
    """Return the messages of a batch; None if ``document`` is a single message.

    Raises:
        ProtocolError: the revision has no batches, or it is empty or too large.
    """
    if not isinstance(document, list):
        return None
    version = headers.versions[0] if headers.versions else ASSUMED_VERSION
    if version not in WITH_BATCHES:
        raise ProtocolError(INVALID_REQUEST, "This revision has no batches: send one message.")
    if not 0 < len(document) <= MAX_BATCH:
        raise ProtocolError(INVALID_REQUEST, f"A batch has 1 to {MAX_BATCH} messages.")
    return document


def read_message(
    document: object, headers: RoutingHeaders, served: Collection[str]
) -> McpRequest | None:
    """Return the request in ``document``; None for a message that expects no answer.

    ``served`` are the methods of the server. Raises `ProtocolError`.
    """
    if not isinstance(document, dict) or document.get("jsonrpc") != "2.0":
        raise ProtocolError(
            INVALID_REQUEST, 'Send one JSON-RPC message: an object with "jsonrpc": "2.0".'
        )
    message = cast("dict[str, object]", document)
    given_id = whole(message.get("id"))
    valid_id = isinstance(given_id, str) or (type(given_id) is int)
    message_id = cast("RequestId", given_id) if valid_id else None
    method = message.get("method")
    params = message.get("params", {})
    modern = _is_modern(params, headers)
    if method is None and ("result" in message or "error" in message):
        if modern:
            raise ProtocolError(INVALID_REQUEST, "The server sends no requests: send no responses.")
        _check_version(headers, None)
        return None
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "The method must be a text.", id=message_id)
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_REQUEST, "The params must be an object.", id=message_id)
    if "id" not in message:
        _check_version(headers, None)
        return None
    if message_id is None:
        raise ProtocolError(INVALID_REQUEST, "The id must be a text or an integer.")
    if modern:
        version = _modern_version(message_id, method, params, headers)
        unknown = UNKNOWN_METHOD
        invalid = BAD_REQUEST
    else:
        version = LATEST_HANDSHAKE_VERSION
        if method != "initialize":
            version = _check_version(headers, message_id)
        unknown = invalid = _OK
    request = McpRequest(message_id, method, params, version)
    model = CLIENT_REQUESTS.get((method, version)) if method in served else None
    if model is None:
        raise ProtocolError(
            METHOD_NOT_FOUND,
            f"There is no method {_quoted(method)} here.",
            id=message_id,
            status=unknown,
        )
    try:
        model.model_validate(message, by_name=False)
    except ValidationError as error:
        raise ProtocolError(
            INVALID_PARAMS, _first_fault(error), id=message_id, status=invalid
        ) from None
    return request


def invalid_params(request: McpRequest, message: str) -> ProtocolError:
    """Return the error of parameters that a method refuses."""
    return ProtocolError(
        INVALID_PARAMS, message, id=request.id, status=BAD_REQUEST if request.modern else _OK
    )


def no_resource(request: McpRequest, uri: str) -> ProtocolError:
    """Return the error of a resource that does not exist."""
    return ProtocolError(
        INVALID_PARAMS if request.modern else RESOURCE_NOT_FOUND,
        "There is no note at this URI that you can see.",
        data={"uri": uri},
        id=request.id,
        status=BAD_REQUEST if request.modern else _OK,
    )


def response_of(request_id: RequestId, result: Mapping[str, object]) -> dict[str, object]:
    """Return the message that answers a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_of(error: ProtocolError) -> dict[str, object]:
    """Return the message that answers a request with ``error``."""
    body: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": error.id, "error": body}


def decoded_header(value: str) -> str | None:
    """Return the value that a header repeats; None if its Base64 is invalid.

    A value that is no plain ASCII is sent as ``=?base64?…?=`` ("Value Encoding").
    """
    if not (
        value.startswith("=?base64?") and value.endswith("?=") and len(value) > len("=?base64?")
    ):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -len("?=")], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def _is_modern(params: object, headers: RoutingHeaders) -> bool:
    if any(version in _MODERN for version in headers.versions):
        return True
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def _check_version(headers: RoutingHeaders, message_id: RequestId | None) -> str:
    """Return the revision in the headers of a message without one of its own."""
    if not headers.versions:
        return ASSUMED_VERSION
    version = headers.versions[0]
    if len(headers.versions) > 1:
        raise ProtocolError(
            HEADER_MISMATCH, "The header mcp-protocol-version is repeated.", id=message_id
        )
    if version not in _HANDSHAKE and version not in _MODERN:
        raise _unsupported(version, message_id)
    return version


def _unsupported(version: str, message_id: RequestId | None) -> ProtocolError:
    return ProtocolError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        data={"supported": list(VERSIONS), "requested": version[:_MAX_QUOTED]},
        id=message_id,
    )


def _modern_version(
    message_id: RequestId, method: str, params: dict[str, object], headers: RoutingHeaders
) -> str:
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        raise ProtocolError(
            INVALID_PARAMS,
            f"params._meta must have a text {PROTOCOL_VERSION_META_KEY}.",
            id=message_id,
        )
    _match("mcp-protocol-version", headers.versions, version, message_id)
    _match("mcp-method", headers.methods, method, message_id)
    named = _NAMES.get(method)
    name = None if named is None else params.get(named)
    if isinstance(name, str):
        names = tuple(decoded_header(name) or "" for name in headers.names)
        _match("mcp-name", names, name, message_id)
    if version not in _MODERN:
        raise _unsupported(version, message_id)
    return version


def _match(header: str, values: tuple[str, ...], body: str, message_id: RequestId) -> None:
    if values == (body,):
        return
    if not values:
        fault = "is missing"
    elif len(values) > 1:
        fault = "is repeated"
    else:
        fault = f"is {_quoted(values[0])}, the body has {_quoted(body)}"
    raise ProtocolError(
        HEADER_MISMATCH, f"Header mismatch: the header {header} {fault}.", id=message_id
    )


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place[:_MAX_QUOTED] or 'The message'}: {first['msg']}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")

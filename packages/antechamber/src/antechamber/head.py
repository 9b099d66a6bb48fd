"""Parse request heads with llhttp, and reject ambiguous ones.

Everything that a proxy could interpret differently is rejected (request smuggling, RFC 9112 section
11.2): two lengths, a length together with a transfer coding, bare CR or LF, folded lines, white
space before a colon, no host or two.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

import httptools

from antechamber.limits import Limits
from antechamber.rejection import ClientGone, RequestRejected, malformed
from antechamber.target import check_host, read_target

# The bytes around the target in a request line: method, two spaces, version.
_AROUND_TARGET = 32
# Letters, and the CR of an empty line that has not fully arrived.
_BEGINS_METHOD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\r")

_EMPTY_LINES = 8


async def gather_head(
    started: bytes, receive: Callable[[], Awaitable[bytes]], limits: Limits
) -> tuple[bytes, bytes]:
    """Return a complete head that begins with ``started``, and the bytes after it.

    ``receive`` waits for more bytes. Raises `ClientGone` when the client closes the connection, and
    `RequestRejected` (414, 431) as soon as the head is too large, complete or not.
    """
    gathered = bytearray(skip_empty_lines(started))
    seen = 0
    while (end := gathered.find(END, seen)) < 0:
        if gathered.count(b"\n") != gathered.count(b"\r\n"):
            raise malformed("Lines of the head must end with CR LF.")
        if gathered and gathered[0] not in _BEGINS_METHOD:
            raise malformed("The request line must begin with a method. Is this TLS?")
        if len(gathered) > limits.head_size or gathered.count(b"\n") > limits.header_count + 2:
            raise _too_large(gathered, limits)
        more = await receive()
        if not more:
            raise ClientGone
        seen = max(0, len(gathered) - len(END))
        gathered += more
        if not seen:
            gathered = bytearray(skip_empty_lines(bytes(gathered)))
    return split_head(bytes(gathered), end, limits)


def split_head(data: bytes, end: int, limits: Limits) -> tuple[bytes, bytes]:
    """Split ``data`` after the empty line at ``end`` into the head and the rest.

    Raises `RequestRejected` (414, 431) when the head is too large.
    """
    end += len(END)
    if end > limits.head_size:
        raise _too_large(data[:end], limits)
    return data[:end], data[end:]


def skip_empty_lines(data: bytes) -> bytes:
    """Return ``data`` without the empty lines before a request (RFC 9112 section 2.2).

    Raises `RequestRejected` (400) for more of them than clients send.
    """
    at = 0
    while data.startswith(b"\r\n", at):
        at += 2
        if at > _EMPTY_LINES * 2:
            raise malformed("Too many empty lines precede the request.")
    return data[at:]


def _too_large(gathered: bytes | bytearray, limits: Limits) -> RequestRejected:
    line = gathered.find(b"\r\n")
    if line < 0 or line > limits.target_length + _AROUND_TARGET:
        return target_too_long(limits)
    return head_too_large(limits)


END = b"\r\n\r\n"
Headers = list[tuple[bytes, bytes]]

_VERSIONS = {b"HTTP/1.1": "1.1", b"HTTP/1.0": "1.0"}
_REQUEST_LINE = "The request line must be a method, a target and HTTP/1.1."
_METHODS = {method.encode(): method for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")}
_OTHER_VERSION = re.compile(rb" HTTP/(?!1\.[01]$)[0-9]\.[0-9]$")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LONGEST_METHOD = 32
_DECISIVE = frozenset(
    {b"connection", b"content-length", b"expect", b"host", b"transfer-encoding", b"upgrade"}
)


@dataclass(slots=True)
class Head:
    """A request head. Header names are in lower case, values without surrounding white space.

    ``length`` is the length of the body in bytes; None means chunked. ``keep_alive`` is whether the
    client accepts more responses on the connection, ``expects`` whether it waits for a 100 before
    it sends the body, ``websocket`` whether it requests a WebSocket.
    """

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: Headers
    keep_alive: bool
    length: int | None = 0
    expects: bool = False
    websocket: bool = False


class _HeadEvents:
    """The callback of llhttp for one head. A callback for each header would cost more than all."""

    heads = 0

    def on_headers_complete(self) -> None:
        self.heads += 1


def parse_head(raw: bytes, limits: Limits) -> Head:
    """Parse ``raw``, a complete head with its final empty line and nothing after it.

    Raises `RequestRejected`: 400 for malformed or ambiguous heads, 414, 431, 417, 501 or 505.
    """
    if raw.count(b"\n") - 2 > limits.header_count:
        raise RequestRejected(
            "head_too_large", f"The head may have at most {limits.header_count} header fields."
        )
    events = _HeadEvents()
    # A reused parser would keep state of bodies, upgrades and closes.
    parser = httptools.HttpRequestParser(events)
    try:
        parser.feed_data(raw)
    except httptools.HttpParserUpgrade:
        # llhttp stops after the head of an upgrade, which the server handles itself.
        pass
    except httptools.HttpParserInvalidMethodError:
        if _TOKEN.match(raw) is None:
            raise malformed("The request line must begin with a method.") from None
        raise RequestRejected(
            "not_implemented", "The method of the request is not supported."
        ) from None
    except httptools.HttpParserError as error:
        raise _malformed_head(raw, f": {error}") from None
    if events.heads != 1:
        # Among others the preface of HTTP/2 (RFC 9113 section 3.4).
        raise _malformed_head(raw)
    # llhttp has accepted these lines: each of them ends with CR LF, and none is folded.
    line, *fields = raw[: -len(END)].split(b"\r\n")
    parts = line.split(b" ")
    # It skips empty lines before the request line, and takes several spaces for one.
    if len(parts) != 3 or parts[0] != parser.get_method():
        raise malformed(_REQUEST_LINE)
    method, target, protocol = parts
    if len(target) > limits.target_length:
        raise target_too_long(limits)
    version = _VERSIONS.get(protocol)
    if version is None:
        raise _other_version() if protocol.startswith(b"HTTP/") else malformed(_REQUEST_LINE)
    headers = [
        (name.lower(), value.strip(b" \t"))
        for name, _, value in [f.partition(b":") for f in fields]
    ]
    return _head(method, version, target, headers)


class PartialHead(NamedTuple):
    """The readable parts of a rejected head."""

    method: str
    path: str
    headers: Headers


NOTHING_READ = PartialHead("", "", [])


def read_partial_head(raw: bytes) -> PartialHead:
    """Return what the request line of ``raw`` appears to request; unreadable parts are empty."""
    method, space, rest = raw.partition(b"\r\n")[0].partition(b" ")
    if not space or len(method) > _LONGEST_METHOD or not _TOKEN.fullmatch(method):
        return NOTHING_READ
    path = rest.partition(b" ")[0].partition(b"?")[0]
    return PartialHead(method.decode("ascii"), path.decode("latin-1"), [])


def _malformed_head(raw: bytes, reason: str = "") -> RequestRejected:
    if _OTHER_VERSION.search(raw.partition(b"\r\n")[0]):
        return _other_version()
    return malformed(f"The head of the request is malformed{reason}.")


def _other_version() -> RequestRejected:
    return RequestRejected(
        "http_version_not_supported", "The request must use HTTP/1.1 or HTTP/1.0."
    )


def head_too_large(limits: Limits) -> RequestRejected:
    """Return the rejection of a head with too many bytes."""
    return RequestRejected("head_too_large", f"The head may have at most {limits.head_size} bytes.")


def target_too_long(limits: Limits) -> RequestRejected:
    """Return the rejection of a target with too many bytes."""
    return RequestRejected(
        "target_too_long", f"Path and query may have at most {limits.target_length} bytes."
    )


def _head(method: bytes, version: str, raw_target: bytes, headers: Headers) -> Head:
    is_http_1_1 = version == "1.1"
    if method == b"CONNECT":
        raise RequestRejected(
            "not_implemented", "CONNECT is not supported: this server is not a proxy."
        )
    if method == b"OPTIONS":
        target = read_target(raw_target, of_options=True)
    else:
        target = read_target(raw_target)
    fields: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _DECISIVE:
            if name not in fields:
                fields[name] = value
            elif name in (b"connection", b"upgrade"):
                fields[name] += b"," + value
            else:
                raise malformed(f"The header {name.decode()} may occur only once.")
    if b"host" in fields:
        check_host(fields[b"host"])
    elif is_http_1_1:
        raise malformed("The header host is missing.")
    if target.authority is not None:
        others = [field for field in headers if field[0] != b"host"]
        headers = [(b"host", target.authority), *others]
    verb = _METHODS.get(method) or method.decode("ascii")
    head = Head(verb, version, target.path, target.raw_path, target.query, headers, is_http_1_1)
    # Most requests have only the host of these, which HTTP/1.0 may omit.
    if len(fields) > (b"host" in fields):
        _read_fields(head, fields, is_http_1_1=is_http_1_1)
    return head


def _read_fields(head: Head, fields: dict[bytes, bytes], *, is_http_1_1: bool) -> None:
    if b"transfer-encoding" in fields:
        _check_coding(fields, is_http_1_1=is_http_1_1)
        head.length = None
    elif b"content-length" in fields:
        head.length = _read_length(fields[b"content-length"])
    if b"expect" in fields:
        head.expects = _expects(fields[b"expect"]) and is_http_1_1 and head.length != 0
    if b"connection" in fields:
        connection = _tokens(fields[b"connection"])
        head.keep_alive = is_http_1_1 and b"close" not in connection
        if (
            is_http_1_1
            and head.method == "GET"
            and b"upgrade" in connection
            and b"websocket" in _tokens(fields.get(b"upgrade", b""))
        ):
            head.websocket = True
            if head.length != 0:
                raise malformed("A WebSocket request must not have a body.")


def _tokens(value: bytes) -> tuple[bytes, ...]:
    tokens = tuple(
        token.strip(b" \t") for token in value.lower().split(b",") if token.strip(b" \t")
    )
    for token in tokens:
        # The upgrade header may have a version after a slash.
        if not all(_TOKEN.fullmatch(part) for part in token.split(b"/", 1)):
            raise malformed("The headers connection and upgrade must be lists of tokens.")
    return tokens


def _read_length(value: bytes) -> int:
    if not _LENGTH.fullmatch(value):
        raise malformed("The header content-length must be one whole number of bytes.")
    return int(value)


def _check_coding(fields: dict[bytes, bytes], *, is_http_1_1: bool) -> None:
    if b"content-length" in fields:
        raise malformed(
            "A body must have either a content-length or a transfer-encoding, not both."
        )
    if not is_http_1_1:
        raise malformed("HTTP/1.0 has no transfer-encoding.")
    value = fields[b"transfer-encoding"]
    codings = _tokens(value)
    if codings == (b"chunked",):
        if b"," not in value:
            return
    elif codings[-1:] == (b"chunked",) and codings.count(b"chunked") == 1:
        raise RequestRejected("not_implemented", "The only supported transfer-encoding is chunked.")
    # Empty list members are valid, but implementations differ on them.
    raise malformed("The header transfer-encoding must be chunked.")


def _expects(value: bytes) -> bool:
    if value.lower() != b"100-continue":
        raise RequestRejected(
            "expectation_failed", "The only supported expectation is 100-continue."
        )
    return True

"""The head of a request: parsed by llhttp, then held to what can be read in one way alone.

Whatever a proxy in front could read otherwise is refused (RFC 9112 section 11.2, request
smuggling): two lengths, a length beside a transfer coding, bare CR or LF, folded lines, white
space before a colon, two hosts or none.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import httptools

from octavo.http.server.limits import Limits
from octavo.http.server.rejection import RequestRejected, malformed
from octavo.http.server.target import check_host, read_target

END = b"\r\n\r\n"
Headers = list[tuple[bytes, bytes]]

_VERSIONS = {b" HTTP/1.1\r\n": "1.1", b" HTTP/1.0\r\n": "1.0"}
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
    """A request's head. Header names are in lower case, values without white space around.

    ``length`` is that of the body in bytes, None when it comes in chunks. ``keep_alive`` says
    whether the client can go on after the answer, ``expects`` that it waits for a 100 before
    it sends the body, ``websocket`` that it asks for one.
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
    """What llhttp calls while it reads one head."""

    __slots__ = ("headers", "heads", "target")

    def __init__(self) -> None:
        self.headers: Headers = []
        self.target = b""
        self.heads = 0

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self.heads += 1


def parse_head(raw: bytes, limits: Limits) -> Head:
    """Parse ``raw``, a head from its request line to its empty line, with nothing behind.

    Raises `RequestRejected`: 400 for what is no HTTP/1 or ambiguous, 414, 431, 417, 501 or 505.
    """
    if raw.count(b"\n") - 2 > limits.header_count:
        raise too_many_headers(limits)
    seen = _HeadEvents()
    # A parser that is used again remembers bodies, upgrades and closes to come.
    parser = httptools.HttpRequestParser(seen)
    try:
        parser.feed_data(raw)
    except httptools.HttpParserUpgrade:
        # llhttp stops behind the head of an upgrade; the wire decides itself what to do.
        pass
    except httptools.HttpParserInvalidMethodError:
        if _TOKEN.match(raw) is None:
            raise malformed("The request line has to begin with a method.") from None
        raise RequestRejected(
            "not_implemented", "The method of the request is not known."
        ) from None
    except httptools.HttpParserError as error:
        if _OTHER_VERSION.search(raw.partition(b"\r\n")[0]):
            raise _other_version() from None
        raise malformed(f"The head of the request is malformed: {error}.") from None
    if seen.heads != 1:
        raise malformed("The head of the request is malformed.")
    method, target = parser.get_method(), seen.target
    if len(target) > limits.target_length:
        raise target_too_long(limits)
    begin = method + b" " + target
    if not raw.startswith(begin):
        raise malformed("The request line has to be a method, a target and HTTP/1.1.")
    version = _VERSIONS.get(raw[len(begin) : len(begin) + 11])
    if version is None:
        if raw.startswith(b" HTTP/", len(begin)):
            raise _other_version()
        raise malformed("The request line has to be a method, a target and HTTP/1.1.")
    return _head(method, version, target, seen.headers)


class PartialHead(NamedTuple):
    """What a request asked for, as far as a head that is refused tells."""

    method: str
    path: str
    headers: Headers


def read_partial_head(raw: bytes) -> PartialHead:
    """Return what the request line of ``raw`` seems to ask for; empty where it tells nothing."""
    method, space, rest = raw.partition(b"\r\n")[0].partition(b" ")
    if not space or len(method) > _LONGEST_METHOD or not _TOKEN.fullmatch(method):
        return PartialHead("", "", [])
    path = rest.partition(b" ")[0].partition(b"?")[0]
    return PartialHead(method.decode("ascii"), path.decode("latin-1"), [])


def _other_version() -> RequestRejected:
    return RequestRejected(
        "http_version_not_supported", "The request has to be HTTP/1.1 or HTTP/1.0."
    )


def too_many_headers(limits: Limits) -> RequestRejected:
    """Return the refusal of a head with more fields than are taken."""
    return RequestRejected(
        "head_too_large", f"At most {limits.header_count} header fields are taken."
    )


def head_too_large(limits: Limits) -> RequestRejected:
    """Return the refusal of a head with more bytes than are taken."""
    return RequestRejected(
        "head_too_large", f"At most {limits.head_size} bytes of headers are taken."
    )


def target_too_long(limits: Limits) -> RequestRejected:
    """Return the refusal of a target with more bytes than are taken."""
    return RequestRejected(
        "target_too_long", f"At most {limits.target_length} bytes of path and query are taken."
    )


def _head(method: bytes, version: str, raw_target: bytes, headers: Headers) -> Head:
    modern = version == "1.1"
    if method == b"CONNECT":
        raise RequestRejected("not_implemented", "This is no proxy: CONNECT is not served.")
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
                raise malformed(f"The header {name.decode()} may stand there once only.")
    if b"host" in fields:
        check_host(fields[b"host"])
    elif modern:
        raise malformed("The header host is missing.")
    if target.authority is not None:
        others = [field for field in headers if field[0] != b"host"]
        headers = [(b"host", target.authority), *others]
    verb = _METHODS.get(method) or method.decode("ascii")
    head = Head(verb, version, target.path, target.raw_path, target.query, headers, modern)
    # Most requests have no other of these than the host, which HTTP/1.0 may leave out.
    if len(fields) > (b"host" in fields):
        _read_fields(head, fields, modern=modern)
    return head


def _read_fields(head: Head, fields: dict[bytes, bytes], *, modern: bool) -> None:
    if b"transfer-encoding" in fields:
        _check_coding(fields, modern=modern)
        head.length = None
    elif b"content-length" in fields:
        head.length = _read_length(fields[b"content-length"])
    if b"expect" in fields:
        head.expects = _expects(fields[b"expect"]) and modern and head.length != 0
    if b"connection" in fields:
        connection = _tokens(fields[b"connection"])
        head.keep_alive = modern and b"close" not in connection
        if (
            modern
            and head.method == "GET"
            and b"upgrade" in connection
            and b"websocket" in _tokens(fields.get(b"upgrade", b""))
        ):
            head.websocket = True
            if head.length != 0:
                raise malformed("A request for a WebSocket has no body.")


def _tokens(value: bytes) -> tuple[bytes, ...]:
    tokens = tuple(
        token.strip(b" \t") for token in value.lower().split(b",") if token.strip(b" \t")
    )
    for token in tokens:
        # upgrade may carry a version behind a slash.
        if not all(_TOKEN.fullmatch(part) for part in token.split(b"/", 1)):
            raise malformed("The headers connection and upgrade take a list of tokens.")
    return tokens


def _read_length(value: bytes) -> int:
    if not _LENGTH.fullmatch(value):
        raise malformed("The header content-length takes one whole number of bytes.")
    return int(value)


def _check_coding(fields: dict[bytes, bytes], *, modern: bool) -> None:
    if b"content-length" in fields:
        raise malformed("A body has either a content-length or a transfer-encoding, never both.")
    if not modern:
        raise malformed("HTTP/1.0 has no transfer-encoding.")
    value = fields[b"transfer-encoding"]
    codings = _tokens(value)
    if codings == (b"chunked",):
        if b"," not in value:
            return
    elif codings[-1:] == (b"chunked",) and codings.count(b"chunked") == 1:
        raise RequestRejected("not_implemented", "The only transfer-encoding taken is chunked.")
    # An empty member of the list would be in order, and others read it otherwise.
    raise malformed("The header transfer-encoding has to be chunked.")


def _expects(value: bytes) -> bool:
    if value.lower() != b"100-continue":
        raise RequestRejected("expectation_failed", "The only expectation met is 100-continue.")
    return True

"""Validate the header fields of an HTTP/2 request, and translate them for the application.

Malformed requests (RFC 9113 section 8.1.1) raise `StreamError`; what HTTP/1.1 would answer with a
problem raises `RequestRejected`, as there.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from octavo.http.server.asgi import Scope
from octavo.http.server.http1.head import (
    Headers,
    PartialHead,
    head_too_large,
    target_too_long,
    too_many_headers,
)
from octavo.http.server.http2.frames import ErrorCode, StreamError
from octavo.http.server.http2.header_decoder import Field
from octavo.http.server.limits import Limits
from octavo.http.server.rejection import RequestRejected, malformed
from octavo.http.server.target import check_host, read_target

_METHODS = {method.encode(): method for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")}
# Those that llhttp knows besides, roughly: HTTP/1.1 refuses others as well.
_METHOD = re.compile(rb"[A-Z-]{1,32}")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
# Control characters; white space at either end (RFC 9113 section 8.2.1).
_INVALID_VALUE = re.compile(rb"[\0-\x08\x0a-\x1f\x7f]|\A[ \t]|[ \t]\Z")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_PSEUDO = frozenset((b":method", b":scheme", b":path", b":authority"))
_PLAIN, _DECISIVE, _CONNECTION = range(3)
_KINDS = dict.fromkeys(
    (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"),
    _CONNECTION,
) | dict.fromkeys((b"content-length", b"cookie", b"expect", b"host", b"te"), _DECISIVE)
_FIELD_COST = 32
_LOGGED_PATH = 512
_MAX_NAME = 256


class RequestFields(NamedTuple):
    """The well-formed fields of a request.

    ``headers`` begin with the host; the crumbs of a cookie are one header again (RFC 9113 section
    8.2.3). ``length`` is the length of the body, None if it was not declared. ``host`` is None when
    neither the authority nor the header were sent.
    """

    method: bytes
    path: bytes
    host: bytes | None
    headers: Headers
    length: int | None
    expect: bytes | None


def read_fields(fields: list[Field]) -> RequestFields:
    """Return the parts of a request head. Raises `StreamError` for a malformed one."""
    pseudo: dict[bytes, bytes] = {}
    headers: Headers = [(b"host", b"")]
    decisive: dict[bytes, bytes] = {}
    for field in fields:
        name, value = field
        if _INVALID_VALUE.search(value):
            raise _malformed("the value of a field is invalid")
        if name[:1] == b":":
            if name in pseudo or name not in _PSEUDO or len(headers) > 1 or decisive:
                raise _malformed("a pseudo-header field that is unknown, repeated or misplaced")
            pseudo[name] = value
            continue
        kind = _known_kind(name) if len(name) <= _MAX_NAME else _known_kind.__wrapped__(name)
        if kind is _PLAIN:
            headers.append(field)
        elif kind is _CONNECTION:
            raise _malformed("a field of the connection")
        elif name == b"cookie":
            decisive[name] = decisive[name] + b"; " + value if name in decisive else value
        elif name in decisive:
            raise _malformed("a field that may occur only once")
        else:
            decisive[name] = value
            if name != b"host":
                headers.append(field)
    method, path = pseudo.get(b":method"), pseudo.get(b":path")
    if method == b"CONNECT":
        # Not even a WebSocket: those use connections of their own.
        raise StreamError(ErrorCode.HTTP_1_1_REQUIRED, "CONNECT is not supported")
    if not method or not path or not pseudo.get(b":scheme"):
        raise _malformed("a pseudo-header field is missing")
    host = pseudo.get(b":authority")
    length: int | None = None
    if decisive:
        host = _host(host, decisive.get(b"host"))
        length = _length(decisive.get(b"content-length"))
        if decisive.get(b"te", b"trailers").lower() != b"trailers":
            raise _malformed("te may only be trailers")
        if b"cookie" in decisive:
            headers.append((b"cookie", decisive[b"cookie"]))
    headers[0] = (b"host", host or b"")
    return RequestFields(method, path, host, headers, length, decisive.get(b"expect"))


def check_trailers(fields: list[Field], limits: Limits) -> None:
    """Raise `StreamError` for malformed trailers, and for too many (RFC 9113 section 8.1)."""
    for name, value in fields:
        if _INVALID_VALUE.search(value) or name[:1] == b":" or _kind_of(name) is _CONNECTION:
            raise _malformed("a trailer field is invalid")
    if len(fields) > limits.header_count or _size(fields) > limits.head_size:
        raise StreamError(ErrorCode.ENHANCE_YOUR_CALM, "the trailers are too large")


def fill_scope(scope: Scope, request: RequestFields, fields: list[Field], limits: Limits) -> None:
    """Set method and target in ``scope``.

    Raises `RequestRejected` as for HTTP/1.1: 400, 414, 417, 431 and 501. The scope then has what
    the log needs.
    """
    method, path = request.method, request.path
    verb = _METHODS.get(method)
    if len(fields) > limits.header_count:
        raise too_many_headers(limits)
    if _size(fields) > limits.head_size:
        raise head_too_large(limits)
    if len(path) > limits.target_length:
        raise target_too_long(limits)
    if verb is None:
        if not _METHOD.fullmatch(method):
            raise RequestRejected("not_implemented", "The method of the request is not supported.")
        verb = method.decode("ascii")
    target = read_target(path, of_options=True) if verb == "OPTIONS" else read_target(path)
    if target.authority is not None:
        raise malformed("The path must start with '/'.")
    if request.host is None:
        raise malformed("The request has no host.")
    check_host(request.host)
    if request.expect is not None and request.expect.lower() != b"100-continue":
        raise RequestRejected(
            "expectation_failed", "The only supported expectation is 100-continue."
        )
    scope["method"] = verb
    scope["path"], scope["raw_path"], scope["query_string"] = target[:3]


def partial_head(request: RequestFields) -> PartialHead:
    """Return what a rejected request appears to request, for the log."""
    method = request.method if _METHOD.fullmatch(request.method) else b""
    path = request.path.partition(b"?")[0][:_LOGGED_PATH]
    return PartialHead(method.decode("ascii"), path.decode("latin-1"), request.headers)


def _size(fields: list[Field]) -> int:
    """Return the size as in the settings of HTTP/2 (RFC 9113 section 6.5.2)."""
    size = _FIELD_COST * len(fields)
    for name, value in fields:
        size += len(name) + len(value)
    return size


# Clients use few names. Long ones are not kept.
@lru_cache(maxsize=512)
def _known_kind(name: bytes) -> int:
    kind = _KINDS.get(name)
    if kind is None:
        if not _NAME.fullmatch(name):
            raise _malformed("the name of a field is invalid")
        return _PLAIN
    return kind


def _kind_of(name: bytes) -> int:
    return _known_kind(name) if len(name) <= _MAX_NAME else _known_kind.__wrapped__(name)


def _host(authority: bytes | None, host: bytes | None) -> bytes | None:
    if authority is None or host is None:
        return host if authority is None else authority
    if authority.lower() != host.lower():
        # RFC 9113 section 8.3.1.
        raise _malformed("the host differs from the authority")
    return authority


def _length(value: bytes | None) -> int | None:
    if value is None:
        return None
    if not _LENGTH.fullmatch(value):
        raise _malformed("content-length must be one number")
    return int(value)


def _malformed(reason: str) -> StreamError:
    return StreamError(ErrorCode.PROTOCOL_ERROR, reason)

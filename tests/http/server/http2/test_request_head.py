"""The fields of a request over HTTP/2: what is malformed, and what the application sees."""

import pytest

from octavo.http.server.asgi import Scope
from octavo.http.server.http2.frames import ErrorCode, StreamError
from octavo.http.server.http2.header_decoder import Field
from octavo.http.server.http2.request_head import (
    check_trailers,
    fill_scope,
    partial_head,
    read_fields,
)
from octavo.http.server.limits import Limits
from octavo.http.server.rejection import RequestRejected

GET = [(b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/a?b"), (b":authority", b"h")]
LIMITS = Limits(head_size=2_000, header_count=10, target_length=200)


def without(name: bytes) -> list[Field]:
    return [field for field in GET if field[0] != name]


def changed(name: bytes, value: bytes) -> list[Field]:
    return [(each, value if each == name else old) for each, old in GET]


# By the sections of RFC 9113.
MALFORMED = {
    "8.2.1 upper case": [*GET, (b"X-Name", b"a")],
    "8.2.1 space in a name": [*GET, (b"x name", b"a")],
    "8.2.1 colon in a name": [*GET, (b"x:name", b"a")],
    "8.2.1 empty name": [*GET, (b"", b"a")],
    "8.2.1 long invalid name": [*GET, (b"x" * 300 + b" ", b"a")],
    "8.2.1 NUL in a value": [*GET, (b"x-name", b"a\0")],
    "8.2.1 line break in a value": [*GET, (b"x-name", b"a\r\nb: c")],
    "8.2.1 line break in a pseudo-header": changed(b":path", b"/\r\n"),
    "8.2.1 white space before a value": [*GET, (b"x-name", b" a")],
    "8.2.1 white space after a value": [*GET, (b"x-name", b"a\t")],
    "8.2.2 connection": [*GET, (b"connection", b"keep-alive")],
    "8.2.2 keep-alive": [*GET, (b"keep-alive", b"timeout=5")],
    "8.2.2 proxy-connection": [*GET, (b"proxy-connection", b"close")],
    "8.2.2 transfer-encoding": [*GET, (b"transfer-encoding", b"chunked")],
    "8.2.2 upgrade": [*GET, (b"upgrade", b"websocket")],
    "8.2.2 te other than trailers": [*GET, (b"te", b"trailers, deflate")],
    "8.3 unknown pseudo-header": [*GET, (b":unknown", b"a")],
    "8.3 pseudo-header of a response": [*GET, (b":status", b"200")],
    "8.3 pseudo-header after a field": [*GET[:3], (b"x-name", b"a"), GET[3]],
    "8.3 pseudo-header after a cookie": [*GET[:3], (b"cookie", b"a=b"), GET[3]],
    "8.3.1 empty path": changed(b":path", b""),
    "8.3.1 no method": without(b":method"),
    "8.3.1 no scheme": without(b":scheme"),
    "8.3.1 no path": without(b":path"),
    "8.3.1 two methods": [GET[0], *GET],
    "8.3.1 two schemes": [GET[1], *GET],
    "8.3.1 two paths": [GET[2], *GET],
    "8.3.1 two authorities": [GET[3], *GET],
    "8.3.1 host that differs": [*GET, (b"host", b"other")],
    "8.3.1 two hosts": [*GET, (b"host", b"h"), (b"host", b"h")],
    "8.1.1 two lengths": [*GET, (b"content-length", b"1"), (b"content-length", b"1")],
    "8.1.1 length that is no number": [*GET, (b"content-length", b"+1")],
    "8.5 protocol of an extended CONNECT": [*GET, (b":protocol", b"websocket")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_malformed_request_is_an_error_of_its_stream(fields: list[Field]) -> None:
    with pytest.raises(StreamError) as raised:
        read_fields(fields)
    assert raised.value.code is ErrorCode.PROTOCOL_ERROR


def test_connect_is_referred_to_http_1_1() -> None:
    with pytest.raises(StreamError) as raised:
        read_fields([(b":method", b"CONNECT"), (b":authority", b"h:443")])
    assert raised.value.code is ErrorCode.HTTP_1_1_REQUIRED


def filled(fields: list[Field]) -> Scope:
    scope: Scope = {}
    fill_scope(scope, read_fields(fields), fields, LIMITS)
    return scope


def test_request_is_translated_for_the_application() -> None:
    scope = filled([*GET, (b"accept", b"*/*")])
    assert scope == {"method": "GET", "path": "/a", "raw_path": b"/a", "query_string": b"b"}
    request = read_fields([*GET, (b"accept", b"*/*"), (b"content-length", b"12")])
    assert request.headers == [(b"host", b"h"), (b"accept", b"*/*"), (b"content-length", b"12")]
    assert request.length == 12


def test_host_stands_for_a_missing_authority() -> None:
    request = read_fields([*without(b":authority"), (b"host", b"a")])
    assert request.headers == [(b"host", b"a")]


def test_crumbs_of_a_cookie_are_joined() -> None:
    crumbs = [(b"cookie", b"a=1"), (b"accept", b"*/*"), (b"cookie", b"b=2")]
    assert read_fields([*GET, *crumbs]).headers[1:] == [
        (b"accept", b"*/*"),
        (b"cookie", b"a=1; b=2"),
    ]


def test_te_may_be_trailers() -> None:
    assert (b"te", b"trailers") in read_fields([*GET, (b"te", b"trailers")]).headers


REJECTED = {
    "many fields": ([*GET, *[(b"x", b"a")] * 10], "head_too_large"),
    "large fields": ([*GET, (b"x", b"a" * 2_000)], "head_too_large"),
    "long path": (changed(b":path", b"/" * 201), "target_too_long"),
    "unknown method": (changed(b":method", b"get"), "not_implemented"),
    "absolute path": (changed(b":path", b"http://a/"), "invalid_request"),
    "asterisk": (changed(b":path", b"*"), "invalid_request"),
    "no host": (without(b":authority"), "invalid_request"),
    "two hosts in one": (changed(b":authority", b"a,b c"), "invalid_request"),
    "other expectation": ([*GET, (b"expect", b"miracles")], "expectation_failed"),
}


@pytest.mark.parametrize(("fields", "code"), REJECTED.values(), ids=REJECTED)
def test_what_http_1_1_rejects_is_rejected(fields: list[Field], code: str) -> None:
    with pytest.raises(RequestRejected) as raised:
        filled(fields)
    assert raised.value.code == code


def test_options_may_have_an_asterisk() -> None:
    scope = filled([(b":method", b"OPTIONS"), *changed(b":path", b"*")[1:]])
    assert (scope["method"], scope["path"]) == ("OPTIONS", "*")


def test_log_of_a_rejection_gets_a_short_path_without_its_query() -> None:
    head = partial_head(read_fields(changed(b":path", b"/" + b"a" * 9_000 + b"?b")))
    assert (head.method, len(head.path)) == ("GET", 512)
    assert partial_head(read_fields(changed(b":method", b"g t"))).method == ""


@pytest.mark.parametrize(
    "field", [(b":path", b"/"), (b"X", b"a"), (b"te", b"a\n"), (b"upgrade", b"")]
)
def test_malformed_trailers_are_an_error_of_their_stream(field: Field) -> None:
    with pytest.raises(StreamError) as raised:
        check_trailers([field], LIMITS)
    assert raised.value.code is ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize("fields", [[(b"x", b"a")] * 11, [(b"x", b"a" * 2_000)]])
def test_trailers_are_limited_like_headers(fields: list[Field]) -> None:
    with pytest.raises(StreamError) as raised:
        check_trailers(fields, LIMITS)
    assert raised.value.code is ErrorCode.ENHANCE_YOUR_CALM

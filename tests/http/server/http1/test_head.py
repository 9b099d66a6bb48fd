"""Which byte is allowed where in a head, for every byte; the parser keeps no state."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.server.http1.head import parse_head
from octavo.http.server.rejection import RequestRejected
from tests.fakes.http_server import QUICK

TOKEN = set((string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~").encode())
VALUE = {0x09, *range(0x20, 0x7F), *range(0x80, 0x100)}
# A '?' ends the path and a '%' needs digits after it: both may occur there.
TARGET = set(range(0x21, 0x7F)) - set(b"#%")


def taken(raw: bytes) -> bool:
    try:
        parse_head(raw, QUICK)
    except RequestRejected:
        return False
    return True


@pytest.mark.parametrize("byte", range(256))
def test_byte_is_accepted_exactly_where_the_grammar_allows_it(byte: int) -> None:
    one = bytes([byte])
    head = b"GET / HTTP/1.1\r\nhost: a\r\n"
    assert taken(head + b"x: a" + one + b"b\r\n\r\n") is (byte in VALUE)
    assert taken(head + b"a" + one + b"b: c\r\n\r\n") is (byte in TOKEN or byte == 0x3A)
    assert taken(b"GET /a" + one + b"b HTTP/1.1\r\nhost: a\r\n\r\n") is (byte in TARGET)
    assert not taken(b"GET /" + one + b" HTTP/1.1\r\nhost:\r\n\r\n")


@given(st.binary(max_size=60))
def test_accepted_head_has_the_content_of_its_request_line(noise: bytes) -> None:
    raw = b"GET /" + noise + b" HTTP/1.1\r\nhost: a\r\n\r\n"
    try:
        head = parse_head(raw, QUICK)
    except RequestRejected:
        return
    line = re.match(rb"GET (/[^ ]*) HTTP/1\.1\r\n", raw)
    assert line is not None
    query = b"?" + head.query if b"?" in line[1] else b""
    assert head.raw_path + query == line[1]


def test_parser_keeps_nothing_of_another_head() -> None:
    last = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
    for before in (
        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"nonsense\r\n\r\n",
    ):
        taken(before)
        head = parse_head(last, QUICK)
        assert (head.length, head.keep_alive, head.websocket) == (0, True, False)

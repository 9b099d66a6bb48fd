"""Which byte is allowed where in a head, for every byte; the parser keeps no state."""

import re
import string
from contextlib import suppress
from random import Random

import httptools
import pytest
from antechamber.head import END, parse_head, skip_empty_lines, split_head
from antechamber.rejection import RequestRejected
from hypothesis import given
from hypothesis import strategies as st

from .http_server import QUICK

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


class Reference:
    """What llhttp reads in a head."""

    def __init__(self, raw: bytes) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.target = b""
        with suppress(httptools.HttpParserUpgrade):
            httptools.HttpRequestParser(self).feed_data(raw)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_url(self, url: bytes) -> None:
        self.target += url


HEADS = (
    b"GET /a?b HTTP/1.1\r\nhost: a\r\nX-A: b c \r\ncookie:\ta=b\r\nempty:\r\nq: \xc3\xa4\r\n\r\n",
    b"POST /x HTTP/1.0\r\ncontent-length: 3\r\nHost:a:1\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: Upgrade, keep-alive\r\n\r\n",
)
DECISIVE = b"\0\t\n\v\r\r\n\n :;,aZ0\x7f\x80\xff"


def test_accepted_head_is_read_as_llhttp_reads_it() -> None:
    random = Random(3)
    accepted = 0
    for _ in range(20_000):
        mutated = bytearray(random.choice(HEADS))
        for _ in range(random.choice((1, 1, 2, 3))):
            at = random.randrange(len(mutated))
            replaced = random.choice((b"", bytes((mutated[at],))))
            mutated[at : at + 1] = replaced + bytes((random.choice(DECISIVE),))
        end = mutated.find(b"\r\n\r\n")
        raw = bytes(mutated[: end + 4])
        if end < 0 or not taken(raw):
            continue
        accepted += 1
        head, reference = parse_head(raw, QUICK), Reference(raw)
        assert head.headers == reference.headers, raw
        query = b"?" + head.query if b"?" in reference.target else b""
        assert head.raw_path + query == reference.target, raw
    assert accepted > 2_000


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


def test_head_is_split_from_what_follows_up_to_its_limit() -> None:
    start = b"GET / HTTP/1.1\r\nhost: "
    for size, accepted in ((QUICK.head_size, True), (QUICK.head_size + 1, False)):
        raw = start + b"a" * (size - len(start) - len(END)) + END
        if accepted:
            assert split_head(raw + b"rest", raw.find(END), QUICK) == (raw, b"rest")
        else:
            with pytest.raises(RequestRejected):
                split_head(raw + b"rest", raw.find(END), QUICK)


def test_eight_empty_lines_may_precede_a_request() -> None:
    assert skip_empty_lines(b"\r\n" * 8 + b"GET") == b"GET"
    with pytest.raises(RequestRejected):
        skip_empty_lines(b"\r\n" * 9 + b"GET")


def test_authority_of_the_target_replaces_the_host() -> None:
    head = parse_head(b"GET http://b/ HTTP/1.1\r\nx: y\r\nhost: a\r\n\r\n", QUICK)
    assert head.headers == [(b"host", b"b"), (b"x", b"y")]


@pytest.mark.parametrize(
    ("version", "length", "expects"),
    [(b"1.1", b"1", True), (b"1.1", b"0", False), (b"1.0", b"1", False)],
)
def test_client_waits_for_a_100_before_a_body_only(
    version: bytes, length: bytes, expects: bool
) -> None:
    fields = b"host: a\r\nexpect: 100-continue\r\ncontent-length: " + length
    head = parse_head(b"POST / HTTP/" + version + b"\r\n" + fields + b"\r\n\r\n", QUICK)
    assert head.expects is expects


def test_websocket_may_be_one_of_several_upgrades() -> None:
    fields = b"host: a\r\nconnection: keep-alive\r\nconnection: upgrade\r\n"
    upgrades = b"upgrade: h2c\r\nupgrade: websocket\r\n"
    assert parse_head(b"GET / HTTP/1.1\r\n" + fields + upgrades + b"\r\n", QUICK).websocket

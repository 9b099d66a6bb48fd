"""The headers of responses: another implementation decodes them, and most are one byte."""

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.server.http2.header_encoder import HeaderEncoder
from octavo.http.server.response import InvalidResponse

Headers = list[tuple[bytes, bytes]]
NAMES = st.sampled_from(
    [b"content-type", b"content-length", b"x-a", b"x-b", b"set-cookie", b"date", b"etag"]
)
VALUES = st.sampled_from([b"", b"1", b"a" * 1_500, b"b" * 900]) | st.text(
    st.characters(codec="ascii", categories=("L", "N")), max_size=900
).map(str.encode)
BLOCKS = st.lists(st.lists(st.tuples(NAMES, VALUES), max_size=9), max_size=12)
SAME = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


def decoded(decoder: hpack.Decoder, block: bytes) -> Headers:
    return [(name, value) for name, value in decoder.decode(block, raw=True)]


@given(blocks=BLOCKS, sizes=st.lists(st.none() | st.integers(0, 70_000), max_size=12))
def test_fields_are_decoded_by_another_implementation(
    blocks: list[Headers], sizes: list[int | None]
) -> None:
    encoder, decoder = HeaderEncoder(), hpack.Decoder()
    for headers in blocks:
        size = sizes.pop() if sizes else None
        if size is not None:
            encoder.resize(size)
            decoder.max_allowed_table_size = size
        assert decoded(decoder, encoder.encode(200, headers)) == [(b":status", b"200"), *headers]


def test_repeated_headers_are_a_byte_each() -> None:
    encoder = HeaderEncoder()
    encoder.encode(200, SAME)
    assert len(encoder.encode(200, SAME)) == 1 + len(SAME)


def test_what_differs_each_time_stays_out_of_the_table() -> None:
    encoder = HeaderEncoder()
    first = encoder.encode(200, SAME)
    for number in range(1_000):
        unique = (b"x-request-id", b"%d" % number)
        encoder.encode(200, [*SAME, unique, (b"content-length", b"%d" % number)])
    again = encoder.encode(200, SAME)
    assert len(again) == 1 + len(SAME) < len(first)


@pytest.mark.parametrize("name", [b"set-cookie", b"authorization"])
def test_secret_is_never_indexed(name: bytes) -> None:
    decoder = hpack.Decoder()
    encoder = HeaderEncoder()
    for _ in range(2):
        [_, field] = decoder.decode(encoder.encode(200, [(name, b"secret")]), raw=True)
        assert isinstance(field, hpack.NeverIndexedHeaderTuple)


def test_headers_of_the_connection_are_left_out() -> None:
    names = (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding")
    block = HeaderEncoder().encode(404, [(name, b"close") for name in names])
    assert decoded(hpack.Decoder(), block) == [(b":status", b"404")]


def test_names_become_lower_case_and_values_lose_their_white_space() -> None:
    encoder, decoder = HeaderEncoder(), hpack.Decoder()
    for _ in range(2):
        block = encoder.encode(299, [(b"X-Name", b" a b\t")])
        assert decoded(decoder, block) == [(b":status", b"299"), (b"x-name", b"a b")]


@pytest.mark.parametrize(
    "header",
    [
        (b"x-name", b"a\r\nb: c"),
        (b"x-name", b"\0"),
        (b"x name", b"a"),
        (b":path", b"/"),
        (b"", b""),
    ],
)
def test_invalid_header_is_refused_and_leaves_the_compression_intact(
    header: tuple[bytes, bytes],
) -> None:
    encoder, decoder = HeaderEncoder(), hpack.Decoder()
    decoded(decoder, encoder.encode(200, SAME))
    with pytest.raises(InvalidResponse):
        encoder.encode(200, [(b"x-new", b"1"), header])
    for _ in range(2):
        block = encoder.encode(200, [*SAME, (b"x-other", b"2")])
        assert decoded(decoder, block)[1:] == [*SAME, (b"x-other", b"2")]

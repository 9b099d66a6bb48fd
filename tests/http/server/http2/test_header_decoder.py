"""Compressed headers: what another implementation encodes is decoded, and anything else refused."""

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.server.http2.frames import ErrorCode, Http2Error
from octavo.http.server.http2.header_decoder import HeaderDecoder

LARGEST = 65_536
NAMES = st.sampled_from([b":path", b"accept", b"cookie", b"x-a", b"x-b"]) | st.binary(max_size=80)
VALUES = st.sampled_from([b"", b"/", b"gzip, deflate", b"a" * 2_000]) | st.binary(max_size=80)
BLOCKS = st.lists(st.lists(st.tuples(NAMES, VALUES), max_size=8), max_size=12)


@given(blocks=BLOCKS, huffman=st.booleans(), sizes=st.lists(st.integers(0, 4096), max_size=12))
def test_fields_of_another_implementation_are_decoded(
    blocks: list[list[tuple[bytes, bytes]]], huffman: bool, sizes: list[int]
) -> None:
    encoder, decoder = hpack.Encoder(), HeaderDecoder(LARGEST)
    for fields in blocks:
        if sizes:
            encoder.header_table_size = sizes.pop()
        assert decoder.decode(encoder.encode(fields, huffman=huffman)) == fields


@pytest.mark.parametrize("pattern", [b"\x40", b"\x00", b"\x10"], ids=["indexed", "not", "never"])
def test_literal_is_decoded_and_only_kept_where_it_says_so(pattern: bytes) -> None:
    decoder = HeaderDecoder(LARGEST)
    assert decoder.decode(pattern + b"\x03x-a\x01b") == [(b"x-a", b"b")]
    if pattern == b"\x40":
        assert decoder.decode(b"\xbe") == [(b"x-a", b"b")]
    else:
        with pytest.raises(Http2Error):
            decoder.decode(b"\xbe")


def test_sizes_of_the_table_may_change_several_times_before_the_first_field() -> None:
    decoder = HeaderDecoder(LARGEST)
    decoder.decode(b"\x40\x03x-a\x01b")
    assert decoder.decode(b"\x20\x3f\xe1\x1f\x82") == [(b":method", b"GET")]
    with pytest.raises(Http2Error):
        decoder.decode(b"\xbe")


MALFORMED = {
    "index 0 (RFC 7541 section 6.1)": b"\x80",
    "invalid index (section 2.3.3)": b"\xc6",
    "literal with an invalid index (section 2.3.3)": b"\x7f\x20\x05empty",
    "table size after a field (section 4.2)": b"\x82\x20",
    "table size over the limit (section 6.3)": b"\x3f\xe2\x1f",
    "padding longer than 7 bits (section 5.2)": b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff",
    "padding of zeros (section 5.2)": b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90",
    "the symbol EOS (section 5.2)": (
        b"\x00\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f"
    ),
    "cut off in an integer": b"\xff\x80",
    "cut off in a name": b"\x40\x05x-a",
    "cut off before a value": b"\x40\x03x-a",
    "cut off in a value": b"\x40\x03x-a\x05b",
    "endless integer": b"\xff" + b"\x80" * 1_000 + b"\x01",
    "integer over 28 bits": b"\x40\x7f\xff\xff\xff\xff\xff\x01",
}


@pytest.mark.parametrize("block", MALFORMED.values(), ids=MALFORMED)
def test_malformed_block_is_a_compression_error(block: bytes) -> None:
    with pytest.raises(Http2Error) as raised:
        HeaderDecoder(LARGEST).decode(block)
    assert raised.value.code is ErrorCode.COMPRESSION_ERROR


@given(block=st.binary(max_size=300))
def test_any_bytes_are_fields_or_an_error_of_the_connection(block: bytes) -> None:
    try:
        fields = HeaderDecoder(LARGEST).decode(block)
    except Http2Error:
        return
    reference = hpack.Decoder()
    reference.max_header_list_size = 2**32
    assert fields == [tuple(field) for field in reference.decode(block, raw=True)]


def test_small_block_does_not_stand_for_more_than_the_limit() -> None:
    decoder = HeaderDecoder(LARGEST)
    decoder.decode(b"\x40\x03x-a\x7f\xa1\x1e" + b"b" * 4_000)
    with pytest.raises(Http2Error) as raised:
        decoder.decode(b"\xbe" * 1_000)
    assert raised.value.code is ErrorCode.ENHANCE_YOUR_CALM

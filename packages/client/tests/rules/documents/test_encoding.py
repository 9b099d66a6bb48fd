import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.documents.encoding import (
    LONG_BYTES,
    LONGEST_BYTES,
    read_state_vector,
    write_state_vector,
)
from octavo_rules.problems import DocumentMalformed
from pycrdt import Doc, Text

vectors = st.dictionaries(
    st.integers(0, 2**53 - 1), st.integers(0, 2**31 - 1), min_size=0, max_size=20
)


@given(vectors)
def test_state_vector_round_trips(vector: dict[int, int]) -> None:
    assert read_state_vector(write_state_vector(vector)) == vector


@given(vectors, st.data())
def test_state_vector_truncated_anywhere_is_refused(
    vector: dict[int, int], data: st.DataObject
) -> None:
    written = write_state_vector(vector)
    cut = data.draw(st.integers(0, len(written) - 1))
    with pytest.raises(DocumentMalformed, match="is truncated"):
        read_state_vector(written[:cut])


@given(st.binary(max_size=40))
def test_state_vector_of_any_bytes_is_read_unambiguously_or_refused(data: bytes) -> None:
    try:
        vector = read_state_vector(data)
    except DocumentMalformed:
        return
    assert read_state_vector(write_state_vector(vector)) == vector
    assert len(write_state_vector(vector)) == len(data)


def test_long_state_vector_is_read_like_any_other_and_one_that_is_too_long_is_refused() -> None:
    vector = {client: client % 3 for client in range(1 << 20, (1 << 20) + 50_000)}
    written = write_state_vector(vector)
    assert LONG_BYTES < len(written) < LONGEST_BYTES
    assert read_state_vector(written) == vector
    with pytest.raises(DocumentMalformed, match="Bytes follow"):
        read_state_vector(written + b"\0")
    with pytest.raises(DocumentMalformed, match=r"\d+ bytes; the maximum is 524288. Leave it out"):
        read_state_vector(bytes([0xFF]) * (LONGEST_BYTES + 1))


def test_state_vector_is_written_with_the_highest_client_first() -> None:
    assert write_state_vector({1: 2, 300: 4, 7: 200}) == bytes([3, 172, 2, 4, 7, 200, 1, 1, 2])


def test_state_vector_of_a_document_equals_the_librarys() -> None:
    doc: Doc[Text] = Doc(client_id=300)
    text = doc.get("text", type=Text)
    text += "four"
    assert read_state_vector(doc.get_state()) == {300: 4}
    assert write_state_vector({300: 4}) == doc.get_state()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is truncated"),
        (b"\x01\x05", "is truncated"),
        (b"\xff\xff\xff\xff\x0f\x01\x01", "is truncated"),
        (b"\x00\x00", "Bytes follow"),
        (b"\x02\x05\x01\x05\x02", "twice"),
        (b"\x01\x05\x80\x80\x80\x80\x08", "31 bits"),
        (b"\x01\x80\x80\x80\x80\x80\x80\x80\x10\x01", "53 bits"),
        (b"\x01\x80\x80\x80\x80\x80\x80\x80\x80\x01\x01", "53 bits"),
        (b"\x81\x00\x05\x01", "shortest form"),
    ],
)
def test_malformed_state_vector_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(DocumentMalformed, match=why):
        read_state_vector(data)

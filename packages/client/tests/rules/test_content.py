"""The text of a note, and the one that is read only when it is needed."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.content import StoredText, note_text
from octavo_rules.identity import Digest
from octavo_rules.problems import InvalidContent


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_size_and_digest_are_those_of_the_bytes(text: str) -> None:
    content = note_text(text)
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    assert (content.text, content.size, content.digest) == (text, len(data), digest)


@pytest.mark.parametrize(("text", "reason"), [("a\0", "U+0000"), ("\ud800", "lone surrogate")])
def test_text_that_can_not_be_stored_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidContent) as refusal:
        note_text(text)
    assert reason in refusal.value.detail


def test_stored_text_is_read_when_it_is_asked_for() -> None:
    read: list[bytes] = []

    def decode(stored: bytes) -> str:
        read.append(stored)
        return stored.decode()

    content = StoredText(b"text", 4, Digest("d"), decode)
    assert (content.size, content.digest, read) == (4, "d", [])
    assert content.text == "text"
    assert read == [b"text"]


def test_stored_texts_are_equal_however_they_are_read() -> None:
    digest = Digest("d")
    assert StoredText(b"a", 1, digest, bytes.decode) == StoredText(b"a", 1, digest, str)
    assert StoredText(b"a", 1, digest, bytes.decode) != StoredText(b"b", 1, digest, bytes.decode)

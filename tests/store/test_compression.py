"""Texts as the databases store them."""

import threading

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from octavo.store import TextDamaged
from octavo.store.compression import compressed, decompressed, text_of, undamaged

NOTE = "# Tide\n\nThe water comes twice a day, and twice a day it goes.\n" * 20
LONG = "".join(f"line {number}\n" for number in range(10_000))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_round_trips(text: str) -> None:
    assert decompressed(compressed(text), "f") == undamaged(compressed(text)) == text


def test_longest_text_round_trips() -> None:
    text = "🦉" * (512 * 1024)
    assert decompressed(compressed(text), "f") == text


def test_repetition_takes_little_room() -> None:
    assert len(compressed(NOTE)) < len(NOTE) / 10


def test_missing_text_has_none() -> None:
    assert text_of(None, "f") is None
    assert text_of(compressed(""), "f") == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a frame",
        compressed(NOTE)[:-1],
        compressed(NOTE) + b"x",
        zstandard.ZstdCompressor().compress(b"\xff"),
        # A frame that does not have the length of its content: it was not written by this module.
        zstandard.ZstdCompressor(write_content_size=False).compress(NOTE.encode()),
    ],
    ids=["empty", "other", "cut", "longer", "no unicode", "no size"],
)
def test_damaged_text_is_reported_with_its_file(data: bytes) -> None:
    with pytest.raises(TextDamaged, match="the text of the file f is damaged: ") as caught:
        decompressed(data, "f")
    assert caught.value.file_id == "f"
    assert undamaged(data) is None


@pytest.mark.parametrize("text", ["", "abcd", NOTE, LONG], ids=["empty", "word", "note", "long"])
def test_no_flipped_bit_makes_another_text(text: str) -> None:
    stored = compressed(text)
    for at in range(min(len(stored), 2000)):
        for bit in range(8):
            spoiled = bytearray(stored)
            spoiled[at] ^= 1 << bit
            # Some bits mean nothing.
            assert undamaged(bytes(spoiled)) in (None, text)


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        compressed("\ud800")


def test_threads_compress_at_the_same_time() -> None:
    # The contexts of the library belong to one thread at a time.
    failures = []
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        texts = [f"{number} {each}\n{NOTE}" * each for each in range(1, 60)]
        if [undamaged(compressed(text)) for text in texts] != texts:
            failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

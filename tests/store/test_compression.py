"""Texts as the databases store them."""

import threading

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from octavo.store import StoreUnavailable
from octavo.store.compression import compressed, decompressed, text_of

NOTE = "# Tide\n\nThe water comes twice a day, and twice a day it goes.\n" * 20


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_round_trips(text: str) -> None:
    assert decompressed(compressed(text)) == text


def test_repetition_takes_little_room() -> None:
    assert len(compressed(NOTE)) < len(NOTE) / 10


def test_missing_text_has_none() -> None:
    assert text_of(None) is None
    assert text_of(compressed("")) == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a frame",
        compressed(NOTE)[:-1],
        zstandard.ZstdCompressor().compress(b"\xff"),
        # A frame that does not say how long its content is: it was not written by this module.
        zstandard.ZstdCompressor(write_content_size=False).compress(NOTE.encode()),
    ],
    ids=["empty", "other", "cut", "no unicode", "no size"],
)
def test_damaged_text_is_a_failure_of_the_database(data: bytes) -> None:
    with pytest.raises(StoreUnavailable, match="a stored text is damaged"):
        decompressed(data)


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
        if [*map(decompressed, map(compressed, texts))] != texts:
            failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

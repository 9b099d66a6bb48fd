"""The names of blobs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Digest

from octavo.store.blobs import blob_key
from octavo.store.blobs.blob_store import digest_of_key, path_of_key

digests = st.binary(min_size=32, max_size=32).map(lambda data: Digest(data.hex()))


@given(digests, st.binary(min_size=4, max_size=32))
def test_key_has_the_digest_and_the_path_begins_with_it(digest: Digest, entropy: bytes) -> None:
    key = blob_key(digest, entropy)
    assert digest_of_key(key) == digest
    first, second, name = path_of_key(key).split("/")
    assert first + second == digest[:4]
    assert name == key


def test_same_bytes_have_another_key_at_each_upload() -> None:
    digest = Digest("0f" * 32)
    assert blob_key(digest, b"1234") != blob_key(digest, b"1235")


@pytest.mark.parametrize("digest", ["", "0f" * 31, "0F" * 32, "../" + "0" * 61, "0f" * 32 + "\n"])
def test_key_needs_a_digest(digest: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        blob_key(Digest(digest), b"1234")


def test_key_needs_entropy() -> None:
    with pytest.raises(ValueError, match="entropy"):
        blob_key(Digest("0f" * 32), b"123")

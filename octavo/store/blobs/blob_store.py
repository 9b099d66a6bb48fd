"""The interface of a blob store, whatever holds the bytes."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NewType, Protocol

from octavo_rules.identity import Digest

BlobKey = NewType("BlobKey", str)
"""The name of a blob: the digest of its bytes, and a suffix that differs for each upload.

Without the suffix, a new upload of bytes whose blob is being deleted would lose its blob.
"""

CHUNK = 256 * 1024
"""Maximum size in bytes of a piece that a blob is read in."""

_DIGEST = re.compile("[0-9a-f]{64}")
_SUFFIX = 8
_KEY = re.compile(f"[0-9a-f]{{64}}-[0-9a-f]{{{_SUFFIX}}}")


class BlobsUnavailable(Exception):
    """The blob store can't be used now. The same call may succeed later."""


class BlobsFull(BlobsUnavailable):
    """The blob store is out of space."""


class BlobsUnusable(Exception):
    """The blob store can't be opened until an administrator has acted."""


class BlobMissing(Exception):
    """There is no blob with this key, although the database refers to it."""


class BlobDamaged(BlobMissing):
    """The bytes of a blob are not those that were stored: they are never returned."""


class BlobStore(Protocol):
    """Stores blobs by their keys."""

    async def put(self, key: BlobKey, source: Path) -> None:
        """Store the bytes of the file ``source``; when this returns, the blob is durable.

        The file may be moved away. An existing blob with the key is replaced. Raises
        `BlobsUnavailable`; then, and when cancelled, the blob may have been stored or not, but
        never in part.
        """

    def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from ``start`` to before ``stop`` in pieces of at most `CHUNK` bytes.

        ``stop`` None means the end. Bytes beyond the end are left out. Close what
        is not read to its end. A step raises `BlobMissing` and `BlobsUnavailable`.
        """

    async def is_intact(self, key: BlobKey) -> bool:
        """Return whether the bytes of a blob are there and right.

        An object store, which looks after that itself, is not asked. Raises `BlobsUnavailable`.
        """

    async def fetch(self, key: BlobKey, target: Path) -> None:
        """Make the blob the new file ``target``, for a program that reads a file.

        The file must not be changed: it may be a second name of the blob itself.

        Raises `BlobMissing`, `BlobsUnavailable` and `FileExistsError`. If it fails or is
        cancelled, the file may have been written in part.
        """

    async def delete(self, key: BlobKey) -> None:
        """Delete the blob; one that does not exist is not an error.

        Raises `BlobsUnavailable`; then, and when cancelled, it may have been deleted or not.
        """

    async def check(self) -> None:
        """Raise `BlobsUnavailable` unless blobs can be stored."""


def blob_key(digest: Digest, entropy: bytes) -> BlobKey:
    """Return a new key for bytes with ``digest``; raise ValueError for an invalid digest.

    ``entropy`` has at least 4 random bytes.
    """
    if not _DIGEST.fullmatch(digest) or len(entropy) < _SUFFIX // 2:
        raise ValueError("a key needs a SHA-256 digest and entropy of 4 bytes")
    return BlobKey(f"{digest}-{entropy.hex()[:_SUFFIX]}")


def is_blob_key(text: str) -> bool:
    """Return whether ``text`` has the form of the key of a blob."""
    return _KEY.fullmatch(text) is not None


def digest_of_key(key: BlobKey) -> Digest:
    """Return the digest of the bytes of a blob."""
    return Digest(key.partition("-")[0])


def path_of_key(key: BlobKey) -> str:
    """Return the path of a blob in the store: a folder for each of the first two pairs of digits.

    A folder has 256 folders at most, and a tree of a million blobs about 15 in each.
    """
    return f"{key[:2]}/{key[2:4]}/{key}"

"""Ids that are derived from others, so that a repetition makes the same."""

from functools import lru_cache
from hashlib import sha256
from typing import Literal

from octavo_rules.identity import RANDOM_BYTES, uuid7

_TIME = slice(0, 13)


def derived_id(
    import_id: str, archive: str, kind: Literal["file", "object", "changeset"], number: int
) -> str:
    """Return the identifier of the ``number``-th thing of its kind that an import makes.

    It has the time of the import, and sorts by the number among those of its kind. The rest is
    taken from digests: only those can guess it that know the import. ``archive`` is the result of
    `archive_of`: with other parts, an import makes other things.
    """
    milliseconds, of_kind = _common(import_id, archive, kind)
    of_one = sha256(f"{import_id} {archive} {kind} {number}".encode()).digest()
    # The first three bytes are shortened to 18 bits.
    return uuid7(milliseconds, of_kind + number.to_bytes(4, "big") + of_one[: RANDOM_BYTES - 7])


@lru_cache(maxsize=64)
def _common(import_id: str, archive: str, kind: str) -> tuple[int, bytes]:
    """Return what the identifiers of one kind have in common: time, and the start of the rest."""
    digest = sha256(f"{import_id} {archive} {kind}".encode()).digest()
    return int(import_id[_TIME].replace("-", ""), 16), digest[:3]

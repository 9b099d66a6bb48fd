"""Short names in place of UUIDs, for tests that store things by readable identifiers.

The stores convert identifiers to 16 bytes. After `install`, they also accept ASCII text of at most
15 characters: its characters become the bytes, followed by zeros, so it sorts as text does. UUIDs
are converted as without this: none that the service generates begins with a letter's byte and ends
with a zero.
"""

from functools import lru_cache

from octavo.store import identifiers

_to_bytes, _to_text = identifiers.to_bytes, identifiers.to_text
_MOST = 15
# Conversions, as those of UUIDs are.
_REMEMBERED = 8192


@lru_cache(maxsize=_REMEMBERED)
def _name_to_bytes(identifier: str) -> bytes:
    if 0 < len(identifier) <= _MOST and identifier.isascii() and identifier.isprintable():
        return identifier.encode().ljust(_MOST + 1, b"\0")
    return _to_bytes(identifier)


@lru_cache(maxsize=_REMEMBERED)
def _bytes_to_name(data: bytes) -> str:
    name = data.rstrip(b"\0")
    if 0 < len(name) <= _MOST and all(0x20 <= byte < 0x7F for byte in name):
        return name.decode()
    return _to_text(data)


def install() -> None:
    """Let the stores of this process accept short names as identifiers."""
    identifiers.to_bytes = _name_to_bytes
    identifiers.to_text = _bytes_to_name
    # The conversion of whole columns supports UUIDs only.
    identifiers.FEW = 1 << 62

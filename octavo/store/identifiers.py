"""Identifiers as the databases store them: UUIDs of 16 bytes.

The package knows them as text (`octavo_rules.identity`). A statement casts each argument that is an
identifier, ``$1::uuid``, and each column of a result that holds identifiers is named ``id`` or
``…_id``. The engines convert both.

The empty text is converted to the nil UUID, which sorts before all others.
"""

from binascii import unhexlify
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

NIL = b"\0" * 16
LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""Sorts after all identifiers that are assigned (RFC 9562 section 5.10)."""
_SIZE = 16
# Cached conversions: most statements name the same workspaces, accounts and files.
_REMEMBERED = 8192
# Characters of an identifier as text, and the positions of its digits.
_LENGTH = 36
_DIGITS = [at for at in range(_LENGTH) if at not in (8, 13, 18, 23)]
# Below so many, converting them one by one is faster.
FEW = 6
_MANY = 500


@lru_cache(maxsize=_REMEMBERED)
def to_bytes(identifier: str) -> bytes:
    """Return the bytes of an identifier; raise ValueError for text that is not a UUID."""
    if not identifier:
        return NIL
    data = unhexlify(identifier.replace("-", ""))
    if len(data) != _SIZE:
        raise ValueError(f"{identifier!r} is not a UUID")
    return data


@lru_cache(maxsize=_REMEMBERED)
def to_text(data: bytes) -> str:
    """Return the identifier that is stored as 16 bytes."""
    digits = data.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def to_texts(column: Sequence[bytes | None]) -> list[str | None]:
    """Return the identifiers of a column, in which None stays None.

    Many are converted together, one digit of all of them at a time.
    """
    distinct = set(column)
    if len(column) < FEW or None in distinct:
        return [None if data is None else to_text(data) for data in column]
    if 2 * len(distinct) < len(column):
        texts_of = dict(zip(distinct, to_texts([*distinct]), strict=True))
        return [texts_of[data] for data in column]
    digits = b"".join(column).hex().encode()  # type: ignore[arg-type]  # None was excluded
    step = _LENGTH + 1
    texts = bytearray(b"-" * _LENGTH + b"\n") * len(column)
    for number, at in enumerate(_DIGITS):
        texts[at::step] = digits[number :: 2 * _SIZE]
    return [*texts.decode().split("\n")[:-1]]


def identifier_columns(names: Iterable[str]) -> tuple[int, ...]:
    """Return which columns of a result hold identifiers, by their names."""
    return tuple(at for at, name in enumerate(names) if name == "id" or name.endswith("_id"))


def with_text(row: Sequence[Any], columns: Sequence[int]) -> Sequence[Any]:
    """Return a row in which the identifiers of some columns are converted to text."""
    values = [*row]
    for at in columns:
        if values[at] is not None:
            values[at] = to_text(values[at])
    return tuple(values)


def with_texts(rows: Sequence[Sequence[Any]], columns: Sequence[int]) -> Sequence[Sequence[Any]]:
    """Return rows in which the identifiers of some columns are converted to text."""
    if len(rows) < FEW:
        return [with_text(row, columns) for row in rows]
    if len(rows) > _MANY:
        # More of them would not stay in the caches of the processor.
        portions = (rows[at : at + _MANY] for at in range(0, len(rows), _MANY))
        return [row for portion in portions for row in with_texts(portion, columns)]
    transposed: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    converted: list[tuple[Sequence[bytes | None], list[str | None]]] = []
    for at in columns:
        column = transposed[at]
        # A content usually has the id of the revision.
        texts = next((texts for other, texts in converted if other == column), None)
        if texts is None:
            texts = to_texts(column)
            converted.append((column, texts))
        transposed[at] = texts
    return [*zip(*transposed, strict=True)]

"""Run one statement for many names or rows with few calls: each is a round trip to a server."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from octavo.store.transaction import Row, T, Transaction, Value

# An engine prepares a statement once for each number of names, so there are few numbers.
_SIZES = (1, 3, 10, 30, 100)


async def select_in(
    transaction: Transaction, sql: str, scope: Value, names: Sequence[Value]
) -> list[Row]:
    """Return the rows that ``sql`` selects for ``names``, in no particular order.

    Each name is looked up once. ``$1`` in ``sql`` is ``scope``. The names are the arguments of
    ``IN ($ids)`` when they are identifiers, and of ``IN ($names)`` otherwise.
    """
    rows: list[Row] = []
    for chunk in _chunks(names):
        rows += await transaction.fetch_all(_filled(sql, len(chunk)), scope, *chunk)
    return rows


def _chunks(names: Sequence[T]) -> Iterator[list[T]]:
    """Yield the distinct names in chunks of `_SIZES`."""
    distinct = list(dict.fromkeys(names))
    maximum = _SIZES[-1]
    for at in range(0, len(distinct), maximum):
        chunk = distinct[at : at + maximum]
        size = next(each for each in _SIZES if each >= len(chunk))
        # A name that is repeated is found once.
        yield chunk + chunk[-1:] * (size - len(chunk))


@lru_cache(maxsize=1024)
def _filled(sql: str, size: int) -> str:
    """Return a statement for ``size`` names."""
    places = [f"${number}" for number in range(2, size + 2)]
    filled = sql.replace("$names", ", ".join(places))
    return filled.replace("$ids", ", ".join(f"{place}::uuid" for place in places))


async def select_pairs(
    transaction: Transaction, sql: str, pairs: Sequence[tuple[Value, Value]]
) -> list[Row]:
    """Return the rows that ``sql`` selects for ``pairs`` of identifiers, in no particular order.

    They are the arguments of ``IN (VALUES $pairs)``. Each pair is looked up once.
    """
    rows: list[Row] = []
    for chunk in _chunks(pairs):
        rows += await transaction.fetch_all(_paired(sql, len(chunk)), *chain.from_iterable(chunk))
    return rows


@lru_cache(maxsize=64)
def _paired(sql: str, size: int) -> str:
    """Return a statement for ``size`` pairs."""
    places = [f"(${2 * each + 1}::uuid, ${2 * each + 2}::uuid)" for each in range(size)]
    return sql.replace("$pairs", ", ".join(places))


async def execute_each(transaction: Transaction, sql: str, rows: Sequence[Sequence[Value]]) -> None:
    """Execute ``sql`` for each row of arguments; do nothing without rows."""
    if len(rows) == 1:
        await transaction.execute(sql, *rows[0])
    elif rows:
        await transaction.execute_many(sql, rows)

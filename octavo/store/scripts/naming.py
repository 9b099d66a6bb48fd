"""Fetch the rows of many names with few statements: each is a round trip to a distant database."""

from collections.abc import Sequence

from octavo.store.transaction import Row, Transaction, Value

# An engine prepares a statement once for each number of names, so there are few numbers.
_SIZES = (1, 3, 10, 30, 100)


async def fetch_named(
    transaction: Transaction, sql: str, scope: Value, names: Sequence[str]
) -> list[Row]:
    """Answer the rows that ``sql`` finds for ``names``, in no order, each name once.

    ``$1`` in ``sql`` is ``scope``, and ``IN ($names)`` takes the names.
    """
    rows: list[Row] = []
    distinct = list(dict.fromkeys(names))
    most = _SIZES[-1]
    for at in range(0, len(distinct), most):
        chunk = distinct[at : at + most]
        size = next(each for each in _SIZES if each >= len(chunk))
        # A name that stands there twice is found once.
        chunk += chunk[-1:] * (size - len(chunk))
        places = ", ".join(f"${number}" for number in range(2, size + 2))
        rows += await transaction.fetch_all(sql.replace("$names", places), scope, *chunk)
    return rows

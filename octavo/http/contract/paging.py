"""Cursor pagination: the query parameters ``limit`` and ``after``."""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar
from uuid import UUID

from octavo_rules.problems import InvalidRequest
from octavo_rules.schema_base import Cursor
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from octavo.http.contract.contract_model import Model

T = TypeVar("T")

MAX_LIMIT = 500
_MAX_DIGITS = 20
_MAX_CURSOR_DIGITS = 15


def _in_digits(value: object) -> object:
    if not isinstance(value, str):
        return value
    # pydantic also accepts Python's forms: 1_000, +1, surrounding spaces.
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS):
        raise PydanticCustomError(
            "whole_number", "This must be a number of at most 20 digits, and nothing else."
        )
    return int(value)


IN_DIGITS = BeforeValidator(_in_digits)
"""Requires a query number to be decimal digits; placed after its bounds."""
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), IN_DIGITS]


class PageQuery(Model):
    """Selects the page of a list."""

    limit: Limit = 100
    """Maximum number of items."""
    after: Cursor | None = None
    """``next`` of the previous page; omitted for the first page."""


def cursor(*parts: str) -> str:
    """Return the cursor of the position after an item with the sort keys ``parts``."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(
    after: str | None, count: int, *, identifier: int | None = None, numbers: Sequence[int] = ()
) -> tuple[str, ...] | None:
    """Return the ``count`` sort keys of a cursor; None for the first page.

    The key at index ``identifier``, if given, must be a UUID, and those at the indexes ``numbers``
    decimal digits of an integer below 2^53. Raises `InvalidRequest` for text that
    `cursor` did not return.
    """
    if after is None:
        return None
    try:
        padded = after + "=" * (-len(after) % 4)
        parts = json.loads(base64.b64decode(padded, altchars="-_", validate=True))
        if not (isinstance(parts, list) and len(parts) == count):
            raise ValueError(after)
        if any(not isinstance(part, str) or "\0" in part for part in parts):
            raise ValueError(after)
        "".join(parts).encode()
        if identifier is not None and str(UUID(parts[identifier])) != parts[identifier]:
            raise ValueError(after)
        if not all(_is_number(parts[index]) for index in numbers):
            raise ValueError(after)
    except (ValueError, RecursionError):
        message = "This is not a cursor of this list: use next of the previous page, or omit it."
        raise InvalidRequest(errors=[("/query/after", message)]) from None
    return tuple(parts)


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _MAX_CURSOR_DIGITS


def split_page(
    items: Sequence[T], limit: int, key: Callable[[T], tuple[str, ...]]
) -> tuple[Sequence[T], str | None]:
    """Return the first ``limit`` items of ``found``, and the cursor of the next page.

    ``found`` has one item more than ``limit`` if there is a next page; otherwise the cursor is
    None. ``key`` returns the sort keys of an item.
    """
    page = items[:limit]
    return page, cursor(*key(page[-1])) if len(items) > limit else None


async def page_by_id(
    query: PageQuery,
    read: Callable[[str | None, int], Awaitable[Sequence[T]]],
    id_of: Callable[[T], str],
) -> tuple[Sequence[T], str | None]:
    """Return a page of a list in the order of identifiers, and the cursor of the next page.

    Args:
        query: selects the page.
        read: returns the items after one with an identifier, None for the first ones; at most as
            many as the second argument says.
        id_of: returns the identifier of an item.
    """
    after = read_cursor(query.after, 1, identifier=0)
    items = await read(None if after is None else after[0], query.limit + 1)
    return split_page(items, query.limit, lambda item: (id_of(item),))

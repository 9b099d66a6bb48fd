"""Pages of lists that can grow: how many, and behind which one (both of the query)."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.problems import InvalidRequest

T = TypeVar("T")

MOST = 500
_MOST_DIGITS = 20


def _in_digits(given: object) -> object:
    if not isinstance(given, str):
        return given
    # pydantic takes what Python does, too: 1_000, +1, a number between spaces.
    if not (given.isascii() and given.isdigit() and len(given) <= _MOST_DIGITS):
        raise PydanticCustomError(
            "whole_number", "This has to be a whole number, in 20 digits at most."
        )
    return int(given)


IN_DIGITS = BeforeValidator(_in_digits)
"""Of a number in a query; stands behind its bounds."""
Limit = Annotated[int, Field(ge=1, le=MOST), IN_DIGITS]


Cursor = Annotated[str, Field(json_schema_extra={"pattern": "^[A-Za-z0-9_-]+$"})]
"""A cursor that `cursor` made; `read_cursor` reads it."""


class PageQuery(ContractModel):
    """Which page of a list."""

    limit: Limit = 100
    """How many to answer at most."""
    after: Cursor | None = None
    """``next`` of the page before; omitted for the first page."""


def cursor(*parts: str) -> str:
    """Return what names the place behind an item, whose sort keys are ``parts``."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(
    after: str | None, count: int, *, identifier: int | None = None
) -> tuple[str, ...] | None:
    """Return the ``count`` sort keys of a cursor; None for the first page.

    The key at index ``identifier``, if given, has to be a UUID. Raises `InvalidRequest` for text
    that `cursor` did not return.
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
    except (ValueError, RecursionError):
        told = "This is no cursor of this list: take next of the page before, or leave it out."
        raise InvalidRequest(errors=[("/query/after", told)]) from None
    return tuple(parts)


def split_page(
    found: Sequence[T], limit: int, key: Callable[[T], tuple[str, ...]]
) -> tuple[Sequence[T], str | None]:
    """Return the first ``limit`` items of ``found``, and the cursor of the next page.

    ``found`` has one item more than ``limit`` when there is a next page; otherwise the cursor is
    None. ``key`` returns the sort keys of an item.
    """
    page = found[:limit]
    return page, cursor(*key(page[-1])) if len(found) > limit else None

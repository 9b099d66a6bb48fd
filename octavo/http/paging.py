"""Pages of lists that can grow: how many, and behind which one (both of the query)."""

import base64
import json
from typing import Annotated

from pydantic import Field

from octavo.http.contract_model import ContractModel
from octavo.http.problems import InvalidRequest

MOST = 500
Limit = Annotated[int, Field(ge=1, le=MOST)]


class PageQuery(ContractModel):
    """Which page of a list."""

    limit: Limit = 100
    """How many to answer at most."""
    after: str | None = None
    """``next`` of the page before; left out for the first page."""


def cursor(*parts: str) -> str:
    """Answer what names the place behind an item, whose sort keys are ``parts``."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(after: str | None, count: int) -> tuple[str, ...] | None:
    """Answer the ``count`` sort keys of a cursor; None for the first page.

    Raises `InvalidRequest` when `cursor` did not make it.
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
    except (ValueError, RecursionError):
        told = "This is no cursor of this list: take next of the page before, or leave it out."
        raise InvalidRequest(errors=[("/query/after", told)]) from None
    return tuple(parts)

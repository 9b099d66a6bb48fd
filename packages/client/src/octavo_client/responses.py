"""The responses of the server: their types, how they are parsed, and lists of several pages.

The types are those of `octavo_rules.schemas`, which the service writes. Unknown members are
ignored, so that newer servers may add some. Times are timezone-aware, in UTC.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Generic, TypeVar

from octavo_rules.identity import AccountId, Position, RevisionId, WorkspaceId
from octavo_rules.schemas import ListPage, Schema
from pydantic import BaseModel, Field, ValidationError

from octavo_client.errors import UnexpectedResponse

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class AccountInfo(Schema):
    """An account after its registration."""

    id: AccountId
    address: str
    display_name: str


class Notice(Schema):
    """A message of the notification stream; its members depend on its type."""

    type: str
    workspace_id: WorkspaceId | None = None
    position: Annotated[Position, Field(ge=0)] | None = None
    mark: RevisionId | None = None
    reason: str = ""


def parse_response(kind: type[M], body: bytes | str) -> M:
    """Parse the JSON ``body`` as a ``kind``. Raises `UnexpectedResponse` if it does not match."""
    try:
        return kind.model_validate_json(body, extra="ignore", by_alias=True, by_name=False)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_context=False)
        place = "/".join(map(str, first["loc"]))
        raise UnexpectedResponse(f"not a {kind.__name__}: {first['msg']} at /{place}") from None


class Pages(Generic[T]):
    """Iterates over the items of all pages, and reads each page when it is needed.

    This is an iterator rather than a generator, so it need not be closed.

    Args:
        read: returns the page at a cursor; None for the first page.
    """

    def __init__(self, read: Callable[[str | None], Awaitable[ListPage[T]]]) -> None:
        self._read = read
        self._items: list[T] = []
        self._after: str | None = None
        self._more = True

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        """Return the next item. Raises the errors of `read`; iteration may continue after them."""
        while not self._items:
            if not self._more:
                raise StopAsyncIteration
            page = await self._read(self._after)
            self._items = [*reversed(page.items)]
            self._after = page.next
            self._more = page.next is not None
        return self._items.pop()

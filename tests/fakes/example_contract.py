"""A small contract for tests: notes on a shelf, with every kind of response."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

import trio
from octavo_rules.problems import NotFound, NotSignedIn, Problem, RateLimited

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call, NotModified, Reply, Stream
from octavo.http.contract.contract_model import IN_PATH, HeaderModel, Model
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.request_context import RequestRecord

KNOWN = UUID("0190a0b0-0000-7000-8000-00000000000a")


class ShelfClosed(Problem):
    """The shelf is closed."""

    status, code = 409, "shut"
    summary = "The shelf is shut."


class ShelfPath(Model):
    shelf_id: Annotated[str, IN_PATH]


class PagePath(ShelfPath):
    page: str


class ListQuery(Model):
    limit: int = 100
    after: str | None = None


class ReadHeaders(HeaderModel):
    if_none_match: str | None = None


class WriteHeaders(HeaderModel):
    if_match: str


class Shelf(Model):
    shelf_id: UUID
    note_count: int


class NoteInput(Model):
    text: str


class NoteMade(Model):
    text: str
    by: str


@dataclass(frozen=True)
class Reader:
    name: str
    locked: bool = False
    scopes: frozenset[str] | None = None
    confined: bool = False


class Readers:
    """Identifies a reader by the header ``x-reader``."""

    async def authenticate(self, call: Call) -> Reader:
        name = call.header(b"x-reader")
        if name is None:
            raise NotSignedIn
        return Reader(
            name.decode(),
            locked=name.startswith(b"locked"),
            scopes=frozenset({"shelves:read"}) if name.startswith(b"limited") else None,
            confined=name.startswith(b"limited to"),
        )


class Turnstile:
    """Accepts each caller once per class."""

    def __init__(self) -> None:
        self.passed: set[tuple[str, str | None]] = set()

    async def admit(self, rate_class: str, call: Call) -> None:
        if (rate_class, call.remote_address) in self.passed:
            raise RateLimited(retry_after=7)
        self.passed.add((rate_class, call.remote_address))


@dataclass
class ShelfOperations:
    """Runs the hook of a test inside ``act`` and ``stream``."""

    acted: Callable[[Call], object] = lambda _: None
    chunks: list[bytes] = field(default_factory=list)
    failure: Exception | None = None
    closed: bool = False

    @operation(
        id="listShelves",
        method="GET",
        path="/api/shelves",
        tag="shelves",
        summary="List shelves",
        security=Security.NONE,
    )
    async def list_shelves(self, call: Call, query: ListQuery) -> tuple[int, str | None]:
        return query.limit, query.after

    @operation(
        id="getShelf",
        method="GET",
        path="/api/shelves/{shelfId}",
        tag="shelves",
        summary="Read a shelf",
        security=Security.SESSION_OR_KEY,
        locked=Locked.ALLOWED,
        scope="shelves:read",
        problems=(NotFound,),
        headers={"etag": "The version.", "cache-control": "Kept by the reader alone."},
    )
    async def get_shelf(
        self, call: Call, path: ShelfPath, headers: ReadHeaders
    ) -> Reply[Shelf] | NotModified:
        if UUID(path.shelf_id) != KNOWN:
            raise NotFound
        if headers.if_none_match == '"1"':
            return NotModified(((b"etag", b'"1"'),))
        shelf = Shelf(shelf_id=UUID(path.shelf_id), note_count=3)
        return Reply(shelf, ((b"etag", b'"1"'), (b"cache-control", b"private")))

    @operation(
        id="putNote",
        method="PUT",
        path="/api/shelves/{shelfId}/pages/{page}",
        tag="notes",
        summary="Write a page",
        security=Security.SESSION_OR_KEY,
        status=201,
        problems=(ShelfClosed,),
        body=json_body(NoteInput, limit=100),
        time=9.0,
        rate="writes",
        finish_when_client_leaves=True,
    )
    async def put_note(
        self, call: Call, path: PagePath, headers: WriteHeaders, body: NoteInput
    ) -> NoteMade:
        return NoteMade(text=f"{path.page}: {body.text}", by=call.principal_as(Reader).name)

    @operation(
        id="removeShelf",
        method="DELETE",
        path="/api/shelves/{shelfId}",
        tag="shelves",
        summary="Take a shelf down",
        security=Security.NONE,
        status=204,
    )
    async def remove_shelf(self, call: Call, path: ShelfPath) -> None:
        return None

    @operation(
        id="act",
        method="POST",
        path="/api/act",
        tag="shelves",
        summary="Do what the test wants",
        security=Security.NONE,
        problems=(ShelfClosed,),
        other_statuses=(202,),
        headers={"x-known": "Declared."},
    )
    async def act(self, call: Call) -> Shelf | Reply[Shelf]:
        await trio.lowlevel.checkpoint()
        return self.acted(call)  # type: ignore[return-value]

    @operation(
        id="stream",
        method="GET",
        path="/api/stream",
        tag="shelves",
        summary="Send bytes as they come",
        security=Security.NONE,
        media_types=("text/plain",),
    )
    async def stream(self, call: Call) -> Stream:
        length = sum(map(len, self.chunks)) if self.failure is None else None
        return Stream(self._bytes(), "text/plain", length)

    async def _bytes(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self.chunks:
                yield chunk
            if self.failure is not None:
                raise self.failure
        finally:
            self.closed = True


def shelf_application(
    shelf: ShelfOperations | None = None,
    records: list[RequestRecord] | None = None,
    *,
    strict: bool = True,
    readers: Readers | None = None,
    serving: Callable[[str | None], object] = lambda _: None,
) -> Application:
    """The application of the contract above, which logs into ``records``."""
    return Application(
        [shelf or ShelfOperations()],
        new_id=lambda: "made-here",
        log_request=(lambda _: None) if records is None else records.append,
        authenticators={Security.SESSION_OR_KEY: readers or Readers()},
        rate_limiter=Turnstile(),
        serving=serving,
        public_url="https://notes.example",
        strict=strict,
    )

"""The memory that requests and responses use in the application."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import pytest
import trio
import trio.testing
from antechamber.asgi import Event, Extension, Receive, Scope, Send
from octavo_rules.problems import ServerBusy

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call, Stream
from octavo.http.contract.contract_model import Model
from octavo.http.contract.memory_budget import (
    COUNTED,
    ROOM_SECONDS,
    STEP,
    MemoryBudget,
    Reservation,
)
from octavo.http.contract.operation import Security, operation
from tests.fakes.asgi_client import FakeExchange, Response, ask, never, scope_of

CLIENT = "192.0.2.7"
LIMIT = 4 * COUNTED
TEXT = "x" * COUNTED


class TextInput(Model):
    text: str


class Text(Model):
    text: str


@dataclass
class Texts:
    """Operations that receive and return texts; ``budget`` is where the application counts."""

    budget: MemoryBudget = field(default_factory=lambda: MemoryBudget(2 * STEP, STEP))
    held: list[int] = field(default_factory=list)
    go_on: trio.Event = field(default_factory=trio.Event)
    waits: bool = False
    taken: int = 0
    changes: bool = False

    @operation(
        id="take",
        method="POST",
        path="/api/take",
        tag="t",
        summary="Take",
        security=Security.NONE,
        status=204,
        body=json_body(TextInput, limit=LIMIT),
    )
    async def take(self, call: Call, body: TextInput) -> None:
        self.held.append(self.budget.held)

    @operation(
        id="give",
        method="GET",
        path="/api/give",
        tag="t",
        summary="Give",
        security=Security.NONE,
    )
    async def give(self, call: Call) -> Text:
        return Text(text=TEXT)

    @operation(
        id="change",
        method="POST",
        path="/api/change",
        tag="t",
        summary="Change",
        security=Security.NONE,
    )
    async def change(self, call: Call) -> Text:
        call.take(self.taken)
        self.held.append(self.budget.held)
        await self.go_on.wait()
        return Text(text=TEXT)

    @operation(
        id="look",
        method="POST",
        path="/api/look",
        tag="t",
        summary="Look",
        security=Security.NONE,
        reads=True,
    )
    async def look(self, call: Call) -> Text:
        call.changed = self.changes
        await self.go_on.wait()
        return Text(text=TEXT)

    @operation(
        id="add",
        method="POST",
        path="/api/add",
        tag="t",
        summary="Add",
        security=Security.NONE,
        status=204,
        body=json_body(TextInput, limit=LIMIT),
    )
    async def add(self, call: Call, body: TextInput) -> None:
        call.take(self.taken)
        self.held.append(self.budget.held)

    @operation(
        id="weigh",
        method="GET",
        path="/api/weigh",
        tag="t",
        summary="Weigh",
        security=Security.NONE,
    )
    async def weigh(self, call: Call) -> Text:
        await call.reserve(len(TEXT))
        self.held.append(self.budget.held)
        if self.waits:
            self.waits = False
            await self.go_on.wait()
        return Text(text=TEXT)

    @operation(
        id="stream",
        method="GET",
        path="/api/stream",
        tag="t",
        summary="Stream",
        security=Security.NONE,
        media_types=("text/plain",),
    )
    async def stream(self, call: Call) -> Stream:
        return Stream(self._chunks(), "text/plain")

    @operation(
        id="whole",
        method="GET",
        path="/api/whole",
        tag="t",
        summary="Stream what was read",
        security=Security.NONE,
        media_types=("text/plain",),
        time=60,
        renews_time=True,
    )
    async def whole(self, call: Call) -> Stream:
        await call.reserve(STEP)
        await self.go_on.wait()
        call.keep(3 * len(TEXT))
        return Stream(self._chunks(), "text/plain")

    async def _chunks(self) -> AsyncIterator[bytes]:
        for _ in range(3):
            self.held.append(self.budget.held)
            yield TEXT.encode()

    def application(self) -> Application:
        return Application(
            [self],
            new_id=lambda: "made",
            log_request=lambda _: None,
            memory=self.budget,
            strict=True,
        )


async def send_text(texts: Texts, size: int, *, announced: bool = True) -> Response:
    body = b'{"text":"%b"}' % (b"x" * (size - 11))
    assert len(body) == size
    headers = [(b"content-type", b"application/json")]
    if announced:
        headers.append((b"content-length", b"%d" % size))
    return await ask(texts.application(), "POST", "/api/take", headers=headers, body=[body])


@pytest.mark.parametrize(
    ("size", "announced", "held"),
    [
        (COUNTED - 1, True, 0),
        (COUNTED, True, COUNTED),
        (LIMIT, True, LIMIT),
        (100, False, 100),
        (COUNTED, False, COUNTED),
    ],
)
async def test_body_holds_what_has_arrived_until_the_handler_returned(
    size: int, announced: bool, held: int
) -> None:
    texts = Texts()
    assert (await send_text(texts, size, announced=announced)).status == 204
    assert texts.held == [held]
    assert texts.budget.held == 0


@pytest.mark.parametrize(
    ("length", "status"),
    [(b"%d" % COUNTED, 503), (b"%d" % (LIMIT + 1), 413), (b"1" * 30, 413), (b"no", 400)],
)
async def test_body_without_memory_is_refused_unread_and_reaches_no_handler(
    length: bytes, status: int
) -> None:
    texts = Texts()
    response = Response()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    with texts.budget.hold(CLIENT, STEP):
        scope = scope_of("POST", "/api/take", headers)
        await texts.application()(scope, never, response.take)
    assert response.status == status
    assert response.header("retry-after") == ("1" if status == 503 else None)
    assert texts.held == []


async def test_body_is_accepted_once_memory_is_free_again() -> None:
    texts = Texts()
    with texts.budget.hold(CLIENT, STEP):
        refused = await send_text(texts, COUNTED)
        assert (refused.status, refused.code) == (503, "server_busy")
        assert (await send_text(texts, COUNTED - 1)).status == 204
    assert (await send_text(texts, COUNTED)).status == 204


async def test_body_of_one_client_leaves_memory_for_another() -> None:
    texts = Texts()
    with texts.budget.hold("192.0.2.8", STEP):
        assert (await send_text(texts, COUNTED)).status == 204


@pytest.mark.parametrize("leaves", [True, False], ids=["client leaves", "cancelled"])
async def test_memory_of_a_body_that_never_arrives_is_released(leaves: bool) -> None:
    texts = Texts()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % LIMIT)]
    held: list[int] = []
    scope = trio.CancelScope()

    async def receive() -> Event:
        held.append(texts.budget.held)
        if len(held) == 1:
            return {"type": "http.request", "body": bytes(1000), "more_body": True}
        if not leaves:
            scope.cancel()
            await trio.lowlevel.checkpoint()
        return {"type": "http.disconnect"}

    with scope:
        await texts.application()(scope_of("POST", "/api/take", headers), receive, never_sent)
    assert (held, texts.budget.held) == ([0, 1000], 0)


async def test_stalled_body_gives_way_to_another_one() -> None:
    texts = Texts(MemoryBudget(2 * COUNTED, 2 * COUNTED))
    stalled = Response()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % (2 * COUNTED))]
    events = iter([{"type": "http.request", "body": bytes(COUNTED + 1), "more_body": True}])

    async def receive() -> Event:
        for event in events:
            return event
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        scope = scope_of("POST", "/api/take", headers)
        scope["client"] = ("192.0.2.8", 1)
        nursery.start_soon(texts.application(), scope, receive, stalled.take)
        await trio.testing.wait_all_tasks_blocked()
        assert texts.budget.held == COUNTED + 1
        assert (await send_text(texts, COUNTED)).status == 204
    assert (stalled.status, stalled.code) == (503, "server_busy")
    assert texts.held == [COUNTED]
    assert texts.budget.held == 0


async def never_sent(event: Event) -> None:
    raise AssertionError("there is nobody to respond to")


@pytest.mark.parametrize("wire", [True, False], ids=["wire", "other server"])
async def test_response_without_memory_is_refused(wire: bool) -> None:
    texts = Texts()
    exchange = FakeExchange() if wire else None
    with texts.budget.hold(CLIENT, STEP):
        response = await ask(texts.application(), "GET", "/api/give", exchange=exchange)
    assert (response.status, response.code) == (503, "server_busy")
    assert response.header("retry-after") == "1"
    assert (await ask(texts.application(), "GET", "/api/give")).json() == {"text": TEXT}


@pytest.mark.parametrize("target", ["/api/give", "/api/stream"])
async def test_response_is_held_until_sent_or_cancelled(target: str) -> None:
    texts = Texts()
    size = len(TEXT) + (11 if target == "/api/give" else 0)
    sending = trio.Event()

    async def send(event: Event) -> None:
        if event.get("body"):
            sending.set()
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        scope = scope_of("GET", target)
        nursery.start_soon(texts.application(), scope, never, send)
        await sending.wait()
        assert texts.budget.held == size
        nursery.cancel_scope.cancel()
    assert texts.budget.held == 0


@pytest.mark.parametrize("taken", [0, COUNTED])
async def test_response_to_a_committed_change_is_sent_without_memory(taken: int) -> None:
    texts = Texts(taken=taken)
    responses: list[Response] = []

    async def change() -> None:
        responses.append(await ask(texts.application(), "POST", "/api/change"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(change)
        await trio.testing.wait_all_tasks_blocked()
        with texts.budget.reserve_unchecked(CLIENT, STEP):
            texts.go_on.set()
            await trio.testing.wait_all_tasks_blocked()
            assert responses[0].json() == {"text": TEXT}
            # A small one is not even refused up front.
            texts.taken = 0
            await change()
    assert [each.status for each in responses] == [200, 200]
    assert texts.budget.held == 0


@pytest.mark.parametrize("changes", [True, False])
async def test_response_of_an_operation_that_reads_is_refused_unless_it_changed_something(
    changes: bool,
) -> None:
    texts = Texts(changes=changes)
    responses: list[Response] = []

    async def look() -> None:
        responses.append(await ask(texts.application(), "POST", "/api/look"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        with texts.budget.reserve_unchecked(CLIENT, STEP):
            texts.go_on.set()
            await trio.testing.wait_all_tasks_blocked()
    assert [each.status for each in responses] == [200 if changes else 503]
    assert texts.budget.held == 0


async def test_request_that_is_alone_may_need_more_than_its_client_beside_its_body() -> None:
    texts = Texts(taken=STEP)
    body = b'{"text":"%b"}' % (b"x" * COUNTED)
    headers = [(b"content-type", b"application/json")]

    async def add() -> Response:
        return await ask(texts.application(), "POST", "/api/add", headers=headers, body=[body])

    assert (await add()).status == 204
    assert texts.held == [STEP + len(body)]
    # Another one of the client is in its way.
    with texts.budget.hold(CLIENT, COUNTED):
        assert (await add()).status == 503


async def test_stream_without_memory_is_not_started() -> None:
    texts = Texts()
    with texts.budget.hold(CLIENT, 1):
        response = await ask(texts.application(), "GET", "/api/stream")
    assert (response.status, response.code) == (503, "server_busy")
    assert texts.held == []


@pytest.mark.parametrize("wire", [True, False], ids=["wire", "other server"])
async def test_streams_that_are_reserved_as_a_whole_wait_for_nothing(
    wire: bool, autojump_clock: trio.testing.MockClock
) -> None:
    texts = Texts(MemoryBudget(16 * STEP, 4 * STEP))
    application = texts.application()
    responses = [Response() for _ in range(4)]

    async def take(response: Response) -> None:
        exchange = FakeExchange() if wire else None
        scope = scope_of("GET", "/api/whole", exchange=exchange)
        await application(scope, never, response.take)

    with trio.fail_after(1):
        async with trio.open_nursery() as nursery:
            for response in responses:
                nursery.start_soon(take, response)
            await trio.testing.wait_all_tasks_blocked()
            assert texts.budget.held == 4 * STEP
            texts.go_on.set()
    assert [each.body for each in responses] == [TEXT.encode() * 3] * 4
    # What is kept, and no piece is counted once more.
    assert max(texts.held) <= 3 * STEP + 3 * len(TEXT)
    assert texts.held[-1] >= 3 * len(TEXT)
    assert texts.budget.held == 0


async def test_stream_makes_its_next_piece_once_memory_is_free() -> None:
    texts = Texts()
    response = Response()
    first, go_on = trio.Event(), trio.Event()

    async def send(event: Event) -> None:
        await response.take(event)
        if event.get("body"):
            first.set()
            await go_on.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(texts.application(), scope_of("GET", "/api/stream"), never, send)
        await first.wait()
        # A piece that is being sent holds less memory than must be free before the next one.
        with texts.budget.hold(CLIENT, 1):
            go_on.set()
            await trio.testing.wait_all_tasks_blocked()
            assert texts.held == [STEP]
            assert texts.budget.held == 1
    assert (response.ended, response.body) == (True, TEXT.encode() * 3)
    assert texts.held == [STEP, STEP, STEP]
    assert texts.budget.held == 0


async def test_page_of_another_application_waits_for_memory() -> None:
    budget = MemoryBudget(STEP, STEP)

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": TEXT.encode(), "more_body": False})

    texts = Texts(budget)
    application = Application(
        [texts], new_id=lambda: "made", log_request=lambda _: None, memory=budget, fallback=page
    )
    response = Response()
    async with trio.open_nursery() as nursery:
        with budget.hold(CLIENT, STEP):
            nursery.start_soon(application, scope_of("GET", "/page"), never, response.take)
            await trio.testing.wait_all_tasks_blocked()
            assert response.body == b""
    assert (response.ended, response.body) == (True, TEXT.encode())
    assert budget.held == 0


async def test_large_responses_are_counted_while_they_are_made(
    autojump_clock: trio.testing.MockClock,
) -> None:
    texts = Texts(MemoryBudget(4 * STEP, STEP))
    application = texts.application()
    for _ in range(30):
        assert (await ask(application, "GET", "/api/give")).status == 200
    with texts.budget.hold(CLIENT, STEP - COUNTED):
        # The text and its document together have no room, though the document alone would.
        begun = trio.current_time()
        assert (await ask(application, "GET", "/api/give")).status == 503
        assert trio.current_time() - begun == ROOM_SECONDS
    assert (await ask(application, "GET", "/api/give")).status == 200
    assert texts.budget.held == 0


async def test_large_response_waits_a_moment_for_the_memory_of_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    texts = Texts(MemoryBudget(4 * STEP, STEP))
    application = texts.application()
    assert (await ask(application, "GET", "/api/give")).status == 200
    response = Response()
    async with trio.open_nursery() as nursery:
        with texts.budget.hold(CLIENT, STEP - COUNTED):
            scope = scope_of("GET", "/api/give")
            nursery.start_soon(application, scope, never, response.take)
            await trio.sleep(0.9 * ROOM_SECONDS)
            assert not response.ended
    assert (response.ended, response.status) == (True, 200)
    assert texts.budget.held == 0


async def test_response_that_is_ready_is_not_kept_back_by_one_that_waits() -> None:
    texts = Texts()
    application = texts.application()
    early, late = Response(), Response()
    async with trio.open_nursery() as nursery:
        # When it began, nobody knew that the response is large.
        texts.waits = True
        nursery.start_soon(application, scope_of("GET", "/api/weigh"), never, early.take)
        await trio.testing.wait_all_tasks_blocked()
        assert (await ask(application, "GET", "/api/weigh")).status == 200
        begun, texts.go_on = texts.go_on, trio.Event()
        texts.waits = True
        nursery.start_soon(application, scope_of("GET", "/api/weigh"), never, late.take)
        await trio.testing.wait_all_tasks_blocked()
        begun.set()
        await trio.testing.wait_all_tasks_blocked()
        assert (early.status, late.ended) == (200, False)
        texts.go_on.set()
    assert late.status == 200
    assert texts.budget.held == 0


async def test_few_large_responses_are_made_at_the_same_time_and_one_for_each_client() -> None:
    texts = Texts(MemoryBudget())
    application = texts.application()
    assert (await ask(application, "GET", "/api/weigh")).status == 200
    texts.waits = True
    texts.held.clear()
    responses = [Response() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for response in responses:
            nursery.start_soon(application, scope_of("GET", "/api/weigh"), never, response.take)
        await trio.testing.wait_all_tasks_blocked()
        assert len(texts.held) == 1
        other = scope_of("GET", "/api/weigh")
        other["client"] = ("192.0.2.200", 1)
        theirs = Response()
        await application(other, never, theirs.take)
        assert theirs.status == 200
        texts.go_on.set()
    assert {response.status for response in responses} == {200}


async def test_operation_reserves_before_it_computes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    texts = Texts()
    application = texts.application()
    with texts.budget.hold(CLIENT, STEP):
        assert (await ask(application, "GET", "/api/weigh")).status == 503
    assert texts.held == []
    assert trio.current_time() == ROOM_SECONDS
    assert (await ask(application, "GET", "/api/weigh")).status == 200
    assert texts.held == [len(TEXT)]
    assert texts.budget.held == 0


async def test_operation_of_a_page_keeps_its_memory_until_the_page_was_sent() -> None:
    texts = Texts()
    held: list[int] = []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await application.perform({**scope, "path": "/api/weigh", "raw_path": b""}, never, "id")
        held.append(texts.budget.held)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": False})

    application = Application(
        [texts], new_id=lambda: "id", log_request=lambda _: None, memory=texts.budget, fallback=page
    )
    assert (await ask(application, "GET", "/page")).status == 200
    assert (held, texts.budget.held) == ([len(TEXT)], 0)


async def test_page_that_has_memory_does_not_wait_for_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = MemoryBudget(STEP, STEP)
    own = Reservation(budget, "192.0.2.1")
    await own.reserve(COUNTED)
    # A request may need any number, if its client has no other.
    await own.reserve(STEP)
    with budget.reserve_unchecked("192.0.2.2", COUNTED), pytest.raises(ServerBusy):
        await own.reserve(COUNTED)
    assert trio.current_time() == 0
    own.release()
    assert budget.held == 0


async def test_page_that_nobody_reads_gives_way_to_a_client_that_has_less() -> None:
    budget = MemoryBudget(STEP, STEP)
    aborted = trio.Event()
    exchange = FakeExchange(aborts=aborted.set)
    unread = Reservation(budget, "192.0.2.1", cast(Extension, exchange))
    await unread.reserve(STEP)
    with pytest.raises(ServerBusy):
        budget.hold("192.0.2.2", COUNTED)
    unread.send()
    with budget.hold("192.0.2.2", COUNTED):
        assert aborted.is_set()
    unread.release()
    assert budget.held == 0

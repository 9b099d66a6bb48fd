"""Applications next to the contract: pages, WebSockets, the lifespan; and what is required."""

from collections.abc import Callable

import pytest
from antechamber.asgi import Event, Receive, Scope, Send
from antechamber.rejection import ClientGone

from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.operation import ContractError, Security
from octavo.http.contract.request_context import RequestRecord
from tests.fakes.asgi_client import Response, ask, never, scope_of
from tests.fakes.example_contract import ShelfOperations, shelf_application


def beside(
    fallback: Callable[[Scope, Receive, Send], object],
    records: list[RequestRecord] | None = None,
) -> Application:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        result = fallback(scope, receive, send)
        if isinstance(result, Exception):
            raise result
        for event in result:  # type: ignore[attr-defined]
            await send(event)

    return Application(
        [ShelfOperations()],
        new_id=lambda: "made-here",
        log_request=(lambda _: None) if records is None else records.append,
        authenticators={Security.SESSION_OR_KEY: AnyOf()},
        rate_limiter=AnyOf(),
        fallback=serve,
        fallback_below_api=["/api/page"],
        websockets={"/api/notices": serve},
    )


class AnyOf:
    async def authenticate(self, call: Call) -> "Nobody":
        return Nobody()

    async def admit(self, rate_class: str, call: Call) -> None: ...


class Nobody:
    name = "nobody"
    locked = False
    scopes = None
    confined = False


def page(scope: Scope, receive: Receive, send: Send) -> list[Event]:
    shown = dict(scope["headers"])[b"x-request-id"]
    headers = [(b"content-type", b"text/html"), (b"x-request-id", b"its-own")]
    return [
        {"type": "http.response.start", "status": 200, "headers": headers},
        {"type": "http.response.body", "body": shown, "more_body": False},
    ]


async def test_fallback_serves_with_the_request_id_and_is_logged() -> None:
    records: list[RequestRecord] = []
    response = await ask(beside(page, records), "GET", "/page")
    assert (response.status, response.body) == (200, b"made-here")
    assert response.header("x-request-id") == "made-here"
    assert (records[0].status, records[0].response_bytes, records[0].complete) == (200, 9, True)


async def test_fallback_serves_a_head_without_a_body_and_logs_none() -> None:
    records: list[RequestRecord] = []
    response = await ask(beside(page, records), "HEAD", "/page")
    assert (response.status, response.body, response.ended) == (200, b"", True)
    assert (records[0].status, records[0].response_bytes) == (200, 0)


@pytest.mark.parametrize("target", ["/api/nowhere", "/api", "/%61pi/nowhere", "/api/"])
async def test_fallback_serves_nothing_of_the_api(target: str) -> None:
    assert (await ask(beside(page), "GET", target)).status == 404


@pytest.mark.parametrize(("target", "status"), [("/api/page", 200), ("/api/page/", 404)])
async def test_fallback_serves_the_api_paths_assigned_to_it(target: str, status: int) -> None:
    assert (await ask(beside(page), "GET", target)).status == status


async def test_failing_fallback_gets_an_internal_error() -> None:
    response = await ask(beside(lambda *_: RuntimeError("x")), "GET", "/page")
    assert (response.status, response.code) == (500, "internal_error")


async def test_fallback_that_fails_after_its_head_raises() -> None:
    def half(scope: Scope, receive: Receive, send: Send) -> list[Event | None]:
        return [page(scope, receive, send)[0], None]

    records: list[RequestRecord] = []
    with pytest.raises(TypeError):
        await ask(beside(half, records), "GET", "/page")
    assert (records[0].status, records[0].failure) == (200, "internal_error")
    assert not records[0].complete


async def test_client_that_leaves_within_a_page_is_no_failure() -> None:
    async def leave(event: Event) -> None:
        if event["type"] == "http.response.body":
            raise ExceptionGroup("of the tasks of a page", [ClientGone("reset")])

    records: list[RequestRecord] = []
    with pytest.raises(ExceptionGroup):
        await beside(page, records)(scope_of("GET", "/page"), never, leave)
    [record] = records
    assert (record.status, record.failure, record.complete) == (200, None, False)


async def test_known_websocket_is_handed_over_unchanged() -> None:
    response = Response()
    scope = scope_of("GET", "/api/notices", [(b"x-request-id", b"theirs")], kind="websocket")
    await beside(page)(scope, never, response.take)
    assert (response.status, response.body) == (200, b"theirs")


@pytest.mark.parametrize(("given", "status"), [(b"theirs", 404), (b"no spaces", 400)])
async def test_unknown_websocket_is_refused_with_a_problem(given: bytes, status: int) -> None:
    kinds: list[str] = []
    response = Response()

    async def take(event: Event) -> None:
        kinds.append(event["type"])
        await response.take(event)

    records: list[RequestRecord] = []
    scope = scope_of("GET", "/api/nowhere", [(b"x-request-id", given)], kind="websocket")
    del scope["method"]
    await shelf_application(records=records)(scope, never, take)
    assert kinds == ["websocket.http.response.start", "websocket.http.response.body"]
    assert response.status == records[0].status == status
    assert response.json()["requestId"] == response.header("x-request-id")


async def test_lifespan_without_a_fallback_starts_and_stops() -> None:
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def receive() -> Event:
        return events.pop(0)

    async def send(event: Event) -> None:
        sent.append(event["type"])

    await shelf_application()({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_lifespan_is_that_of_the_fallback() -> None:
    seen: list[str] = []

    def note(scope: Scope, receive: Receive, send: Send) -> list[Event]:
        seen.append(scope["type"])
        return []

    await beside(note)({"type": "lifespan"}, never, Response().take)
    assert seen == ["lifespan"]


@pytest.mark.parametrize(
    ("authenticators", "limiter", "missing"),
    [
        ({}, AnyOf(), "getShelf needs an authenticator"),
        ({Security.SESSION_OR_KEY: AnyOf()}, None, "putNote needs a rate limiter for writes"),
    ],
)
def test_application_without_a_required_dependency_is_not_built(
    authenticators: dict[Security, AnyOf], limiter: AnyOf | None, missing: str
) -> None:
    with pytest.raises(ContractError, match=missing):
        Application(
            [ShelfOperations()],
            new_id=lambda: "made-here",
            log_request=lambda _: None,
            authenticators=authenticators,
            rate_limiter=limiter,
        )

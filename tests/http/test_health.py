"""Liveness and readiness: the decision as a function, then the ASGI application around it."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypercorn.typing import (
    ASGIReceiveEvent,
    ASGISendEvent,
    ConnectionState,
    HTTPScope,
    LifespanScope,
    Scope,
)

from octavo.http.answer import Answer
from octavo.http.health import (
    LARGEST_BODY_DROPPED,
    HealthApplication,
    Readiness,
    Requirement,
    respond,
)

MET = Requirement("configuration", met=True)
UNMET = Requirement("database", met=False)
READY = Readiness((MET,), stopping=False)
PATHS = ["/health", "/api/health", "/ready", "/api/ready"]


def ask(
    path: str, method: str = "GET", ids: tuple[bytes, ...] = (), readiness: Readiness = READY
) -> Answer:
    return respond(method, path, ids, "made-here", readiness)


def members(answer: Answer) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(answer.body))


@pytest.mark.parametrize("path", ["/health", "/api/health"])
@pytest.mark.parametrize("readiness", [READY, Readiness((UNMET,), stopping=True)])
def test_liveness_is_alive_whatever_the_readiness(path: str, readiness: Readiness) -> None:
    answer = ask(path, readiness=readiness)
    assert (answer.status, answer.media_type) == (200, "application/json")
    assert members(answer) == {"status": "alive"}


@pytest.mark.parametrize("path", ["/ready", "/api/ready"])
def test_readiness_ready_lists_the_requirements(path: str) -> None:
    answer = ask(path)
    assert (answer.status, answer.media_type) == (200, "application/json")
    assert members(answer) == {
        "status": "ready",
        "requirements": [{"name": "configuration", "met": True}],
    }


@pytest.mark.parametrize("path", ["/ready", "/api/ready"])
@pytest.mark.parametrize(
    ("readiness", "says"),
    [
        (Readiness((MET, UNMET), stopping=False), "starting"),
        (Readiness((MET, UNMET), stopping=True), "stopping"),
    ],
)
def test_readiness_not_ready_is_503_with_the_reason(
    path: str, readiness: Readiness, says: str
) -> None:
    answer = ask(path, readiness=readiness)
    assert (answer.status, answer.media_type) == (503, "application/problem+json")
    told = members(answer)
    assert (told["code"], told["status"], told["requestId"]) == ("not_ready", 503, "made-here")
    assert says in str(told["detail"])
    assert told["requirements"] == [
        {"name": "configuration", "met": True},
        {"name": "database", "met": False},
    ]


@pytest.mark.parametrize("path", ["/", "/health/", "/HEALTH", "/api", "/healthz", ""])
def test_other_paths_are_not_found(path: str) -> None:
    answer = ask(path, method="POST")
    assert (answer.status, answer.media_type) == (404, "application/problem+json")
    told = members(answer)
    assert told["code"] == "not_found"
    assert (told["type"], told["title"]) == ("about:blank", "Not Found")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"])
def test_other_methods_are_not_allowed(path: str, method: str) -> None:
    answer = ask(path, method=method)
    assert (answer.status, answer.media_type) == (405, "application/problem+json")
    assert ("allow", "GET, HEAD") in answer.headers
    assert members(answer)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", [*PATHS, "/nowhere"])
def test_every_answer_has_a_request_id_and_is_not_stored(path: str) -> None:
    for answer in (ask(path), ask(path, ids=(b"~",)), ask(path, method="PUT")):
        assert ("x-request-id", "made-here") in answer.headers
        assert ("cache-control", "no-store") in answer.headers


@pytest.mark.parametrize("given", [b"a", b"Az09._-", b"x" * 128])
def test_request_id_within_the_pattern_is_kept(given: bytes) -> None:
    answer = ask("/nowhere", ids=(given,))
    assert ("x-request-id", given.decode()) in answer.headers
    assert members(answer)["requestId"] == given.decode()


@pytest.mark.parametrize(
    "given",
    [(b"",), (b"x" * 129,), (b"a b",), (b"a\n",), (b"\xe9",), (b"a,b",), (b"a", b"a")],
    ids=repr,
)
@pytest.mark.parametrize("path", ["/health", "/nowhere"])
def test_request_id_outside_the_pattern_is_refused(given: tuple[bytes, ...], path: str) -> None:
    answer = ask(path, ids=given)
    assert (answer.status, answer.media_type) == (400, "application/problem+json")
    assert members(answer)["code"] == "invalid_request"
    assert members(answer)["requestId"] == "made-here"


def application() -> HealthApplication:
    return HealthApplication(new_id=lambda: "made-here", readiness=lambda: READY)


async def run(scope: Scope, events: list[ASGIReceiveEvent]) -> list[dict[str, Any]]:
    """Run the application on ``events`` and answer what it sent."""
    waiting: Iterator[ASGIReceiveEvent] = iter(events)
    sent: list[dict[str, Any]] = []

    async def receive() -> ASGIReceiveEvent:
        return next(waiting)

    async def send(event: ASGISendEvent) -> None:
        sent.append(cast("dict[str, Any]", event))

    await application()(scope, receive, send)
    assert next(waiting, None) is None, "the application left events unread"
    return sent


def http_scope(method: str = "GET", path: str = "/health") -> HTTPScope:
    return {
        "type": "http",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"octavo.example"), (b"x-request-id", b"theirs")],
        "client": None,
        "server": None,
        "state": ConnectionState({}),
        "extensions": {},
    }


def body(data: bytes, more: bool = False) -> ASGIReceiveEvent:
    return {"type": "http.request", "body": data, "more_body": more}


async def test_application_get_sends_head_and_body() -> None:
    start, end = await run(http_scope(), [body(b"")])
    assert (start["status"], dict(start["headers"])) == (
        200,
        {
            b"content-type": b"application/json",
            b"content-length": b"18",
            b"cache-control": b"no-store",
            b"x-request-id": b"theirs",
        },
    )
    assert (end["body"], end["more_body"]) == (b'{"status":"alive"}', False)


async def test_application_head_sends_the_same_head_without_body() -> None:
    get, _ = await run(http_scope("GET"), [body(b"")])
    head, end = await run(http_scope("HEAD"), [body(b"")])
    assert head == get
    assert end["body"] == b""


async def test_application_body_is_read_before_the_answer_and_the_connection_kept() -> None:
    chunks = [body(b"x" * 1000, more=True), body(b"x" * 1000, more=True), body(b"x")]
    start, _ = await run(http_scope("POST"), chunks)
    assert start["status"] == 405
    assert b"connection" not in dict(start["headers"])


async def test_application_huge_body_is_left_and_the_connection_closed() -> None:
    start, _ = await run(http_scope("POST"), [body(b"x" * (LARGEST_BODY_DROPPED + 1), more=True)])
    assert start["status"] == 405
    assert dict(start["headers"])[b"connection"] == b"close"


async def test_application_websocket_handshake_is_answered_like_a_get() -> None:
    scope = cast("Scope", {**http_scope(path="/nowhere"), "type": "websocket"})
    start, end = await run(scope, [])
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 404)
    assert json.loads(end["body"])["code"] == "not_found"


async def test_application_lifespan_starts_and_stops() -> None:
    scope: LifespanScope = {
        "type": "lifespan",
        "asgi": {"spec_version": "2.0", "version": "3.0"},
        "state": {},
    }
    sent = await run(scope, [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    assert [event["type"] for event in sent] == [
        "lifespan.startup.complete",
        "lifespan.shutdown.complete",
    ]

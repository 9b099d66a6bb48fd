"""The application on the server, over real sockets: where the two have to agree."""

import json
from dataclasses import dataclass, field
from typing import cast

import pytest
import trio
from antechamber.asgi import Application as ASGIApplication
from octavo_rules.problems import NotFound

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.request_context import RequestRecord
from octavo.service.pages import pages
from packages.antechamber.tests.http_server import serving
from tests.fakes.example_contract import KNOWN, NoteInput, ShelfOperations, shelf_application
from tests.fakes.page_reader import form_stamps, no_entropy, no_time, nobody

PAGE = f"/api/shelves/{KNOWN}/pages/one"


def request(method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
    head = [f"{method} {target} HTTP/1.1", "host: a", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


WRITE = request(
    "PUT",
    PAGE,
    b'{"text":"hello"}',
    "content-type: application/json",
    "x-reader: ann",
    'if-match: "1"',
)


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with serving(shelf_application()) as server, server.client() as client:
        written = await client.ask(WRITE)
        assert (written.status, json.loads(written.body)["by"]) == (201, "ann")
        read = await client.ask(request("GET", "/api/shelves"))
        assert (read.status, read.body) == (200, b"[100,null]")
        assert read["x-request-id"] == "id-2"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [("POST", "/api/nowhere", 404), ("POST", "/api/shelves", 405), ("PUT", PAGE, 401)],
)
async def test_refusal_before_the_body_keeps_the_connection(
    method: str, target: str, status: int
) -> None:
    async with serving(shelf_application()) as server, server.client() as client:
        assert (await client.ask(request(method, target, b"x" * 1000))).status == status
        assert (await client.ask(request("GET", "/api/shelves"))).status == 200


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("HEAD", "/api/shelves", 200),
        ("HEAD", "/api/stream", 200),
        ("HEAD", "/api/nowhere", 404),
        ("OPTIONS", "/api/shelves", 204),
        ("DELETE", f"/api/shelves/{KNOWN}", 204),
    ],
)
async def test_response_without_a_body_ends_at_its_head(
    method: str, target: str, status: int
) -> None:
    application = shelf_application(ShelfOperations(chunks=[b"one"]))
    async with serving(application) as server, server.client() as client:
        assert (await client.ask(request(method, target), head_only=True)).status == status
        assert (await client.ask(request("GET", "/api/stream"))).body == b"one"


@pytest.mark.parametrize(("length_known", "length"), [(True, "3"), (False, None)])
async def test_head_of_a_stream_has_its_length_if_that_is_known(
    *, length_known: bool, length: str | None
) -> None:
    failure = None if length_known else RuntimeError("the shelf fell")
    application = shelf_application(ShelfOperations(chunks=[b"one"], failure=failure))
    async with serving(application) as server, server.client() as client:
        found = await client.ask(request("HEAD", "/api/stream"), head_only=True)
        assert (found.status, found.get("content-length")) == (200, length)
        assert (await client.ask(request("GET", "/api/shelves"))).status == 200


async def test_stream_that_fails_before_its_first_chunk_is_refused() -> None:
    application = shelf_application(ShelfOperations(failure=NotFound()))
    async with serving(application) as server, server.client() as client:
        for _ in range(2):
            found = await client.ask(request("GET", "/api/stream"))
            assert (found.status, json.loads(found.body)["code"]) == (404, "not_found")


@pytest.mark.parametrize("failure", [RuntimeError("the shelf fell"), NotFound()])
async def test_failing_stream_cuts_the_connection(failure: Exception) -> None:
    application = shelf_application(ShelfOperations(chunks=[b"one"], failure=failure))
    async with serving(application) as server:
        async with server.client() as client:
            await client.send(request("GET", "/api/stream", b"", "connection: keep-alive"))
            assert (await client.rest()).endswith(b"\r\n\r\n3\r\none\r\n")
        async with server.client() as client:
            assert (await client.ask(request("GET", "/api/shelves"))).status == 200


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize(
    ("method", "target", "status", "failure"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("HEAD", "/nowhere", 404, "not_found"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/problems", 200, None),
        ("HEAD", "/", 200, None),
    ],
)
async def test_page_is_logged_with_its_bytes_and_the_code_of_its_refusal(
    method: str, target: str, status: int, failure: str | None, accept: str
) -> None:
    records: list[RequestRecord] = []
    described = openapi_document([Patient], title="Octavo", version="1")
    app = pages(
        api_document="/api/openapi.json",
        openapi=lambda: described,
        perform=nobody,
        now=no_time,
        new_entropy=no_entropy,
        stamps=form_stamps(),
    )
    application = Application(
        [Patient()],
        new_id=lambda: "made",
        log_request=records.append,
        fallback=cast("ASGIApplication", app),
    )
    async with serving(application) as server, server.client() as client:
        asked = request(method, target, b"", f"accept: {accept}")
        response = await client.ask(asked, head_only=method == "HEAD")
    assert response.status == status
    [record] = records
    assert (record.status, record.failure) == (status, failure)
    assert record.response_bytes == len(response.body)


@dataclass
class Patient:
    """Operations that last until they are told to end."""

    began: trio.Event = field(default_factory=trio.Event)
    end: trio.Event = field(default_factory=trio.Event)
    outcome: list[str] = field(default_factory=list)
    recorded: trio.Event = field(default_factory=trio.Event)
    records: list[RequestRecord] = field(default_factory=list)

    @operation(
        id="last",
        method="POST",
        path="/api/last",
        tag="t",
        summary="Last",
        security=Security.NONE,
        status=204,
    )
    async def last(self, call: Call) -> None:
        self.began.set()
        try:
            await self.end.wait()
        except trio.Cancelled:
            self.outcome.append("cancelled")
            raise
        self.outcome.append("finished")

    @operation(
        id="finish",
        method="POST",
        path="/api/finish",
        tag="t",
        summary="Finish",
        security=Security.NONE,
        status=204,
        finish_when_client_leaves=True,
    )
    async def finish(self, call: Call) -> None:
        await self.last(call)

    @operation(
        id="read",
        method="POST",
        path="/api/read",
        tag="t",
        summary="Read",
        security=Security.NONE,
        status=204,
        body=json_body(NoteInput, limit=100),
    )
    async def read(self, call: Call, body: NoteInput) -> None:
        self.outcome.append("finished")

    def record(self, record: RequestRecord) -> None:
        self.records.append(record)
        self.recorded.set()

    def application(self) -> Application:
        return Application([self], new_id=lambda: "made", log_request=self.record, strict=True)


async def test_handler_is_cancelled_when_its_client_disconnects() -> None:
    patient = Patient()
    async with serving(patient.application()) as server, server.client() as client:
        await client.send(request("POST", "/api/last"))
        await patient.began.wait()
        await client.stream.aclose()
        await patient.recorded.wait()
    assert patient.outcome == ["cancelled"]
    assert [record.status for record in patient.records] == [499]


async def test_declared_handler_finishes_after_its_client_disconnects() -> None:
    patient = Patient()
    async with serving(patient.application()) as server, server.client() as client:
        await client.send(request("POST", "/api/finish"))
        await patient.began.wait()
        await client.stream.aclose()
        patient.end.set()
        await patient.recorded.wait()
    assert patient.outcome == ["finished"]


@pytest.mark.parametrize("body", [b'{"text":', b""], ids=["within the body", "before the body"])
async def test_stalled_body_is_answered_by_the_server_and_reaches_no_handler(body: bytes) -> None:
    patient = Patient()
    async with serving(patient.application()) as server, server.client() as client:
        head = "POST /api/read HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
        response = await client.ask(f"{head}content-length: 50\r\n\r\n".encode() + body)
        assert (response.status, json.loads(response.body)["code"]) == (408, "body_timeout")
    assert patient.outcome == []

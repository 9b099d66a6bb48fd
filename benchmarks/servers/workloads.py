"""The same three responses in three ways: bare ASGI, the contract's pipeline, Quart."""

from __future__ import annotations

import json
from typing import Annotated, Literal, cast

from antechamber.asgi import Application as ASGIApplication
from antechamber.asgi import Receive, Scope, Send
from octavo_rules.problems import NotSignedIn
from quart import Quart
from quart_trio import QuartTrio

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import IN_PATH, Model
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.request_context import RequestLog
from octavo.http.pages.forms import FormStamps
from octavo.log import Log, Sink
from octavo.service.pages import pages

JSON = [(b"content-type", b"application/json")]


async def bare(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with minimal work, and parse JSON with the standard library."""
    if scope["type"] == "lifespan":
        while True:
            event = await receive()
            await send({"type": f"{event['type']}.complete"})
            if event["type"] == "lifespan.shutdown":
                return
    body = b'{"status":"alive"}'
    if scope["method"] == "POST":
        event = await receive()
        received = event["body"]
        while event["more_body"]:
            event = await receive()
            received += event["body"]
        note = json.loads(received)
        body = json.dumps({"noteId": note["noteId"], "text": note["text"]}).encode()
    headers = [*JSON, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Alive(Model):
    status: Literal["alive"]


class NotePath(Model):
    note_id: Annotated[str, IN_PATH]


class NoteInput(Model):
    note_id: str
    text: str
    title: str
    revision: int


class Note(Model):
    note_id: str
    text: str


class Owner:
    """Accepts every caller without a check."""

    name = "owner"
    locked = False
    scopes = None
    confined = False


class Anybody:
    """A stub of authentication."""

    async def authenticate(self, call: Call) -> Owner:
        return Owner()


class Operations:
    @operation(
        id="getHealth",
        method="GET",
        path="/api/health",
        tag="service",
        summary="Whether this process lives",
        security=Security.NONE,
    )
    async def get_health(self, call: Call) -> Alive:
        return Alive(status="alive")

    @operation(
        id="saveNote",
        method="POST",
        path="/api/notes/{noteId}/saves",
        tag="notes",
        summary="Save a note",
        security=Security.SESSION_OR_KEY,
        body=json_body(NoteInput, limit=1_000_000),
    )
    async def save_note(self, call: Call, path: NotePath, body: NoteInput) -> Note:
        return Note(note_id=body.note_id, text=body.text)


def contract(log: RequestLog) -> Application:
    """Build the whole pipeline, with a stub of authentication."""
    return Application(
        [Operations()],
        new_id=lambda: "0190a0b0-0000-7000-8000-00000000000a",
        log_request=log,
        authenticators={Security.SESSION_OR_KEY: Anybody()},
        fallback=cast(ASGIApplication, quart_pages()),
    )


def quart_pages() -> QuartTrio:
    """Build the pages alone."""

    async def nobody(scope: Scope, receive: Receive, request_id: str) -> object:
        raise NotSignedIn

    async def closed(token: str) -> bool:
        return False

    async def secret() -> bytes:
        return bytes(32)

    return pages(
        api_document="/api/openapi.json",
        openapi=lambda: {
            "openapi": "3.1.0",
            "info": {"title": "Octavo", "version": "1", "description": ""},
            "components": {"schemas": {}},
            "paths": {},
        },
        perform=nobody,
        now=lambda: 0.0,
        new_entropy=lambda: bytes(32),
        stamps=FormStamps(secret, now=lambda: 0.0, session_seconds=1.0),
    )


def quart_on_asyncio() -> Quart:
    """Build a page like the index for servers that don't run trio."""
    app = Quart(__name__)

    @app.get("/")
    async def index() -> str:
        return "<!doctype html>\n<title>Octavo</title>\n" + "<p>This server keeps notes.</p>\n" * 15

    return app


def line_log() -> Log:
    """Log each request as JSON to a null sink."""
    return Log("json", Sink(open("/dev/null", "wb", buffering=0)), lambda: 1_790_000_000.0)

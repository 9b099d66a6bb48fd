"""Liveness and readiness, as one small ASGI application.

Liveness (``/health``, ``/api/health``) says that the process answers; it looks at nothing else,
so that an ailing dependency never gets the process restarted. Readiness (``/ready``,
``/api/ready``) says whether new work should be sent here: 503 while a requirement of the start
is not met, or while the process stops.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.http.answer import Answer, json_answer, problem

if TYPE_CHECKING:
    from hypercorn.typing import (
        ASGIReceiveCallable,
        ASGISendCallable,
        HTTPScope,
        Scope,
        WebsocketScope,
    )

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
ALLOWED = ("GET", "HEAD")
LIVENESS = frozenset({"/health", "/api/health"})
READINESS = frozenset({"/ready", "/api/ready"})
# No path here reads a body. One of up to this many bytes is read and dropped before the answer,
# so that the connection can be used again; behind a larger one the connection is closed.
LARGEST_BODY_DROPPED = 64 * 1024


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that must be there before work can be taken, and whether it is."""

    name: str
    met: bool


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the process takes new work, and what that hangs on."""

    requirements: tuple[Requirement, ...]
    stopping: bool

    @property
    def ready(self) -> bool:
        """True when every requirement is met and the process does not stop."""
        return not self.stopping and all(requirement.met for requirement in self.requirements)


def respond(
    method: str, path: str, given_ids: Sequence[bytes], new_id: str, readiness: Readiness
) -> Answer:
    """Decide the whole answer to one request.

    ``given_ids`` are the values of its ``x-request-id`` headers: a single one of 1 to 128
    letters, digits, ``.``, ``_`` and ``-`` is kept, anything else is refused with 400. With none
    given the request is known by ``new_id``. Every answer carries the id and is never cached.
    """
    refused = bool(given_ids) and not (len(given_ids) == 1 and REQUEST_ID.fullmatch(given_ids[0]))
    request_id = given_ids[0].decode("ascii") if given_ids and not refused else new_id
    if refused:
        answer = problem(
            400,
            "invalid_request",
            "The header x-request-id takes one value of 1 to 128 letters, digits, '.', '_', '-'.",
            request_id,
        )
    else:
        answer = _route(method, path, request_id, readiness)
    common = (("cache-control", "no-store"), ("x-request-id", request_id))
    return replace(answer, headers=(*answer.headers, *common))


def _route(method: str, path: str, request_id: str, readiness: Readiness) -> Answer:
    if path not in LIVENESS | READINESS:
        return problem(404, "not_found", "Nothing is served at this path.", request_id)
    if method not in ALLOWED:
        allow = ", ".join(ALLOWED)
        refusal = problem(405, "method_not_allowed", f"This path takes {allow}.", request_id)
        return replace(refusal, headers=(("allow", allow),))
    if path in LIVENESS:
        return json_answer(200, {"status": "alive"})
    requirements = [{"name": r.name, "met": r.met} for r in readiness.requirements]
    if readiness.ready:
        return json_answer(200, {"status": "ready", "requirements": requirements})
    detail = (
        "The process is stopping and takes no new work."
        if readiness.stopping
        else "The process is starting: not every requirement is met."
    )
    return problem(503, "not_ready", detail, request_id, requirements=requirements)


@dataclass(frozen=True, slots=True)
class HealthApplication:
    """The ASGI application of liveness and readiness.

    ``new_id`` makes the id of a request that brings none; ``readiness`` is asked at every
    request. Requests are independent of each other; one that is cancelled leaves nothing behind.
    """

    new_id: Callable[[], str]
    readiness: Callable[[], Readiness]

    async def __call__(
        self, scope: "Scope", receive: "ASGIReceiveCallable", send: "ASGISendCallable"
    ) -> None:
        """Serve one ASGI scope: the lifespan, a request, or a WebSocket handshake.

        A handshake is answered like the GET that it is (RFC 9110 section 7.8: a server may
        ignore the upgrade).
        """
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            answer = self._decide("GET", scope)
            headers = answer.wire_headers()
            await send(
                {
                    "type": "websocket.http.response.start",
                    "status": answer.status,
                    "headers": headers,
                }
            )
            await send(
                {"type": "websocket.http.response.body", "body": answer.body, "more_body": False}
            )
        else:
            whole = await _drop_body(receive)
            answer = self._decide(scope["method"], scope)
            headers = answer.wire_headers()
            if not whole and scope["http_version"].startswith("1"):
                headers.append((b"connection", b"close"))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            body = b"" if scope["method"] == "HEAD" else answer.body
            await send({"type": "http.response.body", "body": body, "more_body": False})

    def _decide(self, method: str, scope: "HTTPScope | WebsocketScope") -> Answer:
        given_ids = [value for name, value in scope["headers"] if name == b"x-request-id"]
        return respond(method, scope["path"], given_ids, self.new_id(), self.readiness())


async def _drop_body(receive: "ASGIReceiveCallable") -> bool:
    """Read the body away; answer False when it is longer than is read."""
    dropped = 0
    while dropped <= LARGEST_BODY_DROPPED:
        event = await receive()
        if event["type"] != "http.request" or not event["more_body"]:
            return True
        dropped += len(event["body"])
    return False


async def _lifespan(receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif event["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return

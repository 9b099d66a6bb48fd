"""Cases of the refusals that many operations share, derived from the document itself."""

import json
import re
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import httpx

from tests.e2e.operations.cases import Case
from tests.e2e.operations.world import SYNC, UNKNOWN, World
from tests.e2e.server import PATIENCE

Documented = dict[str, Any]
"""An operation as documented, with its ``method`` and its ``path``."""


AFTER_ALL = "2100-01-01T00:00:00Z"
QUERIES = {
    "getUndo": f"?client=a&since={AFTER_ALL}",
    "previewRestoration": f"?moment={AFTER_ALL}",
}
"""Valid queries of operations that require one, where they check the caller before it."""


def operations(document: dict[str, Any]) -> list[Documented]:
    """The operations of a document."""
    return [
        {**described, "method": method.upper(), "path": path}
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]


def target(described: Documented, workspace: str) -> str:
    """A URL of the operation, in ``workspace`` and with unknown ids otherwise."""
    path = described["path"].replace("{workspaceId}", workspace).replace("{number}", "1")
    return re.sub(r"\{\w+\}", UNKNOWN, path) + QUERIES.get(described["operationId"], "")


def ask(
    world: World, described: Documented, headers: dict[str, str], content: bytes = b""
) -> httpx.Response:
    """Send a request, with an arbitrary JSON body if the operation takes one."""
    if "requestBody" in described:
        headers = {"content-type": "application/json", **headers}
        content = content or b"{}"
    return world.anybody(
        described["method"],
        target(described, world.workspace),
        headers={**SYNC, "if-match": f'"{UNKNOWN}"', **headers},
        content=content or None,
    )


def credentials(world: World, described: Documented) -> dict[str, str]:
    """The headers of somebody who may call the operation."""
    return world.operator if described["tags"] == ["operator"] else world.owner.by_key


def with_a_request_id_that_is_none(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, {**credentials(world, described), "x-request-id": "no spaces"})


def by_nobody(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, {})


def with_an_unknown_key(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, {"authorization": "Bearer octk_" + "0" * 36})


def from_elsewhere(world: World, described: Documented) -> httpx.Response:
    return ask(
        world, described, {"cookie": world.owner.cookie, "origin": "https://elsewhere.example"}
    )


def by_a_reader(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, world.reader.by_key, valid(described["operationId"]))


def by_a_stranger(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, world.stranger.by_key, valid(described["operationId"]))


def by_who_is_locked(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, world.locked.by_key, valid(described["operationId"]))


def by_who_owes_consent(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, world.due.by_key, valid(described["operationId"]))


def with_a_key_that_reads(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, world.limited, valid(described["operationId"]))


def with_text(world: World, described: Documented) -> httpx.Response:
    return ask(world, described, {**credentials(world, described), "content-type": "text/plain"})


def with_too_much(world: World, described: Documented) -> httpx.Response:
    found = re.search("[0-9]+", described["requestBody"]["description"])
    assert found is not None
    maximum = int(found[0])
    return ask(world, described, credentials(world, described), b" " * (maximum + 1))


_stopping: dict[str, Documented] = {}
"""The operations with a case of `with_a_body_that_stops`."""


def with_a_body_that_stops(world: World, described: Documented) -> httpx.Response:
    """Let bodies stop at all operations, the first time: the server waits for each."""
    if ("body_timeout", described["operationId"]) not in world.together:
        with ThreadPoolExecutor(len(_stopping)) as pool:
            responses = pool.map(partial(stopping, world), _stopping.values())
            for operation_id, response in zip(_stopping, responses, strict=True):
                world.together["body_timeout", operation_id] = response
    return world.together["body_timeout", described["operationId"]]


def stopping(world: World, described: Documented) -> httpx.Response:
    place, method = target(described, world.workspace), described["method"]
    media_type = next(iter(described["requestBody"]["content"]))
    sender = credentials(world, described)
    return sent_in_part(world, method, place, media_type, b"{", sender)


def sent_in_part(
    world: World,
    method: str,
    place: str,
    media_type: str,
    start: bytes,
    sender: dict[str, str] | None = None,
) -> httpx.Response:
    """Send the start of a longer body, as the owner unless ``sender`` has other credentials."""
    url = world.http.base_url
    sender = sender or world.owner.by_key
    head = (
        f"{method} {place} HTTP/1.1\r\nhost: a\r\n"
        f"authorization: {sender['authorization']}\r\n"
        "sync-protocol: 1\r\n"
        f"content-type: {media_type}\r\ncontent-length: 1000\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port), timeout=PATIENCE) as plain:
        plain.sendall(head.encode() + start)
        received = b"".join(iter(lambda: plain.recv(65536), b""))
    lines, _, body = received.partition(b"\r\n\r\n")
    first, *fields = lines.decode().split("\r\n")
    response = httpx.Response(
        int(first.split()[1]),
        headers=dict(line.split(": ", 1) for line in fields),
        content=body,
        request=httpx.Request(method, str(url)),
    )
    response.elapsed = timedelta()
    return response


ALIKE: dict[str, Callable[[World, Documented], httpx.Response]] = {
    "invalid_request": with_a_request_id_that_is_none,
    "not_signed_in": by_nobody,
    "key_refused": with_an_unknown_key,
    "wrong_origin": from_elsewhere,
    "forbidden": by_a_reader,
    "insufficient_scope": with_a_key_that_reads,
    "not_found": by_a_stranger,
    "account_locked": by_who_is_locked,
    "consent_required": by_who_owes_consent,
    "unsupported_media_type": with_text,
    "body_too_large": with_too_much,
    "document_too_large": with_too_much,
    "body_timeout": with_a_body_that_stops,
}


def valid(operation_id: str) -> bytes:
    """A body that the operation accepts, where it checks the caller before the body."""
    body: dict[str, object] = {}
    if operation_id in ("createWorkspace", "updateWorkspace"):
        body = {"name": "Name"}
    elif operation_id == "updateInstallation":
        body = {"registrationPolicy": "invitation"}
    elif operation_id in ("updateMember", "createWorkspaceInvitation"):
        body = {"role": "reader"}
    elif operation_id == "createFile":
        body = {"path": "a.md", "text": ""}
    elif operation_id == "updateFile":
        body = {"text": ""}
    elif operation_id == "finalizeAttachment":
        body = {"path": "attachments/a.png"}
    elif operation_id == "saveNote":
        body = {"epoch": UNKNOWN, "update": "AAA="}
    elif operation_id == "createPublishedLink":
        body = {"target": {"kind": "folder", "path": ""}}
    elif operation_id == "undoClientChanges":
        body = {"client": "a", "since": AFTER_ALL}
    elif operation_id == "restoreWorkspace":
        body = {"moment": AFTER_ALL}
    elif operation_id == "pushChangeset":
        change = {"op": "purge", "fileId": UNKNOWN}
        body = {"mutationId": UNKNOWN, "operations": [change]}
    return json.dumps(body).encode()


def common_case(described: Documented, code: str) -> Case:
    """The case of a refusal that every operation produces in the same way."""
    if code == "body_timeout":
        _stopping[described["operationId"]] = described
    return Case(described["operationId"], code, lambda world: ALIKE[code](world, described))

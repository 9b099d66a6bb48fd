"""Valid requests of an account that cost much, repeated on many connections.

What they need is made before the attack begins.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any

from tests.e2e.overload.bystander import mutation
from tests.e2e.overload.target import Target, begun

_LINKS = 24_000
_LINKING = 400
_CHANGED = 490
_NOTE = 14_000
_LONG_NOTE = 2_000_000
_LONG_NOTES = 4
_MEMBERS = 700_000
_OPERATIONS = 330_000
_PATIENCE = 60.0


class _Client:
    """One connection of an account, with a workspace of its own."""

    def __init__(self, target: Target, workspace: str = "") -> None:
        self._connection = HTTPConnection(
            "127.0.0.1", target.port, source_address=(f"127.0.0.{target.addresses[0]}", 0)
        )
        self._signed = {
            "authorization": f"Bearer {target.keys[0]}",
            "content-type": "application/json",
        }
        self.workspace = workspace or self.ask("POST", "/api/workspaces", {"name": "Own"})["id"]

    def close(self) -> None:
        """Connect anew for the next request."""
        self._connection.close()

    @property
    def changesets(self) -> str:
        """The path that changesets are sent to."""
        return f"/api/workspaces/{self.workspace}/changesets"

    def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Send a request; return status and body of the response."""
        self._connection.request(method, path, body, self._signed)
        response = self._connection.getresponse()
        return response.status, response.read()

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        """Send a request that is accepted; return the document of the response."""
        encoded = None if body is None else json.dumps(body).encode()
        status, content = self.send(method, path, encoded)
        assert status < 300, (status, content[:500])
        return json.loads(content)

    def change(self, operations: list[dict[str, Any]]) -> Any:  # noqa: ANN401
        """Send a changeset."""
        return self.ask(
            "POST", self.changesets, {"mutationId": mutation(), "operations": operations}
        )


def _created(path: str, text: str) -> dict[str, Any]:
    return {"op": "create", "fileId": mutation(), "path": path, "text": text}


def _repeat(client: _Client, act: Callable[[_Client], None]) -> None:
    """Repeat ``act`` until the process is killed, also while the server stops."""
    while True:
        try:
            act(client)
        except (OSError, HTTPException):
            client.close()
            time.sleep(0.1)


def _on_each(target: Target, workspace: str, act: Callable[[_Client], None]) -> None:
    """Repeat ``act`` on all connections until the process is killed."""

    def repeat() -> None:
        _repeat(_Client(target, workspace), act)

    threads = [threading.Thread(target=repeat, daemon=True) for _ in range(target.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def links_read(target: Target) -> None:
    """Read the links of a note that has 24,000."""
    client = _Client(target)
    text = "\n".join(f"- [l{number}](n/{number % 4000}.md#x{number})" for number in range(_LINKS))
    note = _created("many.md", text)
    client.change([note])
    path = f"/api/workspaces/{client.workspace}/files/{note['fileId']}/links?limit=1"
    assert len(client.ask("GET", path)["outgoing"]) == _LINKS
    begun()

    def read(each: _Client) -> None:
        status, _ = each.send("GET", path)
        assert status in (200, 503), status

    _on_each(target, client.workspace, read)


def large_changesets(target: Target) -> None:
    """Send changesets of 7 MB with 490 notes each."""
    client = _Client(target)
    begun()

    def send(each: _Client) -> None:
        folder = secrets.token_hex(8)
        text = secrets.token_hex(_NOTE // 2)
        each.change([_created(f"{folder}/{number}.md", text) for number in range(_CHANGED)])

    _on_each(target, client.workspace, send)


def moves(target: Target) -> None:
    """Move a note to which 400 others link, each of which is rewritten."""
    client = _Client(target)
    hub = _created("hub.md", "# hub\n")
    words = secrets.token_hex(750)
    linking = [
        _created(f"n/{number}.md", f"# n\n\n{words}\n\nsee [hub](../hub.md)\n")
        for number in range(_LINKING)
    ]
    head = _head(client.change([hub, *linking]), hub)
    file = f"/api/workspaces/{client.workspace}/files/{hub['fileId']}"
    until = time.monotonic() + _PATIENCE
    while len(client.ask("GET", f"{file}/links?limit=500")["incoming"]) < _LINKING:
        assert time.monotonic() < until, "the links are not indexed"
        time.sleep(0.1)
    begun()
    numbers = count()

    def move(each: _Client) -> None:
        nonlocal head
        operation = {
            "op": "update",
            "fileId": hub["fileId"],
            "path": f"moved{next(numbers) % 2}/hub.md",
            "ifMatch": head,
            "rewriteLinks": True,
        }
        before = time.monotonic()
        changed = each.change([operation])
        taken = time.monotonic() - before
        assert len(changed["changes"]) == _LINKING + 1, len(changed["changes"])
        assert taken < 2, taken
        head = _head(changed, hub)

    _repeat(client, move)


def words_of_long_notes(target: Target) -> None:
    """Move, purge and delete notes of 2 MB of different words, and search."""
    begun()

    def act(_client: _Client) -> None:
        workspace = _Client(target)
        for number in range(_LONG_NOTES):
            note = _created(f"{number}.md", _chinese(_LONG_NOTE))
            head = _head(workspace.change([note]), note)
            _search(workspace)
            operation = {
                "op": "update",
                "fileId": note["fileId"],
                "path": f"moved/{note['path']}",
                "ifMatch": head,
            }
            head = _head(workspace.change([operation]), note)
            _search(workspace)
            if number % 2 == 0:
                gone = {"op": "delete", "fileId": note["fileId"], "ifMatch": head}
                workspace.change([gone])
                workspace.change([{"op": "purge", "fileId": note["fileId"]}])
                _search(workspace)
        status, content = workspace.send("DELETE", f"/api/workspaces/{workspace.workspace}")
        assert status < 300, (status, content[:500])
        workspace.close()

    _repeat(_Client(target), act)


def _chinese(size: int) -> str:
    """Return ``size`` bytes in which no two characters often follow each other."""
    return "".join(chr(0x4E00 + secrets.randbelow(0x5000)) for _ in range(size // 3))


def _search(client: _Client) -> None:
    status, content = client.send("GET", f"/api/workspaces/{client.workspace}/search?q=abc")
    assert status in (200, 503), (status, content[:500])


def _head(changed: Any, file: dict[str, Any]) -> str:  # noqa: ANN401
    """The head of ``file`` after a changeset."""
    found: str = next(
        each["revision"]["id"] for each in changed["changes"] if each["fileId"] == file["fileId"]
    )
    return found


def _refused(target: Target, body: bytes) -> None:
    client = _Client(target)
    begun()

    def send(each: _Client) -> None:
        status, content = each.send("POST", each.changesets, body)
        assert status in (400, 422, 503), (status, content[:500])

    _on_each(target, client.workspace, send)


def unknown_members(target: Target) -> None:
    """Send changesets with 700,000 members that no changeset has."""
    members = ",".join(f'"{number:x}":1' for number in range(_MEMBERS))
    _refused(target, f"{{{members}}}".encode())


def many_operations(target: Target) -> None:
    """Send changesets with 330,000 operations."""
    operations = ",".join(['{"op":"a","b":1234567}'] * _OPERATIONS)
    body = f'{{"mutationId":"{mutation()}","operations":[{operations}]}}'
    _refused(target, body.encode())

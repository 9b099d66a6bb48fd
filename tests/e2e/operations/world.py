"""What the cases find: a server, people, a workspace, and how to ask."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.people import Person
from tests.e2e.served_contract import ServedContract

Json = dict[str, Any]
UNKNOWN = "00000000-0000-7000-8000-000000000000"
SYNC = {"sync-protocol": "1"}

_numbers = itertools.count(1)


def fresh_id() -> str:
    """An identifier that nothing has yet."""
    return f"10000000-0000-7000-8000-{next(_numbers):012x}"


@dataclass(frozen=True)
class World:
    """A server with people in it.

    Attributes:
        http: a client that shows nothing by itself.
        owner: owns the workspace.
        reader: reads in it, and no more.
        stranger: does not belong to it.
        locked: an account that is locked, and belongs to it.
        workspace: its id.
        invitation: makes the token of a new invitation.
    """

    http: httpx.Client
    contract: ServedContract
    owner: Person
    reader: Person
    stranger: Person
    locked: Person
    workspace: str
    invitation: Callable[[], str]

    @property
    def base(self) -> str:
        return f"/api/workspaces/{self.workspace}"

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Ask as the owner, unless ``headers`` show somebody else."""
        headers = given.pop("headers", {})
        if not {"authorization", "cookie"} & headers.keys():
            headers = {**self.owner.by_key, **headers}
        return self.http.request(method, path, headers=headers, **given)

    def anybody(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Ask as nobody in particular."""
        return self.http.request(method, path, **given)

    def note(self, text: str = "text") -> Json:
        """A new note: what came of making it."""
        given = {"path": f"{fresh_id()}.md", "text": text, "mutationId": fresh_id()}
        made = self.ask("POST", f"{self.base}/files", json=given)
        assert made.status_code == 201, made.text
        found: Json = made.json()
        return found

    def deleted(self) -> Json:
        """A note that was made and deleted: what came of deleting it."""
        note = self.note()
        gone = self.ask("DELETE", self.file(note), headers=if_match(note))
        assert gone.status_code == 200, gone.text
        found: Json = gone.json()
        return found

    def purged(self) -> Json:
        """A note that was made, deleted and purged."""
        gone = self.deleted()
        purged = self.ask("POST", f"{self.file(gone)}/purge", json={})
        assert purged.status_code == 200, purged.text
        found: Json = purged.json()
        return found

    def file(self, change: Json) -> str:
        """The address of the file that a change is of."""
        return f"{self.base}/files/{change['fileId']}"

    def push(self, *operations: Json, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Push a changeset."""
        body = {"mutationId": fresh_id(), "operations": operations}
        headers = {**SYNC, **given.pop("headers", {})}
        return self.ask("POST", f"{self.base}/changesets", json=body, headers=headers)


def if_match(change: Json) -> dict[str, str]:
    """The header that names the head that a change left."""
    return {"if-match": f'"{change["revision"]["id"]}"'}

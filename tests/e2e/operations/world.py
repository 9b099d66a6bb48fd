"""The environment of the cases: a server, people, a workspace, and a client."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from octavo.model.access.account import Versions
from octavo.model.access.token import digest_of
from tests.e2e.databases import change
from tests.e2e.people import Person, invite, join, reset_token
from tests.e2e.served_contract import ServedContract

Json = dict[str, Any]
UNKNOWN = "00000000-0000-7000-8000-000000000000"
SYNC = {"sync-protocol": "1"}
ACCEPTED = Versions(terms="2", privacy="2026-05")
"""The versions in force: the terms are a file, the privacy notice is an address."""
LINKS = 4
"""Live links that a workspace may have."""
TEXT = "Bake for 40 minutes.\n"
PORTAL = "https://billing.example/start?from=notes"
WRITES = 1_000_000
"""Objects that may be written in a month."""
CONSENT = {"termsVersion": ACCEPTED.terms, "privacyVersion": ACCEPTED.privacy}

_numbers = itertools.count(1)


def fresh_id() -> str:
    """A new, unused identifier."""
    return f"10000000-0000-7000-8000-{next(_numbers):012x}"


@dataclass(frozen=True)
class World:
    """A server with accounts on it.

    Attributes:
        http: a client without credentials.
        owner: owns the workspace.
        reader: has read access to it.
        stranger: is not a member.
        locked: a locked account that is a member.
        due: a member that has to accept newer terms first.
        limited: the headers of a key of the owner that may only read.
        workspace: its id.
        invitation: makes the token of a new invitation.
        newcomer: makes a new account, which has accepted the versions in force.
        operator: the headers of the operator.
        reset_token: makes a token to choose a new password for the account with an address.
        change: executes a statement in the database.
        together: responses that cases produce together, by code and operation.
    """

    http: httpx.Client
    contract: ServedContract
    owner: Person
    reader: Person
    stranger: Person
    locked: Person
    due: Person
    limited: dict[str, str]
    workspace: str
    invitation: Callable[[], str]
    newcomer: Callable[[], Person]
    operator: dict[str, str]
    reset_token: Callable[[str], str]
    change: Callable[[str], None]
    together: dict[tuple[str, str], httpx.Response] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return f"/api/workspaces/{self.workspace}"

    def in_new_workspace(self) -> "World":
        """The same people in a new workspace."""
        made = self.ask("POST", "/api/workspaces", json={"name": "Kitchen"}).json()["id"]
        readers = ", ".join(f"'{each.account_id}'" for each in (self.reader, self.locked, self.due))
        self.change(
            "INSERT INTO members (workspace_id, account_id, role, joined_at) "
            f"SELECT '{made}', id, 'reader', created_at FROM accounts WHERE id IN ({readers})"
        )
        return replace(self, workspace=made)

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Send a request as the owner, unless ``headers`` authenticate another account."""
        headers = given.pop("headers", {})
        if not {"authorization", "cookie"} & headers.keys():
            headers = {**self.owner.by_key, **headers}
        return self.http.request(method, path, headers=headers, **given)

    def anybody(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Send a request without credentials."""
        return self.http.request(method, path, **given)

    def note(self, text: str = TEXT) -> Json:
        """Create a note; return the outcome."""
        given = {"path": f"{fresh_id()}.md", "text": text, "mutationId": fresh_id()}
        made = self.ask("POST", f"{self.base}/files", json=given)
        assert made.status_code == 201, made.text
        found: Json = made.json()
        return found

    def deleted(self) -> Json:
        """Create and delete a note; return the outcome of the deletion."""
        note = self.note()
        gone = self.ask("DELETE", self.file(note), headers=if_match(note))
        assert gone.status_code == 200, gone.text
        found: Json = gone.json()
        return found

    def purged(self) -> Json:
        """Create, delete and purge a note."""
        gone = self.deleted()
        purged = self.ask("POST", f"{self.file(gone)}/purge", json={})
        assert purged.status_code == 200, purged.text
        found: Json = purged.json()
        return found

    def file(self, change: Json) -> str:
        """The URL of the file that was changed."""
        return f"{self.base}/files/{change['fileId']}"

    def push(self, *operations: Json, **given: Any) -> httpx.Response:  # noqa: ANN401
        """Push a changeset."""
        body = {"mutationId": fresh_id(), "operations": operations}
        headers = {**SYNC, **given.pop("headers", {})}
        return self.ask("POST", f"{self.base}/changesets", json=body, headers=headers)


def if_match(change: Json) -> dict[str, str]:
    """The ``if-match`` header for the head that a change produced."""
    return {"if-match": f'"{change["revision"]["id"]}"'}


def options_for(folder: Path, token: str) -> tuple[str, ...]:
    """The options of a server that the cases expect, with the token of its operator."""
    terms = folder.parent / "terms.md"
    terms.write_text("---\nversion: 2\n---\n# Our terms\n")
    return (
        *("--body-timeout", "0.5"),
        *("--registration-attempts-per-client", "300"),
        *("--sign-in-attempts-per-client", "120"),
        *("--published-links", str(LINKS)),
        *("--terms", str(terms), "--privacy-notice", "https://elsewhere.example/privacy"),
        *("--privacy-version", str(ACCEPTED.privacy), "--portal", f"billing={PORTAL}"),
        *("--write-objects-per-month", str(WRITES)),
        *("--mcp", "true", "--mcp-write", "true"),
        *("--operator-tokens", digest_of(token.encode()).hex()),
    )


def inhabited(
    http: httpx.Client, folder: Path, database: str | None, owner: Person, operator: dict[str, str]
) -> World:
    """A new workspace of an account, with other accounts of every kind."""
    reader, stranger, locked, due = (join(folder, database, ACCEPTED) for _ in range(4))
    change(
        folder,
        database,
        "UPDATE accounts SET state = 'locked', address_proven = 1 "
        f"WHERE id = '{locked.account_id}'",
    )
    change(
        folder,
        database,
        f"UPDATE accounts SET consent_terms = '1' WHERE id = '{due.account_id}'",
    )
    reading = {"name": "limited", "scopes": ["notes:read"]}
    made = http.post("/api/account/keys", json=reading, headers=owner.by_key)
    limited = {"authorization": f"Bearer {made.json()['secret']}"}
    document = http.get("/api/openapi.json").json()
    world = World(
        http=http,
        contract=ServedContract(document),
        owner=owner,
        reader=reader,
        stranger=stranger,
        locked=locked,
        due=due,
        limited=limited,
        workspace="",
        invitation=lambda: invite(folder, database),
        newcomer=lambda: join(folder, database, ACCEPTED),
        reset_token=lambda address: reset_token(folder, database, address),
        operator=operator,
        change=lambda sql: change(folder, database, sql),
    )
    return world.in_new_workspace()

"""Administrators and the operator never see what people write.

What a person writes contains marks. An administrator who is no member of the workspace calls every
operation of the contract, and the operator those of the operator API; no byte of their responses
and no line of the log may contain a mark.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from octavo.model.access.token import digest_of, operator_token
from octavo.service.registry import api_document
from tests.e2e.databases import new_database
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.operations.common import Documented, operations, valid
from tests.e2e.operations.world import SYNC, UNKNOWN
from tests.e2e.people import Person, client, join, settle

MARK = "kolibri7351"
"""Contained in everything that the person writes."""
NAME = "pelikan9462"
"""Contained in the display name, which administrators see."""
OF_ADMINISTRATORS = {"administration", "operator", "audit"}
TOKEN = operator_token(bytes(32))
OPERATOR = {"authorization": f"Bearer {TOKEN}"}
BODIES: dict[str, dict[str, object]] = {
    "updateInstallation": {"registrationPolicy": "invitation"},
    "createInvitation": {"role": "member"},
    "setOperatorAccountControls": {"revision": 1, "storageBytes": 10_000_000},
    "updateAccount": {"limit": {"storageBytes": 10_000_000}},
}
QUERIES = {"findOperatorAccount": "address={address}", "search": f"q={MARK}"}
# These end what the other operations need, each of a different account.
LAST = ("removeOperatorAccount", "removeAccount")


@dataclass
class Marked:
    """A server with marked texts, and what it responded to those who must not see them."""

    octavo: Octavo
    root: Person
    ann: Person
    removable: list[Person]
    ids: dict[str, str]
    portal_token: str
    to_take_down: str
    responses: list[tuple[str, httpx.Response]] = field(default_factory=list)

    def call(self, described: Documented) -> None:
        """Call an operation as the operator or the administrator."""
        name = described["operationId"]
        ids = {**self.ids}
        if name == "takeDownReportedLink":
            ids["reportId"] = self.to_take_down
        if name in LAST:
            ids["accountId"] = self.removable.pop().account_id
        path = re.sub(r"\{(\w+)\}", lambda found: ids.get(found[1], UNKNOWN), described["path"])
        if name in QUERIES:
            path += "?" + QUERIES[name].format(address=self.ann.address)
        headers = {**SYNC, "if-match": f'"{ids["revisionId"]}"'}
        headers |= OPERATOR if described["tags"] == ["operator"] else self.root.by_key
        body = None
        if "requestBody" in described:
            headers["content-type"] = "application/json"
            body = json.dumps(BODIES[name]).encode() if name in BODIES else valid(name)
            if name == "redeemPortalToken":
                body = json.dumps({"token": self.portal_token}).encode()
        with client(self.octavo.url) as http:
            response = http.request(described["method"], path, headers=headers, content=body)
        assert response.status_code < 500, response.text
        self.responses.append((name, response))


def write_marked_texts(octavo: Octavo, person: Person) -> dict[str, str]:
    """Create a workspace whose name, files and history contain the mark; return ids of it."""
    with client(octavo.url, person) as http:

        def done(method: str, path: str, **given: Any) -> Any:  # noqa: ANN401
            response = http.request(method, path, **given)
            assert response.is_success, response.text
            return response.json()

        workspace = done("POST", "/api/workspaces", json={"name": f"The {MARK}"})["id"]
        base = f"/api/workspaces/{workspace}"
        text = f"# A {MARK}\n\n[[other|{MARK} link]] and {MARK} in the text\n" * 20
        note = done("POST", f"{base}/files", json={"path": f"{MARK}/{MARK}.md", "text": text})
        gone = done("POST", f"{base}/files", json={"path": f"gone {MARK}.md", "text": text})
        deleted = {"if-match": f'"{gone["revision"]["id"]}"'}
        done("DELETE", f"{base}/files/{gone['fileId']}", headers=deleted)
        found = done("GET", f"{base}/search?q={MARK}")
        assert MARK in json.dumps(found)
        invitation = done("POST", f"{base}/invitations", json={"role": "reader"})
        done("PATCH", "/api/account", json={"displayName": f"Ann {NAME}"})
        done("POST", "/api/account/keys", json={"name": f"key {MARK}"})
    return {
        "workspaceId": workspace,
        "fileId": note["fileId"],
        "revisionId": note["revision"]["id"],
        "accountId": person.account_id,
        "invitationId": invitation["id"],
    }


@pytest.fixture(scope="module", params=["sqlite json", "postgres console"])
def marked(request: pytest.FixtureRequest) -> Iterator[Marked]:
    engine, log_format = request.param.split()
    options: tuple[str, ...] = ("--log-format", log_format)
    options += ("--operator-tokens", digest_of(TOKEN.encode()).hex())
    options += ("--portal", "billing=https://billing.example/start")
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())
        database = None
        if engine == "postgres":
            server = request.getfixturevalue("postgres_server")
            database = stack.enter_context(new_database(server))
            options += ("--database", database)
        octavo = stack.enter_context(running(folder, *options))
        root = settle(octavo)
        ann, *removable = (join(folder, database) for _ in range(3))
        ids = write_marked_texts(octavo, ann)
        with client(octavo.url, ann) as http:
            opened = http.post("/api/account/portal", json={"path": "billing"}).json()
        [token] = parse_qs(urlsplit(opened["address"]).query)["token"]
        ids["reportId"], to_take_down = reported(octavo, root, ann, ids)
        made = Marked(octavo, root, ann, removable, ids, token, to_take_down)
        called = sorted(operations(api_document()), key=lambda each: each["operationId"] in LAST)
        for described in called:
            made.call(described)
        octavo.stop()
        yield made


def reported(octavo: Octavo, root: Person, ann: Person, ids: dict[str, str]) -> tuple[str, str]:
    """Publish the marked note by two links with a password, and report both; return the reports.

    The token of one of them is added to ``ids``.
    """
    with client(octavo.url, ann) as http:
        for _ in range(2):
            how = {"label": f"From {MARK}", "password": f"{MARK} {MARK}"}
            target = {"kind": "note", "fileId": ids["fileId"]}
            place = f"/api/workspaces/{ids['workspaceId']}/publications"
            made = http.post(place, json={"target": target, **how})
            assert made.status_code == 201, made.text
            ids["token"] = made.json()["token"]
            sent = http.post(f"/published/{ids['token']}/report", data={"reason": "spam"})
            assert sent.status_code == 200, sent.text
    with client(octavo.url, root) as http:
        first, second = (each["id"] for each in http.get("/api/reports").json()["items"])
    return first, second


def everything(response: httpx.Response) -> str:
    """The bytes of a response, headers and body, in lower case."""
    headers = b"\n".join(name + b": " + value for name, value in response.headers.raw)
    return (headers + b"\n\n" + response.content).decode("utf-8", "replace").casefold()


def test_operations_of_administrators_and_of_the_operator_were_carried_out(marked: Marked) -> None:
    tags = {each["operationId"]: set(each["tags"]) for each in operations(api_document())}
    called = {name: response for name, response in marked.responses if name in tags}
    assert called.keys() == tags.keys()
    theirs = [name for name in tags if tags[name] & OF_ADMINISTRATORS]
    assert len(theirs) >= 10
    refused = {name: called[name].text for name in theirs if not called[name].is_success}
    # Revoked by another operation before.
    assert refused.keys() <= {"revokeInvitation"}, refused


def test_no_response_contains_a_mark(marked: Marked) -> None:
    seen = [name for name, response in marked.responses if MARK in everything(response)]
    # It repeats what was asked for, not what was found.
    assert seen == []


def test_the_log_contains_no_mark(marked: Marked) -> None:
    log = "".join(marked.octavo.log.all).casefold()
    assert "request" in log
    assert "audit" in log
    assert MARK not in log
    assert NAME not in log


def test_a_mark_where_administrators_see_it_is_found(marked: Marked) -> None:
    seen = {name for name, response in marked.responses if NAME in everything(response)}
    assert "listAccounts" in seen
    # Entries of the audit have no names.
    assert "listAuditEntries" not in seen
    assert PUBLIC not in MARK

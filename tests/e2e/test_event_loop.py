"""Nothing holds the event loop: every page and operation, asked for the largest that is legal.

The requests are made from the registries: each route of the pages, and each operation of the
document. What they need of an installation is filled in by the names of their parameters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.operations.world import SYNC, fresh_id
from tests.e2e.people import Person, client, settle
from tests.e2e.server import PATIENCE
from tests.fakes.page_reader import MULTIPART, installation, multipart_fields

MOST_MS = 20.0
"""Milliseconds of a step."""
MOST_OF_ESCAPES_MS = 40.0
"""Of one that reads a text of escapes alone: the parser of JSON reads a body in one call."""
TRIES = 8
"""What else the machine does can only add to a step."""
LONGEST = 2 * 1024 * 1024
_LINES = 95_000
_FILES = 5_000
_REVISIONS = 300
QUERIES = {
    "getFile": ["?content=full", "?content=text"],
    "listFiles": ["?limit=500", "?limit=500&order=recent"],
    "diffRevisions": ["?context=1000", "?by=words", "?old={old}&new={new}"],
    "getFeed": ["?include=text&limit=500", "?limit=500"],
    "listRevisions": ["?limit=500"],
    "getLinks": ["?limit=500"],
    "listUnresolvedLinks": ["?limit=500"],
    "searchWorkspace": ["?q=line&limit=100", "?q=1*&limit=100"],
    "search": ["?q=line&limit=100"],
}
"""The queries of operations whose responses depend on them most."""
VIEWS = {"difference": ["?view=words", "?view=lines", "?view=sides"]}
SKIPPED = {
    "openSyncNotices": "is a WebSocket",
    "getLegalDocument": "serves the operator's text",
}


@dataclass
class Vault:
    """An installation with the largest legal things.

    Attributes:
        ids: fill in the parameters of paths.
        read: the lines of the file with steps that were read.
        status: that of the last response.
    """

    octavo: Octavo
    http: httpx.Client
    owner: Person
    ids: dict[str, str]
    steps: Path
    read: int = 0
    status: int = 0

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        return self.http.request(method, path, **given)

    def longest_step(
        self,
        method: str,
        path: str,
        *,
        most: float = MOST_MS,
        **given: Any,  # noqa: ANN401
    ) -> float:
        """Send a request; return its longest step, in milliseconds, in the best of some tries.

        One that takes less than ``most`` is the last. A note that the workers could not render in
        time, beside what else the machine does, is asked for again: nothing was sent of it.
        """
        best = inf
        for _ in range(TRIES):
            self.status = self.ask(method, path, **given).status_code
            # The step in which the response was sent has ended then.
            self.ask("GET", "/api/health")
            lines = self.steps.read_text().splitlines()
            new, self.read = lines[self.read :], len(lines)
            if self.status == 503:
                continue
            best = min(best, max((float(line.partition(" ")[0]) for line in new), default=0.0))
            if best < most:
                break
        assert self.status < 500, path
        return best


def _lines(word: str) -> str:
    return "".join(f"{at:09d} {word} line\n" for at in range(_LINES))


def _signs() -> str:
    line = '"a sign" & <b> ' * 60 + "\n"
    return "```\n" + line * ((LONGEST - 100) // len(line)) + "```\n"


def _fill(octavo: Octavo, http: httpx.Client, owner: Person, folder: Path) -> Vault:
    def ask(method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401
        response = http.request(method, path, json=body, headers=SYNC | headers)
        assert response.status_code < 300, response.text[:500]
        return response.json()

    workspace = ask("POST", "/api/workspaces", {"name": "Large"})["id"]
    base = f"/api/workspaces/{workspace}"
    made = {}
    for name, text in (("lines", _lines("old")), ("signs", _signs()), ("history", "0\n")):
        made[name] = ask("POST", f"{base}/files", {"path": f"{name}.md", "text": text})
    ids = {name: change["fileId"] for name, change in made.items()}
    head = made["lines"]["revision"]["id"]
    changed = ask(
        "PUT", f"{base}/files/{ids['lines']}", {"text": _lines("new")}, **{"if-match": f'"{head}"'}
    )
    head = made["history"]["revision"]["id"]
    for number in range(1, _REVISIONS):
        head = ask(
            "PUT",
            f"{base}/files/{ids['history']}",
            {"text": f"{number}\n"},
            **{"if-match": f'"{head}"'},
        )["revision"]["id"]
    for start in range(0, _FILES, 500):
        operations = [
            {
                "op": "create",
                "fileId": fresh_id(),
                "path": f"many/{at % 7}/note {at}.md",
                "text": f"[[note {at - 1}]] line",
            }
            for at in range(start, start + 500)
        ]
        ask("POST", f"{base}/changesets", {"mutationId": fresh_id(), "operations": operations})
    return Vault(
        octavo,
        http,
        owner,
        {
            "workspaceId": workspace,
            "fileId": ids["lines"],
            "signs": ids["signs"],
            "history": ids["history"],
            "revisionId": made["lines"]["revision"]["id"],
            "old": made["lines"]["revision"]["id"],
            "new": changed["revision"]["id"],
        },
        folder / "steps",
    )


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with data_folder() as folder:
        program = ("-m", "tests.e2e.measured_server")
        with running(folder, program=program) as octavo:
            owner = settle(octavo)
            with client(octavo.url, owner) as http:
                # The workers that render have the time that everything else leaves.
                http.timeout = 4 * PATIENCE
                yield _fill(octavo, http, owner, folder.parent)


def _filled(vault: Vault, template: str) -> str:
    """Return the path of a route or operation."""
    names = re.findall(r"{(\w+)}", template)
    values = {name: vault.ids.get(name) or fresh_id() for name in names}
    return template.format_map({name: quote(value, safe="") for name, value in values.items()})


def _page_routes() -> Iterator[str]:
    with installation() as house:
        for rule in house.app.url_map.iter_rules():
            if "GET" in (rule.methods or ()):
                yield re.sub(r"<(?:\w+:)?(\w+)>", _parameter, rule.rule)


def _parameter(found: re.Match[str]) -> str:
    first, *others = found[1].split("_")
    return f"{{{first}{''.join(map(str.capitalize, others))}}}"


def test_no_operation_that_reads_holds_the_event_loop(vault: Vault) -> None:
    found: dict[str, float] = {}
    succeeded = 0
    for template, methods in vault.ask("GET", "/api/openapi.json").json()["paths"].items():
        operation_id = methods.get("get", {}).get("operationId", "")
        if not operation_id or operation_id in SKIPPED:
            continue
        for query in QUERIES.get(operation_id, [""]):
            path = _filled(vault, template) + query.format_map(vault.ids)
            found[operation_id + query] = vault.longest_step("GET", path, headers=SYNC)
            succeeded += vault.status == 200
    assert succeeded > 30
    assert {name: step for name, step in found.items() if step > MOST_MS} == {}


def test_many_texts_do_not_hold_the_event_loop(vault: Vault) -> None:
    files = [vault.ids[name] for name in ("fileId", "signs", "history")]
    body = {"fileIds": files, "content": "full"}
    path = f"/api/workspaces/{vault.ids['workspaceId']}/files/read"
    assert vault.longest_step("POST", path, json=body) <= MOST_MS


@pytest.mark.parametrize("sign", ['"', "\n"])
def test_text_of_escapes_alone_holds_the_event_loop_a_little_longer(
    vault: Vault, sign: str
) -> None:
    path = f"/api/workspaces/{vault.ids['workspaceId']}/files"
    body = {"path": f"escapes {ord(sign)}.md", "text": f"```\n{sign * (LONGEST - 9)}\n```"}
    assert vault.longest_step("POST", path, json=body, most=MOST_OF_ESCAPES_MS) <= (
        MOST_OF_ESCAPES_MS
    )
    assert vault.status in (201, 409)


def test_no_page_holds_the_event_loop(vault: Vault) -> None:
    found: dict[str, float] = {}
    succeeded = 0
    for template in _page_routes():
        for query in VIEWS.get(template.rpartition("/")[2], [""]):
            path = _filled(vault, template) + query
            found[template + query] = vault.longest_step("GET", path, headers=vault.owner.by_cookie)
            succeeded += vault.status == 200
    assert succeeded > 40
    assert {name: step for name, step in found.items() if step > MOST_MS} == {}


def test_conflict_of_the_longest_texts_keeps_what_was_written(vault: Vault) -> None:
    signed = vault.owner.by_cookie
    place = f"/workspaces/{vault.ids['workspaceId']}/notes/{vault.ids['signs']}/edit"
    page = vault.ask("GET", place, headers=signed).text
    fields = dict(re.findall(r'name="([\w-]+)" value="([^"]*)"', page))
    stamp = re.search(r"\?stamp=[\w-]+", page)
    assert stamp is not None
    saved = f"/api{place.removesuffix('/edit').replace('/notes/', '/files/')}"
    tag = {"if-match": f'"{fields["head"]}"'}
    theirs = vault.ask("PUT", saved, json={"text": f"Theirs.\n{_signs()}"}, headers=tag)
    assert theirs.status_code == 200
    mine = f"{_signs()}Mine, with a star: \N{SPARKLES}\n"
    written = {**fields, "text": mine, "action": "save"}
    headers = signed | {"content-type": MULTIPART}
    response = vault.ask(
        "POST", place + stamp[0], content=multipart_fields(written), headers=headers
    )
    assert response.status_code == 409
    assert "Mine, with a star: \N{SPARKLES}" in response.text


@pytest.mark.parametrize("action", ["save", "preview", "none"])
def test_no_form_with_a_long_text_holds_the_event_loop(vault: Vault, action: str) -> None:
    path = f"/workspaces/{vault.ids['workspaceId']}/notes/{vault.ids['fileId']}/edit"
    page = vault.ask("GET", path, headers=vault.owner.by_cookie).text
    stamp = re.search(r"\?stamp=[\w-]+", page)
    token = re.search(r'name="token-of-form" value="(\w+)"', page)
    assert stamp is not None
    assert token is not None
    found: dict[int, float] = {}
    for text in (_signs(), 4 * _signs()):
        fields = {
            "text": text.replace("\n", "\r\n"),
            "path": "lines.md",
            "path-before": "lines.md",
            "action": action,
            "token-of-form": "of another session" if action == "none" else token[1],
        }
        found[len(text)] = vault.longest_step(
            "POST",
            path + stamp[0],
            content=multipart_fields(fields),
            headers=vault.owner.by_cookie | {"content-type": MULTIPART},
        )
        assert vault.status in (200, 303, 409, 413, 422)
    assert max(found.values()) <= MOST_MS, found

"""Clients that save notes of one workspace and record what they learn."""

import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from greenroom.testing import History, Value

from tests.e2e.plain_client import ConnectionLost, PlainClient, Response
from tests.histories.feed_order import FeedEntry, check_order
from tests.histories.operations import Commit, Operation

Json = dict[str, Any]
SYNC = {"sync-protocol": "1"}
# With these, nothing was changed; 503 tells whether it may have been.
_DEFINITE = (404, 409, 410, 412, 422)
_PAGE = 500


@dataclass
class Save:
    """One change with a mutation of its own, to be sent once or repeatedly."""

    method: str
    path: str
    body: Json
    headers: dict[str, str]
    commit: Commit
    receipt: Json | None = None
    """The acknowledged outcome; None until the change is acknowledged."""
    refused: bool = False


@dataclass(frozen=True)
class Head:
    """A live note as a client knows it."""

    revision_id: str
    text: str


@dataclass
class Workload:
    """The shared knowledge of the clients of one workspace, and their history.

    Attributes:
        workspace: its id.
        rng: decides what they do; seeded.
        history: their operations and the results.
        heads: the live notes as last seen; they may have changed since.
        saves: all changes sent.
        settled: the number of changes with a known outcome.
    """

    workspace: str
    rng: random.Random
    history: History[Operation] = field(default_factory=History)
    heads: dict[str, Head] = field(default_factory=dict)
    saves: list[Save] = field(default_factory=list)
    settled: int = 0

    @property
    def base(self) -> str:
        return f"/api/workspaces/{self.workspace}"

    def new_id(self) -> str:
        return f"20000000-0000-7000-8000-{self.rng.randrange(16**12):012x}"

    def next_save(self) -> Save:
        """Choose a change: a new note, a new text for one, or several changes together."""
        kind = self.rng.choice(("create", "update", "update", "changeset"))
        if kind == "create" or len(self.heads) < 5:
            save = self._creation()
        elif kind == "update":
            save = self._update(self.rng.choice(sorted(self.heads)))
        else:
            save = self._changeset(self.rng.sample(sorted(self.heads), 3))
        self.saves.append(save)
        return save

    def _text(self) -> str:
        """A unique text."""
        return f"{self.new_id()} " + "x" * self.rng.choice((1, 100, 5_000))

    def _commit(self, mutation: str, swaps: dict[str, tuple[Value, Value]]) -> Commit:
        return Commit.of(self.workspace, mutation, swaps)

    def _creation(self) -> Save:
        mutation, file_id, text = self.new_id(), self.new_id(), self._text()
        body = {"fileId": file_id, "path": f"{file_id}.md", "text": text, "mutationId": mutation}
        commit = self._commit(mutation, {file_id: (None, text)})
        return Save("POST", f"{self.base}/files", body, {}, commit)

    def _update(self, file_id: str) -> Save:
        mutation, text, head = self.new_id(), self._text(), self.heads[file_id]
        return Save(
            "PUT",
            f"{self.base}/files/{file_id}",
            {"text": text, "mutationId": mutation},
            {"if-match": f'"{head.revision_id}"'},
            self._commit(mutation, {file_id: (head.text, text)}),
        )

    def _changeset(self, file_ids: list[str]) -> Save:
        mutation, made = self.new_id(), self.new_id()
        swaps: dict[str, tuple[Value, Value]] = {made: (None, self._text())}
        operations: list[Json] = [
            {"op": "create", "fileId": made, "path": f"{made}.md", "text": swaps[made][1]}
        ]
        gone = self.rng.choice((None, file_ids[0]))
        for file_id in file_ids:
            head = self.heads[file_id]
            guarded: Json = {"fileId": file_id, "ifMatch": head.revision_id}
            if file_id == gone:
                swaps[file_id] = (head.text, None)
                operations.append({"op": "delete", **guarded})
            else:
                swaps[file_id] = (head.text, self._text())
                operations.append({"op": "update", **guarded, "text": swaps[file_id][1]})
        body = {"mutationId": mutation, "operations": operations}
        return Save("POST", f"{self.base}/changesets", body, SYNC, self._commit(mutation, swaps))

    async def send(self, process: str, save: Save, plain: PlainClient) -> Response | None:
        """Send a change and record its outcome; return None without a response."""
        with self.history.record(process, save.commit) as invocation:
            try:
                response = await plain.request(save.method, save.path, save.body, save.headers)
            except ConnectionLost:
                return None
            if response.is_success:
                save.receipt = _receipt(save, response.json())
                invocation.ok(save.receipt["position"])
                self._learn(save)
            elif response.status in _DEFINITE:
                save.refused = True
                invocation.refused()
            else:
                assert response.status == 503, response.body
        return response

    def _learn(self, save: Save) -> None:
        assert save.receipt is not None
        for change in save.receipt["changes"]:
            text = save.commit.written[change["fileId"]]
            if text is None:
                self.heads.pop(change["fileId"], None)
            else:
                self.heads[change["fileId"]] = Head(change["revision"]["id"], str(text))

    async def look(self, http: httpx.AsyncClient) -> None:
        """Read the heads again, as a client does after it lost its connection."""
        response = await http.get(f"{self.base}/snapshot", headers=SYNC)
        *lines, end = (line for line in response.text.split("\n") if line)
        assert '"files":' in end
        found = [json.loads(line) for line in lines]
        self.heads = {each["fileId"]: Head(each["revisionId"], each["text"]) for each in found}

    async def outcome_of(self, save: Save, http: httpx.AsyncClient) -> Json | None:
        """The outcome of a change by its receipt; None without one."""
        response = await http.get(f"{self.base}/receipts/{save.commit.mutation}")
        assert response.status_code in (200, 404), response.text
        found: Json | None = response.json() if response.status_code == 200 else None
        return found

    async def judge(self, http: httpx.AsyncClient) -> int:
        """Check the contents of the workspace against the history; return its position.

        Every acknowledged change is there once, with its texts, at the position that its client
        learned; every other one completely or not at all; positions have no gaps, and no update
        overwrote a revision that it was not based on.
        """
        feed = await self._read_feed(http)
        check_order(self.history, {self.workspace: feed})
        page = await http.get(f"{self.base}/feed?after=0&limit=1", headers=SYNC)
        assert page.json()["position"] == len(feed)
        return len(feed)

    async def _read_feed(self, http: httpx.AsyncClient) -> list[FeedEntry]:
        revision_ids = [each async for each in self._revision_ids(http)]
        swaps: dict[tuple[int, str], dict[str, Value]] = defaultdict(dict)
        for start in range(0, len(revision_ids), _PAGE):
            asked = {"revisionIds": revision_ids[start : start + _PAGE]}
            response = await http.post(f"{self.base}/files/read", json=asked)
            assert response.json()["missing"] == []
            for each in response.json()["items"]:
                place = (each["head"]["position"], each["head"]["mutationId"])
                swaps[place][each["id"]] = each["text"] if each["state"] == "live" else None
        return [FeedEntry(at, mutation, swaps[at, mutation]) for at, mutation in sorted(swaps)]

    async def _revision_ids(self, http: httpx.AsyncClient) -> AsyncIterator[str]:
        for state in ("live", "deleted"):
            async for file in _pages(http, f"{self.base}/files", state=state):
                async for each in _pages(http, f"{self.base}/files/{file['id']}/revisions"):
                    yield each["id"]


async def _pages(http: httpx.AsyncClient, path: str, **params: str) -> AsyncIterator[Json]:
    after: dict[str, str] = {}
    while True:
        response = await http.get(path, params={**params, **after})
        assert response.status_code == 200, response.text
        page = response.json()
        for each in page["items"]:
            yield each
        if page["next"] is None:
            return
        after = {"after": page["next"]}


def _receipt(save: Save, response: Json) -> Json:
    """The outcome of a change, from the response to it."""
    if "changes" in response:
        return response
    mutation, position = save.commit.mutation, response["position"]
    mark = response["revision"]["id"]
    return {"mutationId": mutation, "position": position, "mark": mark, "changes": [response]}

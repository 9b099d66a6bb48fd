"""A device that keeps a copy of a workspace: it edits, pushes, listens, pulls, and ends in step."""

import json
import random
import uuid
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx
import trio
from trio_websocket import open_websocket_url

PUSH_AT_ONCE = 100
PAUSE = 0.002
"""Seconds between two edits of a device, about."""


@dataclass
class Note:
    """A note as the device has it."""

    path: str
    text: str
    revision: str


@dataclass
class Device:
    """One device of an account.

    Attributes:
        notes: its copy, by file id.
        position: up to which the copy is complete.
        latencies: seconds from the save of the other device to the notice here.
    """

    name: str
    client: httpx.AsyncClient
    workspace: str
    sent: dict[int, float]
    random: random.Random
    notes: dict[str, Note] = field(default_factory=dict)
    position: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    _news: trio.Event = field(default_factory=trio.Event)
    _own: set[int] = field(default_factory=set)

    @property
    def home(self) -> str:
        """The address of the workspace."""
        return f"/api/workspaces/{self.workspace}"

    async def push(self, vault: dict[str, str]) -> None:
        """Push a whole vault, many notes a changeset."""
        paths = list(vault)
        for start in range(0, len(paths), PUSH_AT_ONCE):
            operations = [
                {"op": "create", "fileId": str(uuid.uuid4()), "path": path, "text": vault[path]}
                for path in paths[start : start + PUSH_AT_ONCE]
            ]
            body = {"mutationId": str(uuid.uuid4()), "operations": operations}
            answer = await self.client.post(f"{self.home}/changesets", json=body)
            answer.raise_for_status()

    async def download(self) -> None:
        """Take the whole workspace as it stands."""
        self.notes, self.position = await self.snapshot()

    async def snapshot(self) -> tuple[dict[str, Note], int]:
        """Read the whole workspace; answer its notes and the position they are exact at."""
        notes: dict[str, Note] = {}
        async with self.client.stream("GET", f"{self.home}/snapshot") as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                entry = json.loads(line)
                if "fileId" not in entry:
                    return notes, entry["position"]
                notes[entry["fileId"]] = Note(entry["path"], entry["text"], entry["revisionId"])
        raise RuntimeError("the snapshot was cut short")

    async def listen(self, base_url: str) -> None:
        """Listen to notices until cancelled."""
        parts = urlsplit(base_url)
        headers = [(b"authorization", self.client.headers["authorization"].encode())]
        url = f"ws://{parts.netloc}/api/sync/notices"
        async with open_websocket_url(
            url, subprotocols=["octavo.notices.v1"], extra_headers=headers
        ) as socket:
            told = {"type": "subscribe", "workspaceId": self.workspace}
            await socket.send_message(json.dumps(told))
            while True:
                notice = json.loads(await socket.get_message())
                if notice["type"] != "changed":
                    continue
                self.counts["notices"] += 1
                position = notice["position"]
                if position in self.sent and position not in self._own:
                    self.latencies.append(trio.current_time() - self.sent[position])
                self._news.set()

    async def follow(self) -> None:
        """Pull whenever there is news, until cancelled."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            await self.pull()

    async def pull(self) -> None:
        """Bring the copy up to the newest position."""
        more = True
        while more:
            query: dict[str, str | int] = {"after": self.position, "limit": 500, "include": "text"}
            answer = await self.client.get(f"{self.home}/feed", params=query)
            page = answer.raise_for_status().json()
            for entry in page["entries"]:
                self._take(entry)
            self.position, more = page["next"], page["more"]

    def _take(self, entry: dict[str, str]) -> None:
        if entry["state"] == "live":
            note = Note(entry["path"], entry["text"], entry["revisionId"])
            self.notes[entry["fileId"]] = note
        else:
            self.notes.pop(entry["fileId"], None)

    async def edit(self) -> None:
        """Edit notes as they come to mind, until cancelled."""
        while True:
            # A few notes are what both work on just now: there one is refused now and then.
            ids = sorted(self.notes)
            file_id = self.random.choice(ids[:5] if self.random.random() < 0.5 else ids)
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 30):
                await self._save(file_id)
            await trio.sleep(self.random.uniform(0, 2 * PAUSE))

    async def _save(self, file_id: str) -> None:
        line = f"\nEdited on {self.name}, {self.random.getrandbits(32):08x}.\n"
        while (note := self.notes.get(file_id)) is not None:
            sent = trio.current_time()
            answer = await self.client.put(
                f"{self.home}/files/{file_id}",
                json={"text": note.text + line, "mutationId": str(uuid.uuid4())},
                headers={"if-match": f'"{note.revision}"'},
            )
            if answer.status_code != 412:
                change = answer.raise_for_status().json()
                self.counts["saves"] += 1
                self._own.add(change["position"])
                self.sent[change["position"]] = sent
                if self.notes[file_id] is note:
                    revision = change["revision"]["id"]
                    self.notes[file_id] = Note(note.path, note.text + line, revision)
                return
            # The other device was first: read its head, and put the line behind that.
            self.counts["refused and retried"] += 1
            read = await self.client.get(f"{self.home}/files/{file_id}")
            head = read.raise_for_status().json()
            self.notes[file_id] = Note(head["path"], head["text"], head["head"]["id"])

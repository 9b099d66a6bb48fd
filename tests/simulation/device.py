"""A device: it reads and writes, sometimes gives up, and retries."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import trio
from greenroom.testing import History, Status
from octavo_rules.content import note_text
from octavo_rules.identity import START, AccountId, Cursor, FileId, WorkspaceId

from octavo.actors.jobs.indexing import catch_up
from octavo.actors.workspace.current_files import CurrentFiles
from octavo.actors.workspace.messages import ChangesetRefused, HeadOf
from octavo.features.links.sql.link_index import LINKS
from octavo.features.search.note_search import FoundNotes
from octavo.features.search.rules import Ranked
from octavo.features.search.sql.fulltext_index import WORDS, erase_removed_words
from octavo.model.files.changeset import Changeset
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.model.refusal import HeadMoved
from octavo.model.search.query import parse_query
from octavo.store import Script
from octavo.store.queries.feed import FeedSlice, Since, feed
from octavo.store.queries.files import StoredFile
from octavo.store.queries.index_backlog import FileIndex, workspaces_to_index
from octavo.store.queries.sweeping import sweep
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.bare_process import Violation
from tests.simulation.disk import ANN
from tests.simulation.drafting import FILES, Drafts
from tests.simulation.editor import Editor
from tests.simulation.image_user import PICTURES, ImageUser
from tests.simulation.ledger import SHARED, Ledger
from tests.simulation.pipelining import PIPELINES, PipelineUser
from tests.simulation.process import Process
from tests.simulation.sending import Sender
from tests.simulation.specification import (
    Accepted,
    FileState,
    Listing,
    Look,
    Rejected,
    Request,
    Sent,
    View,
    subjects_of,
)

WORKSPACES = (WorkspaceId("v"), WorkspaceId("w"))
"""Those that the specification covers."""
ALL_WORKSPACES = (*WORKSPACES, SHARED, PICTURES, PIPELINES)
PIPELINING = 0.28
"""The turns spent on pipelines, of those in no other workspace."""
SUFFIX = "md"
"""A word of all paths."""
INDEXING = 0.6
"""The pipelines after which their files are indexed."""


class Mirror:
    """A device's copy of a workspace, page by page of the feed."""

    def __init__(self) -> None:
        self.cursor = START
        self.heads: dict[FileId, Revision] = {}


@dataclass(eq=False)
class Device:
    """Performs the actions that its turns draw, on one process or another.

    Args:
        name: of the device, and the prefix of its mutations.
        history: records its operations and their results.
        asking: its connection to the service.
        ledger: records what it writes into notes that are edited together.
        editing: the part of its turns, within 0..1, that is spent on these.
        picturing: the part of the others that is spent on images.
        violated: called with each violation.

    Attributes:
        editor: edits them.
        found: the notes that its searches have found.
    """

    name: str
    history: History[Request]
    asking: Asking[Process]
    ledger: Ledger
    editing: float
    picturing: float
    violated: Violation

    def __post_init__(self) -> None:
        self.drafts = Drafts(self.name)
        self.mirrors = {workspace_id: Mirror() for workspace_id in ALL_WORKSPACES}
        self.receipts: list[tuple[WorkspaceId, Receipt]] = []
        place = (self.name, self.asking, self.ledger, self.violated)
        sender = Sender(*place, lambda receipt: self.receipts.append((SHARED, receipt)))
        self.editor = Editor(*place, sender)
        to_pictures = Sender(
            *place, lambda receipt: self.receipts.append((PICTURES, receipt)), PICTURES
        )
        self.images = ImageUser(*place, to_pictures)
        self.found: list[Ranked] = []
        self.pipelines = PipelineUser(*place, self.receipts)
        self._sent: list[tuple[Sent, Changeset]] = []

    async def turn(self, random: Random) -> None:
        """Do one thing, to its end."""
        if random.random() < self.editing:
            await self.editor.turn(random)
            return
        if self.picturing and random.random() < self.picturing:
            await self.images.turn(random)
            return
        if random.random() < PIPELINING:
            await self.pipelines.turn(random)
            if random.random() < INDEXING:
                await self._index([PIPELINES], random)
            return
        workspace_id = random.choice(WORKSPACES)
        drawn = random.random()
        if drawn < 0.04:
            await self._keep_house(random)
            return
        drawn = random.random()
        receipts = [each for each in self.receipts if each[0] in WORKSPACES]
        if drawn < 0.05:
            await self._look(workspace_id, random.choice(FILES), random)
        elif drawn < 0.1:
            await self._read_some(workspace_id, random.choice(FILES), random)
        elif drawn < 0.2:
            await self._list(workspace_id, random)
        elif drawn < 0.25:
            await self._remove_what_is_found(random)
        elif drawn < 0.33:
            await self.synchronize(workspace_id, random)
        elif drawn < 0.41:
            await self._listen(workspace_id, random)
        elif drawn < 0.48 and self._sent:
            await self._push(*random.choice(self._sent), random)
        elif drawn < 0.53 and receipts:
            # One identity for two changes, which is an error.
            used, receipt = random.choice(receipts)
            await self._push(*self.drafts.draft(used, random, receipt.mutation_id), random)
        else:
            drafted = self.drafts.draft(workspace_id, random)
            self._sent.append(drafted)
            for _ in range(random.choice([1, 3, 5])):
                if await self._push(*drafted, random):
                    break
            if random.random() < 0.5:
                await self._list(workspace_id, random)

    async def _keep_house(self, random: Random) -> None:
        """Do what the background jobs do: remove what is left of purged files, or index."""
        if random.random() < 0.5:
            await self._index(ALL_WORKSPACES, random)
            return
        for script in (sweep(), erase_removed_words()):

            async def write(process: Process, _: float, script: Script[bool] = script) -> bool:
                return await process.store.write(script)

            with suppress(NothingDone, Unsettled):
                await self.asking.ask(random, write, f"{self.name} sweeps")

    async def _index(self, workspaces: Sequence[WorkspaceId], random: Random) -> None:
        indexes: tuple[FileIndex[Any], ...] = (LINKS, WORDS)
        for index in indexes:

            async def update(process: Process, _: float, index: FileIndex[Any] = index) -> bool:
                before = dict(process.disk.committed)
                done = await catch_up(process.store, index, workspaces)
                if done and process.disk.committed == before:
                    left = await process.disk.read(workspaces_to_index(index, workspaces))
                    if left and process.disk.committed == before:
                        self.violated(f"the {index.name} of {left} have not caught up")
                return done

            with suppress(NothingDone, Unsettled):
                what = f"{self.name} updates the {index.name}"
                await self.asking.ask(random, update, what, *workspaces)

    async def _search(self, word: str, random: Random) -> None:
        """Search for a word that texts or paths have."""

        async def find(process: Process, _: float) -> FoundNotes:
            return await process.searches.find(parse_query(word), WORKSPACES)

        with suppress(NothingDone, Unsettled):
            what = f"{self.name} searches for {word}"
            found = await self.asking.ask(random, find, what, *WORKSPACES)
            self.found += found.notes

    async def _remove_what_is_found(self, random: Random) -> None:
        """Search, perhaps twice, and purge a note that may be found, meanwhile or soon after."""
        place = self.drafts.live_file(random)
        if random.random() < 0.5:
            await self._search(SUFFIX, random)
        async with trio.open_nursery() as nursery:
            word = random.choice([SUFFIX, random.choice(FILES)])
            nursery.start_soon(self._search, word, Random(random.getrandbits(32)))
            if place is not None:
                nursery.start_soon(self._glance, *place, Random(random.getrandbits(32)))
            if place is not None and place[0] in WORKSPACES:
                # Perhaps until what it has found is ranked.
                await trio.sleep(random.choice([0, 0.2, 0.2]))
                for _ in range(2):
                    drafted = self.drafts.removal(*place, random)
                    if drafted is not None:
                        await self._push(*drafted, random)
        if place is not None:
            await self._look(*place, random)
            await self._read_some(*place, random)

    async def _glance(self, workspace_id: WorkspaceId, file_id: FileId, random: Random) -> None:
        """Read a file while its head changes."""

        async def read(process: Process, _: float) -> None:
            await process.files.read(workspace_id, file_id)

        with suppress(NothingDone, Unsettled):
            what = f"{self.name} reads {workspace_id}/{file_id}"
            await self.asking.ask(random, read, what, workspace_id)

    async def push_everywhere(self, random: Random) -> None:
        """Read each workspace, and change it."""
        for workspace_id in WORKSPACES:
            await self._list(workspace_id, random)
            await self._push(*self.drafts.draft(workspace_id, random), random)

    async def _push(self, sent: Sent, changeset: Changeset, random: Random) -> bool:
        """Push, and return whether the outcome is known."""
        workspace_id = WorkspaceId(sent.workspace)
        self.ledger.record(changeset)
        with self.history.record(
            self.name,
            sent,
            refused=(ChangesetRefused,),
            not_executed=(NothingDone,),
            unknown=(Unsettled,),
            seen=_reason,
            suppress=True,
        ) as call:
            receipt = await self.asking.ask(
                random,
                lambda process, limit: process.push(workspace_id, changeset, limit),
                sent,
                *subjects_of(sent),
            )
            call.ok(Accepted(receipt.position, tuple(each.outcome for each in receipt.outcomes)))
            self.receipts.append((workspace_id, receipt))
            for outcome in receipt.outcomes:
                self.drafts.learn(workspace_id, outcome.head)
        return call.entry.status is not Status.UNKNOWN

    async def _look(self, workspace_id: WorkspaceId, file_id: FileId, random: Random) -> None:
        async def look(process: Process, limit: float) -> Revision | None:
            head = await process.directory.ask(workspace_id, HeadOf(file_id), timeout=limit)
            if head is not None:
                held = process.searches.faults_of_held(workspace_id, [head])
                for fault in (*held, *faults_of_current_files(process.files, workspace_id, [head])):
                    self.violated(f"{self.name}, {workspace_id}: {fault}")
            return head

        await self._look_by(look, workspace_id, file_id, random)

    async def _read_some(self, workspace_id: WorkspaceId, file_id: FileId, random: Random) -> None:
        """Read a file a few times, so that it is remembered while it changes."""

        async def read(process: Process, _: float) -> Revision | None:
            found = await process.files.read(workspace_id, file_id)
            if found is None:
                return None
            self._read(workspace_id, found.value)
            return found.head

        for _ in range(random.choice([1, 2, 3])):
            await self._look_by(read, workspace_id, file_id, random)
            await trio.sleep(random.choice([0, 0, 0.1]))

    async def _look_by(
        self,
        look: Callable[[Process, float], Awaitable[Revision | None]],
        workspace_id: WorkspaceId,
        file_id: FileId,
        random: Random,
    ) -> None:
        with self.history.record(
            self.name,
            Look(workspace_id, file_id),
            not_executed=(NothingDone,),
            unknown=(Unsettled,),
            suppress=True,
        ) as call:
            head = await self.asking.ask(
                random,
                look,
                call.entry.operation,
                workspace_id,
                f"{workspace_id}/{file_id}",
            )
            call.ok(None if head is None else state_of(head))
            if head is not None:
                self.drafts.learn(workspace_id, head)

    async def _list(self, workspace_id: WorkspaceId, random: Random) -> None:
        with self.history.record(
            self.name,
            Listing(workspace_id),
            not_executed=(NothingDone,),
            unknown=(Unsettled,),
            suppress=True,
        ) as call:
            page = await self._page(workspace_id, START, 1000, random)
            states = {entry.revision.file_id: state_of(entry.revision) for entry in page.entries}
            call.ok(View(page.cursor.position, tuple(sorted(states.items()))))
            for entry in page.entries:
                self._read(workspace_id, entry)

    async def synchronize(self, workspace_id: WorkspaceId, random: Random) -> bool:
        """Bring the mirror up to the feed; return whether that was possible."""
        mirror = self.mirrors[workspace_id]
        try:
            while True:
                page = await self._page(workspace_id, mirror.cursor, random.choice([1, 2]), random)
                for entry in page.entries:
                    mirror.heads[entry.revision.file_id] = entry.revision
                    self._read(workspace_id, entry)
                mirror.cursor = page.following
                if page.following == page.cursor:
                    return True
        except (NothingDone, Unsettled):
            return False

    async def _listen(self, workspace_id: WorkspaceId, random: Random) -> None:
        """Wait for the notice of a change, then read it."""
        process = self.asking.pick(random)
        if process is None:
            return
        listener = _Listener()
        process.hub.subscribe(workspace_id, listener)
        with process.connected(), trio.move_on_after(random.choice([0.2, 1.0])):
            await listener.heard.wait()
        process.hub.unsubscribe(workspace_id, listener)
        if await self.synchronize(workspace_id, random):
            told, read = listener.cursor.position, self.mirrors[workspace_id].cursor.position
            if read < told:
                self.violated(f"{self.name} was told {told}, and reads up to {read}")

    async def _page(
        self, workspace_id: WorkspaceId, after: Cursor, limit: int, random: Random
    ) -> FeedSlice:
        script = feed(workspace_id, Since(*after), limit, max_bytes=1 << 30, texts=True)
        page = await self.asking.ask(
            random,
            lambda process, _: process.store.read(script),
            f"{self.name} reads {workspace_id} after {after.position}",
            workspace_id,
        )
        assert page is not None, "the workspace is gone"
        return page

    def _read(self, workspace_id: WorkspaceId, entry: StoredFile) -> None:
        head = entry.revision
        if head.kind != "note":
            return
        written = "" if entry.text is None else note_text(entry.text).digest
        if head.digest != written or (entry.text is None) != (head.state == "purged"):
            self.violated(f"{head.file_id}, {head.state} at {head.position}, reads {entry.text!r}")
        self.drafts.learn(workspace_id, head)


def faults_of_current_files(
    files: CurrentFiles[StoredFile], workspace_id: WorkspaceId, heads: Iterable[Revision]
) -> Iterator[str]:
    """Return the purged files that are remembered, whose heads are among ``heads``."""
    for head in heads:
        if head.state == "purged" and (workspace_id, head.file_id) in files.cache.contents:
            yield f"{head.file_id} is cached, though it was purged"


class _Listener:
    """Waits for the next change."""

    def __init__(self) -> None:
        self.heard = trio.Event()
        self.cursor = START

    @property
    def account_id(self) -> AccountId:
        return ANN

    def changed(
        self, workspace_id: WorkspaceId, cursor: Cursor, frame: object, *, certain: bool
    ) -> None:
        if cursor.position > self.cursor.position or certain:
            self.cursor = cursor
        self.heard.set()

    def gone(self, workspace_id: WorkspaceId) -> None:
        self.heard.set()

    def recheck_access(self) -> None:
        pass


def state_of(head: Revision) -> FileState:
    """Return a head in the terms of the specification."""
    return FileState(head.state, head.path, head.digest, head.mutation_id)


def _reason(error: BaseException) -> Rejected:
    assert isinstance(error, ChangesetRefused)
    heads = error.refusal.heads if isinstance(error.refusal, HeadMoved) else {}
    return Rejected(error.refusal.code, tuple(heads.items()))

"""A restoration in one run: processes that start and end on a disk, and others who write."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from random import Random
from typing import TypeVar

import trio
from greenroom.testing import InjectedCrash, current_schedule, note, scenario_random
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, MutationId, Position, WorkspaceId

from octavo.actors.workspace.messages import ChangesetRefused, HeadOf, Push
from octavo.features.history.restorations import RestorationRequest
from octavo.features.history.rules.restoration import BatchSizes
from octavo.features.history.sql import restorations as rows
from octavo.features.history.sql.restorations import RestorationKey, StoredRestoration
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.store import Transaction
from octavo.store.queries.workspaces import role_of
from tests.features.history.simulation.process import RestorationProcess
from tests.features.history.simulation.verdict import (
    Demotion,
    RestorationEnd,
    faults_of_restoration,
    faults_of_undo,
)
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.disk import ANN, Disk, found
from tests.simulation.invariants import faults_of
from tests.simulation.kept import Kept, kept
from tests.simulation.path_taker import take_paths
from tests.simulation.places import Places, pause
from tests.simulation.process import ProcessOptions
from tests.simulation.weather import FaultSchedule

VAULT = WorkspaceId("w")
BEN = AccountId("ben")
"""An editor, who begins the restoration; Ann owns the workspace."""
# Of the first, any circle of files is too large for one changeset.
SMALL = (BatchSizes(1, 1), BatchSizes(1, 1), BatchSizes(2, 1), BatchSizes(3, 2))
TURNS = 6
ALL_WRITES = list(range(TURNS))
PATIENCE = 60
"""Attempts at an action that eventually succeeds."""
# One path twice, and one that is a folder of another.
PATHS = ("a.md", "A.md", "b.md", "b.md/c.md", "d.md", "d/e.md", "f/g.md", "h.md", "i.md")
FILES = tuple(FileId(f"01900000-0000-7000-8000-f{number:011x}") for number in range(7))
AGAIN = (NothingDone, Unsettled)

R = TypeVar("R")


async def simulate_restorations(
    writes: Sequence[int] = ALL_WRITES, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Restore a workspace under injected faults while others write, and undo it; judge both.

    ``sighted`` is called with every notable event.
    """
    run = _Run(scenario_random())
    with ExitStack() as stack:
        stack.callback(run.disk.close)
        await run.run(writes)
        run.judge()
        for sight in run.sights():
            sighted(sight)


class _Run:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._weather = FaultSchedule(random)
        self._violations: list[str] = []
        self._ids = count()
        self._sights: list[str] = []
        # Whether a circle of files returns that is too large for one changeset, while others take
        # the paths of its files.
        self._contested = random.random() < 0.6
        self._sizes = random.choice(SMALL if self._contested else [BatchSizes(), *SMALL])
        self._places = Places(random, random.choice([1, 1, 2]), self._process)
        self._asking = Asking(self._places.pick, self._weather)
        # The mutations of others.
        self._sent: set[MutationId] = set()
        self._theirs: list[Receipt] = []
        # The position at which Ben had become a reader; None while he is an editor.
        self._demoted: Position | None = None
        self.disk = Disk(None, self._weather)

    def _new_id(self) -> str:
        return f"01900000-0000-7000-8000-{next(self._ids):012x}"

    # What happens

    async def run(self, writes: Sequence[int]) -> None:
        await found(self.disk, [VAULT])
        await self.disk.write(_add_ben)
        key = RestorationKey(VAULT, MutationId(self._new_id()))
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            for _ in range(12):
                await self._write(self._random)
            target = self._random.choice(range(self.disk.committed[VAULT] + 1))
            if self._contested:
                target = self.disk.committed[VAULT]
                await self._rotate()
            self._weather.armed = True
            async with trio.open_nursery() as users:
                users.start_soon(self._restore, key, Position(target))
                users.start_soon(self._write_meanwhile, writes)
                users.start_soon(self._suffer, nursery)
                users.start_soon(self._demote)
                if self._contested:
                    random = Random(f"taken paths of {current_schedule()}")
                    users.start_soon(take_paths, self.disk, key, self._push, self._new_id, random)
            self._weather.armed = False
            await self._wait_for_the_end(key)
            await self._settle(key)
            await self._places.stop_all()

    async def _restore(self, key: RestorationKey, target: Position) -> None:
        """Ask for the restoration; some people leave as soon as it has begun."""
        random = Random(f"restoration of {current_schedule()}")
        leaves = random.random() < 0.5
        await trio.sleep(random.choice([0.0, 0.1]))
        for attempt in range(PATIENCE):
            self._weather.armed = self._weather.armed and attempt < PATIENCE // 4
            with suppress(*AGAIN):
                stored = await self._ask(_asking_for(key, target, self._asker), random)
                self._sights.append(f"answered {stored.state}")
                note(f"the restoration: {stored.state} at {stored.last_position}", *FILES)
                if stored.state == "done":
                    return
            begun = await self.disk.read(rows.find(key))
            if leaves and begun is not None:
                self._sights.append("left")
                return
            await trio.sleep(random.choice([0.0, 0.3, 5.0]))
        self._violations.append("the restoration can't be asked for")

    @property
    def _asker(self) -> AccountId:
        """Who may write, and asks for the restoration."""
        return BEN if self._demoted is None else ANN

    async def _demote(self) -> None:
        """Make Ben a reader while the restoration runs, or never."""
        random = Random(f"role of {current_schedule()}")
        if random.random() < 0.5:
            await pause(random, (0.0, 0.1), steps=300)
            while await self.disk.read(role_of(VAULT, BEN)) != "reader":
                with suppress(InjectedCrash):
                    await self.disk.write(_make_ben_a_reader)
            workspace = await self.disk.read(kept(VAULT))
            self._demoted = workspace.position

    async def _write_meanwhile(self, writes: Sequence[int]) -> None:
        for number in writes:
            random = Random(f"{number} of {current_schedule()}")
            await pause(random, (0.0, 0.0, 0.1, 0.4), steps=60)
            await self._write(random)

    async def _write(self, random: Random) -> None:
        """Change one or two files, or swap their paths."""
        with suppress(*AGAIN):
            chosen = random.sample(FILES, random.choice([1, 2, 2]))
            heads = [await self._head(each, random) for each in chosen]
            await self._push(_changes(chosen, heads, self._new_id(), random), random)

    async def _rotate(self) -> None:
        """Let files swap their paths in a circle that is too large for one changeset."""
        heads = (await self.disk.read(kept(VAULT))).heads.values()
        live = [each for each in heads if each.state == "live"]
        chosen = self._random.sample(live, min(len(live), self._sizes.only + 1))
        following = [*chosen[1:], *chosen[:1]]
        operations = tuple(
            UpdateFile(each.file_id, frozenset({str(each.revision_id)}), path=other.path)
            for each, other in zip(chosen, following, strict=True)
        )
        await self._push(operations, self._random)

    async def _push(self, operations: tuple[ChangeOperation, ...], random: Random) -> bool:
        """Change files; return whether it is known to be done."""
        mutation = MutationId(self._new_id())
        self._sent.add(mutation)
        about = [each.file_id for each in operations]
        push = Push(Changeset(mutation, fingerprint(operations), ANN, operations))
        with suppress(ChangesetRefused, *AGAIN):
            receipt = await self._asking.ask(
                random,
                lambda process, limit: process.directory.ask(VAULT, push, timeout=limit),
                f"push {mutation} of {', '.join(map(_told, operations))}",
                *about,
            )
            note(f"push {mutation}: accepted at {receipt.position}", *about)
            self._theirs.append(receipt)
            return True
        return False

    async def _head(self, file_id: FileId, random: Random) -> Revision | None:
        return await self._asking.ask(
            random,
            lambda process, limit: process.directory.ask(VAULT, HeadOf(file_id), timeout=limit),
            f"look at {file_id}",
            file_id,
        )

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await pause(self._random, (0, 0.1, 0.3), steps=300)
            self._sights.append(await self._places.disturb(nursery))

    # The end

    async def _wait_for_the_end(self, key: RestorationKey) -> None:
        """Wait until the service has gone on by itself, and nothing else is on its way."""
        await trio.sleep(10)
        for _ in range(PATIENCE):
            stored = await self.disk.read(rows.find(key))
            if stored is not None and stored.state == "done":
                return
            if stored is not None and stored.state == "failed":
                self._sights.append("stopped")
                with suppress(*AGAIN):
                    target = stored.asked.target
                    await self._ask(_asking_for(key, target, self._asker), self._random)
            await trio.sleep(10)
        self._violations.append(f"the restoration does not end: {stored}")

    async def _settle(self, key: RestorationKey) -> None:
        """Read what there is, undo the restoration, and read what there is then."""
        stored = await self.disk.read(rows.find(key))
        if stored is None or self._violations:
            return
        workspace = await self.disk.read(kept(VAULT))
        own = {each.mutation_id for each in workspace.revisions} - self._sent
        demotion = None if self._demoted is None else Demotion(BEN, self._demoted)
        end = RestorationEnd(stored, own, workspace.position, demotion, len(self._places))
        self._violations += faults_of_restoration(workspace, end, self._theirs)
        self._violations += faults_of(workspace)
        self._look_at(end, workspace)
        undone = await self._undo(stored.start_position)
        workspace = await self.disk.read(kept(VAULT))
        if undone is None or undone.skipped_files or undone.state != "done":
            self._violations.append(f"an undo that nobody disturbs ends as {undone}")
        self._violations += faults_of_undo(workspace, end, workspace.position)
        self._violations += faults_of(workspace)

    async def _undo(self, present: Position) -> StoredRestoration | None:
        """Restore a position while nobody else writes; return the answer; None without one."""
        key = RestorationKey(VAULT, MutationId(self._new_id()))
        for _ in range(PATIENCE):
            with suppress(*AGAIN):
                return await self._ask(_asking_for(key, present, ANN), self._random)
        return None

    def _look_at(self, end: RestorationEnd, workspace: Kept) -> None:
        self._sights.append(f"{min(end.stored.steps, 3)} changesets")
        self._sights += [each.reason for each in end.stored.skipped_files]
        if end.stored.continued_by is not None:
            self._sights.append("continued")
        own = {each.position for each in workspace.revisions if each.mutation_id in end.own}
        left = {each.file_id for each in end.stored.skipped_files if each.reason == "path_taken"}
        if any(
            each.mutation_id in end.own and each.file_id in left for each in workspace.revisions
        ):
            self._sights.append("former path")
        if own and max(own) - min(own) >= len(own):
            self._sights.append("written between")

    def judge(self) -> None:
        """Raise unless everything is as it was, or was left and named."""
        if self._violations:
            raise AssertionError("\n".join(self._violations))

    def sights(self) -> Iterator[str]:
        """Report what happened."""
        yield from self._sights
        yield from self._weather.injected

    # Requests

    async def _ask(self, ask: Callable[[RestorationProcess], Awaitable[R]], random: Random) -> R:
        return await self._asking.ask(
            random, lambda process, _: ask(process), "the restoration", *FILES
        )

    def _process(self, name: str, random: Random) -> RestorationProcess:
        options = ProcessOptions(self._new_id, self._places.shared, self._violations.append)
        return RestorationProcess(
            name, self.disk, self._weather, random, options, sizes=self._sizes
        )


def _told(operation: ChangeOperation) -> str:
    return f"{type(operation).__name__} {operation.file_id}"


def _asking_for(
    key: RestorationKey, target: Position, asker: AccountId
) -> Callable[[RestorationProcess], Awaitable[StoredRestoration]]:
    async def ask(process: RestorationProcess) -> StoredRestoration:
        asked = RestorationRequest(None, target, "")
        return await process.restorations.begin(VAULT, asker, asked, key.restoration_id)

    return ask


async def _add_ben(transaction: Transaction) -> None:
    await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
        " updated_at)"
        " VALUES ($1::uuid, 'ben@example.org', 'Ben', '', 'member', 'enabled', 0, 0)",
        BEN,
    )
    await transaction.execute(
        "INSERT INTO members (workspace_id, account_id, role, joined_at)"
        " VALUES ($1::uuid, $2::uuid, 'editor', 0)",
        VAULT,
        BEN,
    )


async def _make_ben_a_reader(transaction: Transaction) -> None:
    await transaction.execute("UPDATE members SET role = 'reader' WHERE account_id = $1::uuid", BEN)


def _changes(
    files: Sequence[FileId], heads: Sequence[Revision | None], text: str, random: Random
) -> tuple[ChangeOperation, ...]:
    """Return changes of files with these heads; some are refused."""
    live = [each for each in heads if each is not None and each.state == "live"]
    if len(live) == len(heads) == 2 and random.random() < 0.8:
        one, other = live
        return (
            UpdateFile(one.file_id, frozenset({str(one.revision_id)}), path=other.path),
            UpdateFile(other.file_id, frozenset({str(other.revision_id)}), path=one.path),
        )
    changes: list[ChangeOperation] = []
    for file_id, head in zip(files, heads, strict=True):
        path = random.choice(PATHS)
        if head is None:
            changes.append(CreateFile(file_id, path, note_text(text)))
            continue
        expected = frozenset({str(head.revision_id)})
        if head.state == "deleted":
            changes.append(RestoreFile(file_id, expected, path))
        elif random.random() < 0.3:
            changes.append(DeleteFile(file_id, expected))
        else:
            to = random.choice([None, path])
            changes.append(UpdateFile(file_id, expected, note_text(text), to))
    return tuple(changes)

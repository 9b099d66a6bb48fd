"""Housekeeping in one run: jobs that remove what has passed, while it is used and processes end."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
import trio
from greenroom import NotExecuted, OutcomeUnknown, WorkerContext, WorkerSpec
from greenroom.testing import current_schedule, note, note_fault, scenario_random
from octavo_rules.documents.document import yjs_client_id_of
from octavo_rules.identity import AccountId, WorkspaceId
from outcome import Outcome

from octavo.actors.jobs import housekeeping
from octavo.actors.jobs import housekeeping as retention_jobs
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.actor import workspaces as workspace_actors
from octavo.actors.workspace.messages import ChangesetRefused, CommitFailed, Push
from octavo.features.accounts.credentials import Activity
from octavo.features.accounts.sql import account_removal, sessions
from octavo.features.history.feature import retention_of
from octavo.features.history.sql import restorations
from octavo.features.history.sql.history_pruning import prune_file
from octavo.features.links.reading import link_sources
from octavo.features.oauth.sql import oauth_clients, oauth_grants, oauth_programs
from octavo.service.features import retention_job, sweeping_job
from octavo.service.settings import Settings
from octavo.store import Script, Store, StoreUnavailable, Transaction
from octavo.store.queries import audit, expiry, sweeping, workspaces
from octavo.store.transaction import T
from tests.fakes.identity_fixture import START
from tests.fakes.inline_documents import inline_documents
from tests.simulation.bare_process import AT_ONCE, BareProcess
from tests.simulation.disk import Disk, Rooms
from tests.simulation.housekeeping_notes import NOTES, NoteWriter, PruningCheck
from tests.simulation.housekeeping_rows import BY_TABLE, DAY, KINDS, Columns, insertion, key_of
from tests.simulation.kept import kept
from tests.simulation.places import Places, pause
from tests.simulation.verdict import Violated
from tests.simulation.weather import FaultSchedule

USERS = 3
TURNS = 10
ALL_USES = [(user, turn) for turn in range(TURNS) for user in range(USERS)]
SPEED = 1
"""Days in a second of a run."""
PERIOD = 8.0
"""Seconds between two rounds of a job."""
POLL = 4.0
"""Seconds between two looks for what was deleted."""
SLACK = 2.0
"""Seconds that a round may take without faults."""
LIMITED = (expiry, audit, oauth_clients, oauth_grants, oauth_programs, restorations, sweeping)
ON_FILES = 0.2
"""The runs whose disk is in files, which a loss of power leaves as they are."""
LASTING = ("invitations", "mail_budgets", "oauth_clients", "usage_writers")
"""Tables from which only jobs remove rows."""
ACCOUNTS = tuple(AccountId(f"01900000-0000-7000-8a00-{n:012x}") for n in range(USERS))


def house_now() -> float:
    """Return the time in seconds of Unix time."""
    return START + trio.current_time() * SPEED * DAY / 1000


async def simulate_housekeeping(
    uses: Sequence[tuple[int, int]] = ALL_USES, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Use what passes with time under injected faults, while jobs remove it; then judge them.

    ``sighted`` is called with every notable event.
    """
    random = scenario_random()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(retention_jobs, "PERIOD_SECONDS", PERIOD)
        patch.setattr(housekeeping, "POLL_SECONDS", POLL)
        rows = random.choice([1, 2, 500])
        for module in LIMITED:
            patch.setattr(module, "MAX_ROWS", rows)
        folder: Path | None = None
        if Random(f"disk of {current_schedule()}").random() < ON_FILES:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        house = House(random, folder)
        stack.callback(house.close)
        await house.run(uses)
        house.judge()
    for sight in house.sights:
        sighted(sight)


class HouseDisk(Disk):
    """A disk that tells what a job removes.

    Attributes:
        cleaning: whether the script of a job runs.
        removed: what jobs removed: the time, the table, the key and the columns of each row.
    """

    def __init__(self, path: Path | None, faults: FaultSchedule) -> None:
        self.cleaning = False
        self.removed: list[tuple[float, str, str, Columns]] = []
        self._pending: dict[int, list[tuple[float, str, str, Columns]]] = {}
        self._running: list[tuple[float, str, str, Columns]] = []
        super().__init__(path, faults)
        self._connection.create_function("removed", 3, self._tell)
        for kind in KINDS:
            self._connection.execute(
                f"CREATE TEMP TRIGGER of_{kind.table} BEFORE DELETE ON main.{kind.table}"
                f" BEGIN SELECT removed('{kind.table}', {kind.sql('OLD')}); END"
            )

    def close(self) -> None:
        """Close the database, whose connection is used again, without the triggers."""
        for kind in KINDS:
            self._connection.execute(f"DROP TRIGGER temp.of_{kind.table}")
        super().close()

    def rows(self, table: str) -> list[tuple[str, Columns]]:
        """Return the rows of a table, with their keys."""
        kind = BY_TABLE[table]
        found = self._connection.execute(f"SELECT {kind.sql(table)} FROM {table}")
        return [(key, json.loads(columns)) for key, columns in found]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(sql).fetchall()

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        """See `InlineStore`."""
        return await super().write_batch(
            [self._watched(number, script) for number, script in enumerate(scripts)]
        )

    def _watched(self, number: int, script: Script[Any]) -> Script[Any]:
        async def watch(transaction: Transaction) -> object:
            # The scripts of a batch may be run twice.
            if number == 0:
                self._pending.clear()
            self._running = []
            result: object = await script(transaction)
            self._pending[number] = self._running
            return result

        return watch

    def _note(self) -> None:
        super()._note()
        for each in self._pending.values():
            self.removed += each
            for _, table, key, columns in each:
                note(f"{key} of {table} is removed, with {columns}", key)
        self._pending.clear()

    def _tell(self, table: str, key: str, columns: str) -> None:
        if self.cleaning:
            self._running.append((house_now() * 1000, table, key, json.loads(columns)))


class JobStore:
    """The store of the jobs of a process, whose scripts are known as such."""

    def __init__(self, store: Store, disk: HouseDisk, pruning: PruningCheck) -> None:
        self._store = store
        self._disk = disk
        self._pruning = pruning
        self._round = 0.0

    async def read(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self._store.read(script)

    async def read_much(self, script: Script[T]) -> T:
        """See `Store`."""
        return await self._store.read_much(script)

    def now(self) -> float:
        """Return the time; the round of the job that asks for it begins."""
        self._round = house_now()
        return self._round

    async def write(self, script: Script[T]) -> T:
        """See `Store`."""
        prunes = script.__qualname__.startswith(prune_file.__name__)

        async def clean(transaction: Transaction) -> T:
            self._disk.cleaning = True
            try:
                if prunes:
                    return await self._pruning.watch(transaction, script, int(self._round * 1000))
                return await script(transaction)
            finally:
                self._disk.cleaning = False

        return await self._store.write(clean)


class History:
    """What decides about the histories of the notes of a run.

    Attributes:
        settings: how long revisions are kept.
        age_days: the age of a change when it is made, as if the job had not run since.
        pruning: checks the job.
        new_id: returns identifiers.
        shared: whether several processes write.
    """

    def __init__(self, new_id: Callable[[], str], shared: bool) -> None:
        random = Random(f"histories of {current_schedule()}")
        self.settings = Settings(
            history_all_days=random.choice([0.01, 1.0, 5.0]),
            history_hourly_days=random.choice([5.0, 35.0]),
            history_min_revisions=random.choice([1, 1, 3]),
        )
        self.age_days = random.choice([0, 32, 40, 40])
        self.pruning = PruningCheck(retention_of(self.settings))
        self.new_id = new_id
        self.shared = shared


class HouseProcess(BareProcess):
    """Runs the jobs of a process.

    Attributes:
        sweeper: removes what deletions have left.
        activity: records the uses of sessions.
        directory: the actors of workspaces.
    """

    def __init__(
        self,
        name: str,
        disk: HouseDisk,
        faults: FaultSchedule,
        random: Random,
        history: "History",
    ) -> None:
        super().__init__(name, disk, faults, random)
        store = JobStore(self.store, disk, history.pruning)
        spec = workspace_actors(
            partial(
                WorkspaceActor,
                store=self.store,
                links=link_sources(self.store),
                now=lambda: house_now() - history.age_days * DAY / 1000,
                new_id=history.new_id,
                announce=lambda *_: None,
                shared=history.shared,
                documents=inline_documents(client=yjs_client_id_of(history.new_id())),
            )
        )
        self.directory = self._root.add(
            replace(
                spec,
                backoff=AT_ONCE,
                start_timeout=math.inf,
                drain_timeout=math.inf,
                stopping_timeout=math.inf,
            )
        )
        self.sweeper = sweeping_job(store, swept=lambda: None)
        self.activity = Activity(self.store)
        self._retention = retention_job(store, store.now, history.settings)
        self._root.add(WorkerSpec("retention", self._retain, backoff=AT_ONCE))
        self._root.add(WorkerSpec("sweeper", self._sweep, backoff=AT_ONCE))
        self._root.add(WorkerSpec("activity", self._record, backoff=AT_ONCE))

    async def _retain(self, worker: WorkerContext) -> None:
        await self._retention.run()

    async def _record(self, worker: WorkerContext) -> None:
        await self.activity.run()

    async def _sweep(self, worker: WorkerContext) -> None:
        await self.sweeper.run()


class House:
    """A disk, in ``folder`` or in memory, and one or two processes that keep it clean.

    Attributes:
        disk: the database.
        sights: what occurred.
    """

    def __init__(self, random: Random, folder: Path | None) -> None:
        self._random = random
        self._weather = FaultSchedule(random)
        self._rooms = Rooms(folder)
        self.disk = HouseDisk(self._rooms.first(), self._weather)
        # The rows whose insertion was acknowledged, and that no other removal takes along.
        self._inserted: list[tuple[str, str]] = []
        self._places = Places(random, random.choice([1, 1, 2]), self._process)
        self._ids = count(1)
        self._writer = NoteWriter()
        self._history = History(lambda: self._new_id(0), shared=len(self._places) > 1)
        self._gone: list[AccountId] = []
        self._faults: list[str] = []
        self.sights: list[str] = []

    def close(self) -> None:
        """Close the disk."""
        self.disk.close()

    async def run(self, uses: Sequence[tuple[int, int]]) -> None:
        """Serve ``uses``, and come to rest."""
        for number, account_id in enumerate(ACCOUNTS):
            await self.disk.write(_account(number, account_id))
        await self.disk.write(workspaces.create(self._new_id(0), "Vault", ACCOUNTS[0], 0))
        await self.disk.write(workspaces.create(NOTES, "Notes", ACCOUNTS[0], 0))
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for user in range(USERS):
                    users.start_soon(self._use, user, [t for each, t in uses if each == user])
                users.start_soon(self._suffer, nursery)
            self._weather.armed = False
            # After a failure, the jobs pause.
            used = await self._use_sessions()
            await trio.sleep(PERIOD + SLACK)
            self._look_for_uses(used)
            self._look_for_deleted()
            await trio.sleep(PERIOD)
            self._look_for_passed()
            passed = house_now() * 1000 - (PERIOD + SLACK) * SPEED * DAY
            workspace = await self.disk.read(kept(NOTES))
            removed = {
                str(UUID(key))
                for at, table, key, _ in self.disk.removed
                if table == "receipts" and at > passed
            }
            self._faults += self._history.pruning.left(workspace, removed, int(passed))
            await self._places.stop_all()
        self.sights += self._weather.injected

    def judge(self) -> None:
        """Raise `Violated` unless the jobs have removed all that has passed, and nothing else."""
        for at, table, key, columns in self.disk.removed:
            until, _ = BY_TABLE[table].promise(columns)
            self.sights.append(f"{table} removed")
            if at < until:
                self._faults.append(f"{key} of {table} was removed {until - at:.0f} ms too early")
        self._faults += self._history.pruning.faults
        self.sights += ["revision pruned"] * self._history.pruning.pruned
        gone = {(table, key) for _, table, key, _ in self.disk.removed}
        for table in LASTING:
            there = {key for key, _ in self.disk.rows(table)}
            for of, key in self._inserted:
                if of == table and key not in there and (of, key) not in gone:
                    self._faults.append(f"{key} of {table} was acknowledged, and is lost")
        if self._faults:
            raise Violated(self._faults)

    async def _use_sessions(self) -> dict[str, int]:
        """Use each session once, in some process; return when."""
        used: dict[str, int] = {}
        now = int(house_now() * 1000)
        for _ in range(8):
            await self.disk.write(
                insertion(
                    "sessions",
                    self._new_id(now),
                    now - DAY,
                    self._random,
                    account_id=ACCOUNTS[0],
                    workspace=0,
                    workspace_id=self._new_id(0),
                )
            )
        for key, _ in self.disk.rows("sessions"):
            used[key] = int(house_now() * 1000)
            note(f"the session {key} is used", key)
            process = self._random.choice(self._places.processes)
            process.activity.note(sessions.record_activity, str(UUID(key)), used[key])
            await pause(self._random, (0, 0, 0.7), steps=6)
        return used

    def _look_for_uses(self, used: Mapping[str, int]) -> None:
        """Find sessions whose use was not recorded."""
        for key, columns in self.disk.rows("sessions"):
            if key in used and (columns[1] or 0) < used[key]:
                self._faults.append(f"the use of the session {key} was not recorded")

    def _look_for_passed(self) -> None:
        """Find what is left, although it has passed before the last rounds."""
        now = house_now() * 1000 - (PERIOD + SLACK) * SPEED * DAY
        for kind in KINDS:
            for key, columns in self.disk.rows(kind.table):
                _, by = kind.promise(columns)
                if by < now:
                    self._faults.append(f"{key} of {kind.table} is left after {now - by:.0f} ms")

    def _look_for_deleted(self) -> None:
        """Find what is left of deleted workspaces and of removed accounts."""
        live = {row[0] for row in self.disk.query("SELECT pk FROM workspaces")}
        for table in ("receipts", "restorations"):
            for row in self.disk.query(f"SELECT DISTINCT workspace FROM {table}"):
                if row[0] not in live:
                    self._faults.append(f"{table} of a deleted workspace are left")
        if self.disk.query("SELECT 1 FROM deleted_workspaces"):
            self._faults.append("a deleted workspace is left")
        present = {row[0] for row in self.disk.query("SELECT id FROM accounts")}
        for entry_id, client, actor in self.disk.query(
            "SELECT hex(id), client, actor_id FROM audit"
        ):
            if actor not in present and client is not None:
                self._faults.append(f"the client of a removed account is in {entry_id}")
            if actor in present and client is None:
                self._faults.append(f"the client of an account is missing in {entry_id}")
        if len(present) < len(ACCOUNTS):
            self.sights.append("account removed")

    async def _use(self, user: int, turns: Sequence[int]) -> None:
        for turn in turns:
            random = Random(f"{user} {turn} of {current_schedule()}")
            process = self._places.pick(random)
            if process is not None:
                with process.connected(), suppress(StoreUnavailable):
                    await self._act(process, random)
            await trio.sleep(random.choice([0, 0.3, 2.0, 4.0]))

    async def _act(self, process: HouseProcess, random: Random) -> None:
        what = random.choice([*["insert"] * 11, "use", "use", "delete", "remove", *["write"] * 5])
        self.sights.append(what)
        if what == "insert":
            for _ in range(random.choice([1, 6, 10])):
                await self._insert(process, random)
        elif what == "write":
            for _ in range(random.choice([2, 4, 8])):
                await self._write(process, random)
        elif what == "use":
            rows = self.disk.query("SELECT lower(hex(id)) FROM sessions")
            if rows:
                key = random.choice(rows)[0]
                note(f"the session {key.upper()} is used in {process.name}", key.upper())
                used = {str(UUID(key)): int(house_now() * 1000)}
                await process.store.write(sessions.record_activity(used))
        elif what == "delete":
            workspace_id = random.choice([e for e in self.disk.committed if e != NOTES])
            note(f"{workspace_id} is deleted in {process.name}", workspace_id)
            await process.store.write(workspaces.create(self._new_id(0), "Vault", ACCOUNTS[0], 0))
            await process.store.write(workspaces.delete(workspace_id))
            process.sweeper.wake()
        elif random.random() < 0.5 and not self._gone:
            self._gone.append(ACCOUNTS[-1])
            note(f"{ACCOUNTS[-1]} is removed in {process.name}", ACCOUNTS[-1])
            await process.store.write(account_removal.remove(ACCOUNTS[-1]))

    async def _write(self, process: HouseProcess, random: Random) -> None:
        changeset = self._writer.draft(ACCOUNTS[0], random)
        [file_id] = [each.file_id for each in changeset.operations]
        lost = (ChangesetRefused, CommitFailed, NotExecuted, OutcomeUnknown)
        with suppress(*lost), self._weather.cancellable():
            receipt = await process.directory.ask(NOTES, Push(changeset))
            note(f"{process.name} accepts a change of {file_id} at {receipt.position}", file_id)
        await trio.sleep(random.choice([0.0, 0.0, 0.05, 0.5]))

    async def _insert(self, process: HouseProcess, random: Random) -> None:
        kind = random.choice(KINDS)
        now = int(house_now() * 1000)
        at = now - int((random.choice(kind.lives) + random.choice([-20, -2, 0, 3])) * DAY)
        if kind.lives[0]:
            # It has begun, and does not expire at this time.
            at = min(at, now)
        [(workspace, workspace_id)] = self.disk.query(
            "SELECT pk, id FROM workspaces WHERE name = 'Vault' ORDER BY pk DESC LIMIT 1"
        )
        account_id = random.choice(ACCOUNTS[:-1] if self._gone else ACCOUNTS)
        row_id = self._new_id(at)
        key = key_of(kind.table, row_id, at, account_id)
        days = (at - now) / DAY
        note(f"{key} of {kind.table} is inserted in {process.name}, {days:+.1f} days away", key)
        row = insertion(
            kind.table,
            row_id,
            at,
            random,
            account_id=account_id,
            workspace=workspace,
            workspace_id=WorkspaceId(str(UUID(bytes=workspace_id))),
        )
        await process.store.write(row)
        self._inserted.append((kind.table, key))

    def _new_id(self, at: int) -> WorkspaceId:
        """Return an id; identifiers sort by time."""
        digits = f"{at:012x}"
        return WorkspaceId(f"{digits[:8]}-{digits[8:]}-7000-8000-{next(self._ids):012x}")

    def _process(self, name: str, random: Random) -> HouseProcess:
        return HouseProcess(name, self.disk, self._weather, random, self._history)

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 3])):
            await trio.sleep(self._random.choice([0.3, 4.0, PERIOD]))
            self.sights.append(await self._places.disturb(nursery, self._lose_power))

    async def _lose_power(self) -> None:
        """Kill all processes at one moment, and continue with the disk as it was then."""
        note_fault("the power is lost")
        copy = self._rooms.copied(self.disk)
        removed = [*self.disk.removed]
        await self._places.cut_all()
        if copy is not None:
            self.disk.close()
            self.disk = HouseDisk(copy, self._weather)
            self.disk.removed = removed


def _account(number: int, account_id: AccountId) -> Script[None]:
    async def create(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, $2, '', '', 'member', 'enabled', 0, 0)",
            account_id,
            f"{number}@example.org",
        )

    return create

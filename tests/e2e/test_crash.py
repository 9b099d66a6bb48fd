"""The real server killed while clients save: acknowledged changes are kept, others are atomic.

The number of kills comes from ``OCTAVO_CRASHES``. What the clients do and how much they do before
each kill is decided by a seed; where the kill interrupts the server is not.
"""

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import trio

from tests.e2e.databases import integrity
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import Person, async_client, register
from tests.e2e.plain_client import PlainClient
from tests.e2e.saves import Workload

CRASHES = int(os.environ.get("OCTAVO_CRASHES", "10"))
LANES = 2
"""Installations that crash in parallel, as one start keeps one processor busy."""
CLIENTS = 6
PATIENCE = 120.0


class Installation:
    """One data folder, whose server is killed again and again.

    Args:
        folder: the data folder.
        database: the URL of a PostgreSQL database, if there is one.
        seed: decides what clients do.
    """

    def __init__(self, folder: Path, database: str | None, seed: int) -> None:
        self._folder = folder
        self._options = () if database is None else ("--database", database)
        self._sqlite = database is None
        self._chance = random.Random(seed)
        self._person: Person | None = None
        self._desks: list[Workload] = []
        self.doubts = 0
        self.kept_in_doubt = 0

    async def crash(self, times: int) -> None:
        """Start, check the state, save, kill; and start once more for the last check."""
        for _ in range(times):
            with ExitStack() as stack:
                octavo = await self._start(stack)
                await self._save_until_killed(octavo)
        with ExitStack() as stack:
            octavo = await self._start(stack)
            for workload in self._desks:
                async with async_client(octavo.url, self._whoever()) as http:
                    kept = [save for save in workload.saves if save.receipt is not None]
                    assert await workload.judge(http) == len(kept) > 0
                    for save in kept:
                        assert await workload.outcome_of(save, http) == save.receipt
            assert await trio.to_thread.run_sync(octavo.stop) == (0, [])
        if self._sqlite:
            assert integrity(self._folder) == []

    def _whoever(self) -> Person:
        assert self._person is not None
        return self._person

    async def _start(self, stack: ExitStack) -> Octavo:
        octavo = await trio.to_thread.run_sync(
            stack.enter_context, running(self._folder, *self._options)
        )
        if self._person is None:
            invitation = octavo.invitation()
            self._person = await trio.to_thread.run_sync(register, octavo.url, invitation)
            async with async_client(octavo.url, self._person) as http:
                self._desks = [await self._workload(http) for _ in range(2)]
        if self._sqlite:
            assert integrity(self._folder) == []
        for workload in self._desks:
            async with (
                async_client(octavo.url, self._person) as http,
                PlainClient(octavo.port, self._person.by_key) as plain,
            ):
                await self._settle(workload, http, plain)
        return octavo

    async def _workload(self, http: httpx.AsyncClient) -> Workload:
        made = await http.post("/api/workspaces", json={"name": "Notes"})
        return Workload(made.json()["id"], random.Random(self._chance.random()))

    async def _settle(
        self, workload: Workload, http: httpx.AsyncClient, plain: PlainClient
    ) -> None:
        """Check the receipts against the responses; resend changes without a response."""
        for save in workload.saves[workload.settled :]:
            outcome = await workload.outcome_of(save, http)
            if save.receipt is not None or save.refused:
                assert outcome == save.receipt
                continue
            self.doubts += 1
            self.kept_in_doubt += outcome is not None
            response = await workload.send("again", save, plain)
            assert response is not None
            assert outcome is None or save.receipt == outcome
            assert await workload.outcome_of(save, http) == save.receipt
        workload.settled = len(workload.saves)
        await workload.look(http)

    async def _save_until_killed(self, octavo: Octavo) -> None:
        enough = trio.Event()
        wanted = self._chance.randrange(1, 100)
        answered = 0

        async def client(name: str, workload: Workload) -> None:
            nonlocal answered
            async with PlainClient(octavo.port, self._whoever().by_key) as plain:
                while (await workload.send(name, workload.next_save(), plain)) is not None:
                    answered += 1
                    if answered == wanted:
                        enough.set()

        with trio.fail_after(PATIENCE):
            async with trio.open_nursery() as nursery:
                for number in range(CLIENTS):
                    workload = self._desks[number % len(self._desks)]
                    nursery.start_soon(client, f"client {number}", workload)
                await enough.wait()
                # Anywhere between two responses.
                await trio.sleep(self._chance.random() * 0.01)
                await trio.to_thread.run_sync(octavo.kill)


@pytest.fixture
def folders() -> Iterator[list[Path]]:
    with ExitStack() as stack:
        yield [stack.enter_context(data_folder()) for _ in range(LANES)]


async def test_sqlite_server_killed_under_load_keeps_acknowledged_saves(
    folders: list[Path],
) -> None:
    installations = [Installation(folder, None, seed) for seed, folder in enumerate(folders)]
    async with trio.open_nursery() as nursery:
        for installation in installations:
            nursery.start_soon(installation.crash, -(-CRASHES // LANES))
    # Otherwise the server was never killed in the middle of an operation.
    assert sum(each.doubts for each in installations) >= CRASHES
    assert sum(each.kept_in_doubt for each in installations) > 0


async def test_postgres_server_killed_under_load_keeps_acknowledged_saves(
    folders: list[Path], postgres_database: str
) -> None:
    installation = Installation(folders[0], postgres_database, seed=0)
    await installation.crash(max(3, CRASHES // 7))
    assert installation.doubts > 0

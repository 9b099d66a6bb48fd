"""An import in one run: processes that start and end on a disk, and others who write meanwhile."""

import io
import math
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
import trio
from greenroom.testing import InjectedCrash, current_schedule, note, scenario_random
from octavo_rules.content import note_text
from octavo_rules.identity import FileId, MutationId

from octavo.actors.jobs import housekeeping
from octavo.actors.workspace.messages import ChangesetRefused, Push
from octavo.features.archives import import_commits
from octavo.features.archives.import_run import ImportIncomplete, ImportResult
from octavo.features.archives.job import ArchiveJobRunning, JobStopped
from octavo.features.archives.rules import ImportMissing, ImportNotOpen, PathsTaken
from octavo.features.images.blob_writer import GRACE_SECONDS
from octavo.model.files.changeset import Changeset, CreateFile, fingerprint
from octavo.store.blobs import BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected
from tests.fakes.image_files import encoded, picture
from tests.fakes.memory_blobs import MemoryBlobs
from tests.features.archives.simulation.process import ImportProcess
from tests.features.archives.simulation.verdict import (
    VAULT,
    ImportEnd,
    changesets_of_import,
    faults_of_import,
)
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.disk import ANN, Disk, found
from tests.simulation.places import Places, pause
from tests.simulation.process import ProcessOptions
from tests.simulation.weather import FaultSchedule

TURNS = 6
ALL_WRITES = list(range(TURNS))
ABORTING = 0.2
"""The runs in which somebody aborts the import."""
ENDS = (0, 1, 2, 3)
"""How often a process ends."""
REPLACING = 0.2
"""The share of runs in which a part is replaced while the import is completed."""
PATIENCE = 100
"""Attempts at an action that eventually succeeds."""
AGAIN = (
    ArchiveJobRunning,
    BlobCollected,
    BlobsUnavailable,
    ImportIncomplete,
    InjectedCrash,
    JobStopped,
    NothingDone,
    Unsettled,
)
"""Results after which a client completes its import again."""

R = TypeVar("R")


async def simulate_imports(
    writes: Sequence[int] = ALL_WRITES, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Import an archive under injected faults while another person writes; judge the workspace.

    ``sighted`` is called with every notable event.
    """
    random = scenario_random()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(trio.to_thread, "run_sync", _at_once)
        # The jobs work when they are woken alone: time passes in any amount here.
        patch.setattr(housekeeping, "POLL_SECONDS", math.inf)
        patch.setattr(import_commits, "NOTES_AT_ONCE", random.choice([2, 3, 7]))
        patch.setattr(import_commits, "NOTES_BESIDES", 1)
        patch.setattr(import_commits, "IMAGES_AT_ONCE", random.choice([1, 2]))
        run = _Run(random, folder)
        stack.callback(run.disk.close)
        await run.run(writes)
        await run.judge()
        for sight in run.sights():
            sighted(sight)


async def _at_once(function: Callable[..., R], *given: object, **_: object) -> R:
    """Do what a thread does, so that the schedule decides the order of everything."""
    await trio.lowlevel.checkpoint()
    return function(*given)


@cache
def _png(seed: int) -> bytes:
    return encoded(picture((4, 3), seed=seed), "PNG")


class _Run:
    def __init__(self, random: Random, folder: Path) -> None:
        self._random = random
        self._folder = folder
        self._weather = FaultSchedule(random)
        self._violations: list[str] = []
        self._ids = count()
        self._folders = count()
        self._sights: list[str] = []
        self._blobs = MemoryBlobs()
        self._places = Places(random, random.choice([1, 1, 2]), self._process)
        self._asking = Asking(self._places.pick, self._weather)
        self._notes = {
            f"{'Topic/' * (number % 2)}{number}.md": f"# Note {number}\n"
            for number in range(random.choice([1, 4, 12]))
        }
        self._images = {
            f"attachments/{number}.png": _png(number) for number in range(random.choice([0, 1, 3]))
        }
        # What was imported instead if a part was replaced, which nobody knows.
        self._alternative: dict[str, str] | None = None
        self._result: ImportResult | None = None
        self._refused = False
        self._completing = trio.Event()
        self._aborts = random.random() < ABORTING
        # How many changesets there were when the client learned that the import was aborted.
        self._aborted_after: int | None = None
        self.disk = Disk(None, self._weather)

    def _new_id(self) -> str:
        return f"01900000-0000-7000-8000-{next(self._ids):012x}"

    # What happens

    async def run(self, writes: Sequence[int]) -> None:
        await found(self.disk, [VAULT])
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            import_id = await self._places.processes[0].imports.start(VAULT, ANN, 0)
            self._weather.armed = True
            async with trio.open_nursery() as users:
                users.start_soon(self._import, import_id)
                users.start_soon(self._write, writes)
                users.start_soon(self._suffer, nursery)
                if self._aborts:
                    users.start_soon(self._abort, import_id)
            await self._collect()
            await self._places.stop_all()

    async def _import(self, import_id: str) -> None:
        random = Random(f"import of {current_schedule()}")
        if random.random() < REPLACING:
            await self._import_and_replace(import_id, random)
            return
        data = self._archive()
        cuts = sorted(random.choices(range(1, len(data)), k=random.choice([0, 1, 2])))
        parts = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        numbered = list(enumerate(parts, 1))
        random.shuffle(numbered)
        with suppress(ImportMissing, ImportNotOpen):
            for number, part in [*numbered, *random.sample(numbered, random.choice([0, 1]))]:
                await self._send(import_id, number, part, random)
            self._completing.set()
            await self._complete(import_id, numbered, random)
            return
        if not self._aborts:
            self._violations.append("the import takes no parts, and nobody aborted it")

    async def _import_and_replace(self, import_id: str, random: Random) -> None:
        """Complete an import while its only part is replaced."""
        newer, older = self._notes, {path: f"older: {text}" for path, text in self._notes.items()}
        new = self._archive()
        self._notes = older

        async def complete() -> None:
            for _ in range(random.randrange(60)):
                await trio.lowlevel.checkpoint()
            with suppress(ImportMissing):
                await self._complete(import_id, (), random)
                return
            if not self._aborts:
                self._violations.append("the import is gone, and nobody aborted it")

        with suppress(ImportMissing, ImportNotOpen):
            await self._send(import_id, 1, self._archive(), random)
            self._completing.set()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(complete)
                for _ in range(random.choice([0, 0, 0, 300])):
                    await trio.lowlevel.checkpoint()
                others = Random(f"part of {current_schedule()}")
                try:
                    await self._ask(_repeated(import_id, 1, new), others, "replace part 1")
                except (ImportMissing, ImportNotOpen):
                    self._sights.append("part refused")
                except AGAIN:
                    # It may have been stored, and then it was imported.
                    self._alternative = newer
                else:
                    self._sights.append("part replaced")
                    self._notes = newer

    async def _send(self, import_id: str, number: int, part: bytes, random: Random) -> None:
        async def receive(process: ImportProcess) -> None:
            await process.imports.receive_part(VAULT, ANN, import_id, number, _chunks(part))

        await self._until_done(receive, random, f"send part {number}")

    async def _complete(
        self, import_id: str, parts: Sequence[tuple[int, bytes]], random: Random
    ) -> None:
        async def complete(process: ImportProcess) -> ImportResult:
            return await process.imports.complete(VAULT, ANN, import_id, trio.lowlevel.checkpoint)

        for attempt in range(PATIENCE):
            # So that the run ends.
            self._weather.armed = self._weather.armed and attempt < PATIENCE // 4
            try:
                self._result = await self._ask(complete, random, "complete the import")
            except PathsTaken:
                self._refused = True
                return
            except AGAIN as error:
                self._sights.append(type(error).__name__)
            else:
                break
            if parts and random.random() < 0.2:
                with suppress(ImportNotOpen, *AGAIN):
                    chosen = random.choice(parts)
                    await self._ask(
                        _repeated(import_id, *chosen), random, f"send part {chosen[0]} again"
                    )
            await trio.sleep(random.choice([0.0, 0.3, 5.0]))
        else:
            self._violations.append("the import can't be completed")
            return
        if (
            not self._aborts
            and await self._until_done(complete, random, "complete the import again")
            != self._result
        ):
            self._violations.append("the import has another result when it is completed again")

    async def _write(self, writes: Sequence[int]) -> None:
        """Create notes, some of them at paths of the archive."""
        for number in writes:
            random = Random(f"{number} of {current_schedule()}")
            await trio.sleep(random.choice([0.0, 0.1, 0.6]))
            path = random.choice([*self._notes]) if random.random() < 0.2 else f"mine {number}.md"
            operations = (CreateFile(FileId(self._new_id()), path, note_text(f"mine {number}")),)
            changeset = Changeset(
                MutationId(self._new_id()), fingerprint(operations), ANN, operations
            )

            async def push(process: ImportProcess, changeset: Changeset = changeset) -> None:
                await process.directory.ask(VAULT, Push(changeset))

            with suppress(ChangesetRefused, *AGAIN):
                await self._ask(push, random, f"create {path!r}")

    async def _abort(self, import_id: str) -> None:
        random = Random(f"abort of {current_schedule()}")
        if random.random() < 0.7:
            await self._completing.wait()
            # Some steps later, it commits.
            for _ in range(random.randrange(2000)):
                await trio.lowlevel.checkpoint()

        async def abort(process: ImportProcess) -> None:
            await process.imports.abort(VAULT, ANN, import_id)

        await self._until_done(abort, random, "abort the import")
        self._aborted_after = await changesets_of_import(self.disk)
        self._sights.append("aborted")

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice(ENDS)):
            await pause(self._random, (0, 0.1, 0.3), steps=300)
            self._sights.append(await self._places.disturb(nursery))

    async def _collect(self) -> None:
        """Wait until blobs that nothing names are deleted."""
        self._weather.armed = False
        await trio.sleep(2 * GRACE_SECONDS)
        for process in self._places.processes:
            process.collection.wake()
            await trio.sleep(60)

    def _files(self) -> dict[str, str | bytes]:
        return {**self._notes, **self._images}

    def _archive(self) -> bytes:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for path, content in self._files().items():
                # Its time is fixed.
                archive.writestr(zipfile.ZipInfo(path), content)
        return written.getvalue()

    # Requests

    async def _ask(
        self, ask: Callable[[ImportProcess], Awaitable[R]], random: Random, what: str
    ) -> R:
        try:
            done = await self._asking.ask(random, lambda process, _: ask(process), what)
        except Exception as error:
            note(f"{what}: {error!r}")
            raise
        note(f"{what}: {done or 'done'}")
        return done

    async def _until_done(
        self, ask: Callable[[ImportProcess], Awaitable[R]], random: Random, what: str
    ) -> R:
        for attempt in range(PATIENCE):
            self._weather.armed = self._weather.armed and attempt < PATIENCE // 4
            with suppress(*AGAIN):
                return await self._ask(ask, random, what)
            await trio.sleep(0.1)
        raise AssertionError("a request never succeeds")

    def _process(self, name: str, random: Random) -> ImportProcess:
        folder = self._folder / str(next(self._folders))
        folder.mkdir()
        options = ProcessOptions(self._new_id, self._places.shared, self._violations.append)
        return ImportProcess(
            name, self.disk, self._weather, random, options, blobs=self._blobs, folder=folder
        )

    # The end

    async def judge(self) -> None:
        """Raise unless the workspace has the archive exactly once, or a part of one aborted."""
        faults = await self._faults()
        if faults and self._alternative is not None:
            self._notes = self._alternative
            faults = await self._faults()
        if self._violations or faults:
            raise AssertionError("\n".join([*self._violations, *faults]))

    async def _faults(self) -> list[str]:
        end = ImportEnd(self._files(), self._result, self._aborted_after, refused=self._refused)
        return await faults_of_import(self.disk, self._blobs, end, self._sights.append)

    def sights(self) -> Iterator[str]:
        """Report what happened."""
        yield from self._sights
        yield from self._weather.injected
        if self._refused:
            yield "refused"
        if self._result is not None:
            yield "imported"


async def _chunks(part: bytes) -> AsyncIterator[bytes]:
    half = len(part) // 2
    for chunk in (part[:half], part[half:]):
        await trio.lowlevel.checkpoint()
        yield chunk


def _repeated(
    import_id: str, number: int, part: bytes
) -> Callable[[ImportProcess], Awaitable[object]]:
    async def receive(process: ImportProcess) -> object:
        return await process.imports.receive_part(VAULT, ANN, import_id, number, _chunks(part))

    return receive

"""Published links in one run: writers move folders, and readers open what is published of them."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from random import Random
from typing import TypeVar

import trio
from greenroom.testing import current_schedule, note, scenario_random
from octavo_rules.identity import AccountId, FileId, WorkspaceId

from octavo.actors.workspace.messages import ChangesetRefused, Push
from octavo.features.publishing.renderings import RenderingPostponed
from octavo.features.publishing.rules import (
    LinkMissing,
    LinkReport,
    LinkTarget,
    PublicationId,
    PublishedTargetMissing,
    ReportMissing,
    TooManyLinks,
)
from octavo.model.files.changeset import Changeset
from octavo.store import StoreUnavailable, Transaction
from tests.features.publishing.simulation.folder_changes import FolderChanges, folders_of
from tests.features.publishing.simulation.process import PublishingProcess
from tests.features.publishing.simulation.timeline import Notes, PublishedDisk, Timeline
from tests.features.publishing.simulation.verdict import (
    TICKET_SECONDS,
    Address,
    KnownLink,
    Request,
    Verdict,
)
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.disk import ANN, found
from tests.simulation.places import Places, pause
from tests.simulation.process import ProcessOptions
from tests.simulation.weather import FaultSchedule

VAULT = WorkspaceId("w")
ROOT = AccountId("root")
"""An administrator of the installation."""
TURNS = {"writer 1": 7, "writer 2": 5, "publisher": 6, "administrator": 5} | {
    f"reader {number}": 8 for number in range(2)
}
ALL_TURNS = [(user, turn) for user, turns in TURNS.items() for turn in range(turns)]
START = 1_790_000_000
PASSWORD = "open sesame"

R = TypeVar("R")


async def simulate_publishing(
    turns: Sequence[tuple[str, int]] = ALL_TURNS, sighted: Callable[[str], None] = lambda _: None
) -> None:
    """Publish, write and read under injected faults; judge everything that readers get.

    ``sighted`` is called with every notable event.
    """
    run = _Run(scenario_random())
    try:
        await run.run(turns)
    finally:
        run.disk.close()
    for sight in run.sights():
        sighted(sight)


class _Run:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._weather = FaultSchedule(random)
        self._violations: list[str] = []
        self._sights: list[str] = []
        self._ids = count()
        # How far the clock is ahead of the run.
        self._ahead = 0
        self._places = Places(random, random.choice([1, 1, 2]), self._process)
        self._asking = Asking(self._places.pick, self._weather)
        self._changes = FolderChanges(self._new_id)
        self._links: list[KnownLink] = []
        self._addresses: list[Address] = []
        self.disk = PublishedDisk(self._weather)
        judged = (self._now, self._violations.append, self._sights.append)
        self._timeline = Timeline(self.disk, *judged)
        self._verdict = Verdict(self._timeline, *judged)

    def _new_id(self) -> str:
        return f"01900000-0000-7000-8000-{next(self._ids):012x}"

    def _now(self) -> float:
        return START + trio.current_time() + self._ahead

    # What happens

    async def run(self, turns: Sequence[tuple[str, int]]) -> None:
        """Let every user take its turns; raise for the first violations."""
        await found(self.disk, [VAULT])
        await self.disk.write(_administrator)
        async with trio.open_nursery() as nursery:
            await self._places.begin_all(nursery)
            random = Random(f"beginning of {current_schedule()}")
            first = self._changeset({}, self._changes.first(random), random)
            await self._places.processes[0].directory.ask(VAULT, Push(first))
            for secret in (0.0, 1.0):
                with suppress(NothingDone, Unsettled):
                    await self._publish(random, secret=secret)
            self._weather.armed = True
            async with trio.open_nursery() as users:
                for user in TURNS:
                    users.start_soon(
                        self._take_turns, user, [turn for each, turn in turns if each == user]
                    )
                users.start_soon(self._suffer, nursery)
            self._weather.armed = False
            await self._read_everything()
            await self._places.stop_all()
        if self._violations:
            raise AssertionError("\n".join(self._violations))

    async def _take_turns(self, user: str, turns: Sequence[int]) -> None:
        does = {
            "writer": self._write,
            "publisher": self._publish_or_revoke,
            "administrator": self._administer,
            "reader": self._read,
        }[user.partition(" ")[0]]
        for turn in turns:
            random = Random(f"{user} {turn} of {current_schedule()}")
            with suppress(NothingDone, Unsettled):
                await does(random)
            await trio.sleep(random.choice([0, 0, 0.1, 0.5, 1.5]))

    # Writers

    async def _write(self, random: Random) -> None:
        notes = self._timeline.present.notes
        if random.random() < 0.4:
            async with trio.open_nursery() as nursery:
                for changed in self._changes.pair(notes, random):
                    if changed:
                        changeset = self._changeset(notes, changed, random)
                        others = Random(random.random())
                        nursery.start_soon(self._push_or_not, changeset, others)
            return
        changed = self._changes.draw(notes, random)
        if changed:
            await self._push(self._changeset(notes, changed, random), random)

    def _changeset(self, notes: Notes, changed: Notes, random: Random) -> Changeset:
        revisions = self._timeline.revisions
        changeset = self._changes.changeset(notes, revisions, changed, random)
        self._timeline.sent[changeset.mutation_id] = changed
        return changeset

    async def _push_or_not(self, changeset: Changeset, random: Random) -> None:
        with suppress(NothingDone, Unsettled):
            await self._push(changeset, random)

    async def _push(self, changeset: Changeset, random: Random) -> None:
        files = dict.fromkeys(each.file_id for each in changeset.operations)
        what = f"push {changeset.mutation_id} of {', '.join(files)}"

        async def push(process: PublishingProcess, limit: float) -> None:
            await process.directory.ask(VAULT, Push(changeset), timeout=limit)

        try:
            await self._asking.ask(random, push, what, *files)
            note(f"{what}: accepted", *files)
        except ChangesetRefused as refused:
            note(f"{what}: {refused.refusal.code}", *files)
            self._sights.append(refused.refusal.code)

    # Publishers and administrators

    async def _publish_or_revoke(self, random: Random) -> None:
        live = [each for each in self._links if not each.ended]
        if live and random.random() < 0.35:
            await self._revoke(random.choice(live), random)
        else:
            await self._publish(random)

    async def _publish(self, random: Random, *, secret: float = 0.3) -> None:
        target = self._target(random)
        password = PASSWORD if random.random() < secret else None
        openings = random.choice([1, 2, 3]) if random.random() < 0.4 else None
        seconds = random.choice([0.5, 3, TICKET_SECONDS]) if random.random() < 0.3 else None
        expires_at = None if seconds is None else int(1000 * (self._now() + seconds))
        try:
            made, token = await self._asking.ask(
                random,
                lambda process, _: process.links.create(
                    VAULT,
                    target,
                    actor=ANN,
                    remote_address=None,
                    password=password,
                    openings=openings,
                    expires_at=expires_at,
                ),
                f"publish {target.file_id or repr(target.path)}",
            )
        except (TooManyLinks, PublishedTargetMissing) as refused:
            self._sights.append(refused.code)
            return
        self._timeline.created(
            made.publication_id, target.path if target.kind == "folder" else None
        )
        known = KnownLink(made.publication_id, password, openings)
        note(f"published {target.file_id or repr(target.path)} as {known.link}", known.link)
        self._links.append(known)
        self._addresses.append(Address(token, known))
        self._sights.append(f"published {target.kind}")

    def _target(self, random: Random) -> LinkTarget:
        notes = self._timeline.present.notes
        if random.random() < 0.25:
            return LinkTarget("note", random.choice([*notes]), "")
        return LinkTarget(
            "folder", None, random.choice(["", *folders_of(notes), *folders_of(notes)])
        )

    async def _revoke(self, known: KnownLink, random: Random) -> None:
        known.ending = True
        with suppress(LinkMissing):
            await self._asking.ask(
                random,
                lambda process, _: process.links.revoke(
                    VAULT, PublicationId(known.link), actor=ANN, remote_address=None
                ),
                f"revoke {known.link}",
                known.link,
            )
            known.ended = True
            note(f"{known.link} is revoked", known.link)
            self._sights.append("revoked")
            return
        self._violations.append("a link is gone")

    async def _administer(self, random: Random) -> None:
        """Look at the reports, and decide on one."""
        reports = await self._asking.ask(
            random, lambda process, _: process.reports.list(ROOT, None, 100), "look at the reports"
        )
        if not reports:
            return
        report, token = random.choice(reports)
        known = next((each for each in self._links if each.link == report.publication_id), None)
        if known is None:
            self._violations.append("there is a report of a link that nobody knows")
            return
        address = next((each for each in self._addresses if each.token == token), None)
        if address is None:
            address = Address(token, known)
            self._addresses.append(address)
            self._sights.append("reported")
        drawn = random.random()
        if drawn < 0.4:
            await self._read_at(address, random)
        elif drawn < 0.6:
            address.closing = True
            await self._decide(report, known, random, taken_down=False)
            address.closed = True
        else:
            await self._decide(report, known, random, taken_down=True)

    async def _decide(
        self, report: LinkReport, known: KnownLink, random: Random, *, taken_down: bool
    ) -> None:
        async def decide(process: PublishingProcess, _: float) -> None:
            does = process.reports.take_down if taken_down else process.reports.dismiss
            await does(report.report_id, actor=ROOT, remote_address=None)

        known.ending = known.ending or taken_down
        with suppress(ReportMissing):
            what = f"{'take down' if taken_down else 'dismiss the report of'} {known.link}"
            await self._asking.ask(random, decide, what, known.link)
            note(f"{what}: done", known.link)
            known.ended = known.ended or taken_down
            self._sights.append("taken down" if taken_down else "dismissed")

    # Readers

    async def _read(self, random: Random) -> None:
        if not self._addresses:
            return
        live = [each for each in self._addresses if not each.known.ended]
        address = random.choice(live if live and random.random() < 0.8 else self._addresses)
        if random.random() < 0.2:
            await self._report(address, random)
            return
        process = self._places.pick(random)
        if process is not None and random.random() < 0.15:
            process.forget_maps()
            self._sights.append("maps forgotten")
        known = address.known
        if random.random() < (0.5 if known.needs_ticket else 0.05):
            await self._several(random.choice([1, 2, 3]), self._open, address, random)
        # As a browser that loads what is on a page.
        await self._several(3 if known.needs_ticket else 1, self._read_at, address, random)

    async def _several(
        self,
        number: int,
        ask: Callable[[Address, Random], Awaitable[None]],
        address: Address,
        random: Random,
    ) -> None:
        """Send some requests at once."""

        async def ask_once(random: Random) -> None:
            with suppress(NothingDone, Unsettled):
                await ask(address, random)

        async with trio.open_nursery() as nursery:
            for _ in range(number):
                nursery.start_soon(ask_once, Random(random.random()))

    async def _report(self, address: Address, random: Random) -> None:
        await self._asking.ask(
            random,
            lambda process, _: process.reports.submit(address.token, "spam", None),
            f"report {address.known.link}",
            address.known.link,
        )

    async def _open(self, address: Address, random: Random) -> None:
        known = address.known
        right = known.password or ""
        password = right if random.random() < 0.9 else "wrong password"
        request = self._verdict.begin(address, self._some_note(known, random), None, password)
        page = await self._page(
            random,
            lambda process, _: process.reading.open(address.token, request.note, password),
            request,
        )
        self._verdict.end(request, page)

    async def _read_at(self, address: Address, random: Random) -> None:
        known = address.known
        tickets = [*known.tickets]
        if random.random() < 0.2:
            tickets = [each for other in self._links for each in other.tickets]
        ticket = random.choice(tickets) if tickets else None
        request = self._verdict.begin(address, self._some_note(known, random), ticket, None)
        page = await self._page(
            random,
            lambda process, _: process.reading.page(address.token, request.note, ticket),
            request,
        )
        self._verdict.end(request, page)

    async def _page(
        self,
        random: Random,
        ask: Callable[[PublishingProcess, float], Awaitable[bytes]],
        request: Request,
    ) -> bytes:
        """Return a page; raise `NothingDone` if its process ends while it renders the note."""
        try:
            return await self._asking.ask(random, ask, request.what, *request.about)
        except RenderingPostponed as error:
            self._sights.append("postponed")
            raise NothingDone from error

    def _some_note(self, known: KnownLink, random: Random) -> FileId | None:
        """Return a note to read: often one that the link opens, or None for its beginning."""
        notes, links = self._timeline.present
        if random.random() < 0.3:
            return None
        opened = links[known.link].opened(notes)
        return random.choice(opened if opened and random.random() < 0.8 else [*notes])

    async def _read_everything(self) -> None:
        """Read everything that is published, when nothing goes wrong any more."""
        processes = self._places.processes
        for number, address in enumerate(self._addresses):
            known, reading = address.known, processes[number % len(processes)].reading
            request = self._verdict.begin(address, None, None, known.password or "")
            # Under some schedules, even a second is too short for a write.
            with suppress(StoreUnavailable):
                page = await reading.open(address.token, None, known.password or "")
                self._verdict.end(request, page)
            asked: list[FileId | None] = [None]
            if not known.ended:
                notes, links = self._timeline.present
                asked += [*links[known.link].opened(notes), [*notes][number % len(notes)]]
            for file_id in asked:
                ticket = [*known.tickets, None][0]
                request = self._verdict.begin(address, file_id, ticket, None)
                self._verdict.end(request, await reading.page(address.token, file_id, ticket))

    # Processes

    async def _suffer(self, nursery: trio.Nursery) -> None:
        for _ in range(self._random.choice([0, 1, 2, 4])):
            await pause(self._random, (0.3, 1.0, 2.0), steps=30)
            if self._random.random() < 0.35:
                self._ahead += self._random.choice([TICKET_SECONDS, 86_400])
            self._sights.append(await self._places.disturb(nursery))

    def _process(self, name: str, random: Random) -> PublishingProcess:
        options = ProcessOptions(self._new_id, self._places.shared, self._violations.append)
        return PublishingProcess(name, self.disk, self._weather, random, options, now=self._now)

    def sights(self) -> Iterator[str]:
        """Report what happened."""
        yield from self._sights
        yield from self._weather.injected


async def _administrator(transaction: Transaction) -> None:
    await transaction.execute(
        "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
        " updated_at)"
        " VALUES ($1::uuid, 'root@example.org', 'Root', '', 'administrator', 'enabled', 0, 0)",
        ROOT,
    )

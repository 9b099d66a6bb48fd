"""One process that publishes the notes of its workspaces, without sockets and worker processes."""

import json
from collections.abc import Callable
from dataclasses import asdict
from random import Random
from typing import ParamSpec, TypeVar

import trio
from greenroom import WorkerContext, WorkerSpec

from octavo.access.after_commit import AfterCommit
from octavo.access.attempts import RATES, Attempts
from octavo.access.audit import Audit
from octavo.features.publishing.views import FolderView, NoteView
from octavo.features.usage.meter import UsageMeter
from tests.fakes.publishing_rig import publishing_rig
from tests.simulation.bare_process import AT_ONCE
from tests.simulation.disk import Disk
from tests.simulation.process import Process, ProcessOptions
from tests.simulation.weather import FaultSchedule

P = ParamSpec("P")
T = TypeVar("T")


class ViewPages:
    """Pages that show their views as JSON, so that a test reads what is on them."""

    def note(self, view: NoteView) -> str:
        return json.dumps({"kind": "note", **asdict(view)})

    def folder(self, view: FolderView) -> str:
        return json.dumps({"kind": "folder", **asdict(view)})

    def closed(self, report: str) -> str:
        return json.dumps({"kind": "closed", "report": report})

    def report(self) -> str:
        raise NotImplementedError

    def reported(self) -> str:
        raise NotImplementedError

    def refused(self, title: str, detail: str, request_id: str) -> str:
        raise NotImplementedError


class SlowWork:
    """Does the work of worker processes, which takes some time now and then."""

    def __init__(self, random: Random) -> None:
        self._random = random

    async def __call__(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        await trio.sleep(self._random.choice([0, 0.3, 1.0]))
        return function(*arguments, **named)


class PublishingProcess(Process):
    """Publishes the notes of a disk until it is stopped or killed.

    Attributes:
        links: create and revoke links.
        reading: reads through them.
        reports: receives reports of them.
    """

    def __init__(
        self,
        name: str,
        disk: Disk,
        faults: FaultSchedule,
        random: Random,
        options: ProcessOptions,
        *,
        now: Callable[[], float],
    ) -> None:
        super().__init__(name, disk, faults, random, options)
        new_id = options.new_id
        entropy = Random(random.getrandbits(32))
        slow_work = SlowWork(Random(random.getrandbits(32)))
        rig = publishing_rig(
            self.store,
            audit=Audit(
                self.store,
                now=now,
                new_id=new_id,
                network=lambda _: "",
                log=lambda _: None,
                after=AfterCommit(),
            ),
            meter=UsageMeter(self.store, now=now, writer_id=new_id(), shared=options.shared),
            attempts=Attempts(RATES),
            now=now,
            new_id=new_id,
            new_entropy=lambda: entropy.randbytes(32),
            html=ViewPages(),
            hashing=slow_work,
            rendering=slow_work,
        )
        self.links = rig.links
        self.reading = rig.reading
        self.reports = rig.reports

        self._maps = rig.reading._access._sites._maps

        async def keep_rendered(worker: WorkerContext) -> None:
            await rig.renderings.run()

        self._root.add(WorkerSpec("renderings", keep_rendered, backoff=AT_ONCE))

    def forget_maps(self) -> None:
        """Drop the maps of workspaces, as when those of others need the memory."""
        self._maps.clear()

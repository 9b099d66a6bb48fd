"""Virtual actors: addressed by key, activated on demand, put to sleep when idle.

A key always has at most one actor object. Everything that decides is
synchronous between a look-up and the message's arrival in the mailbox, so a
thousand first asks make one activation, and a message can't fall between two
incarnations: the mailbox belongs to the key, not to the actor. While an actor
is put to sleep messages collect there, and bring about the next activation.

A key that is asleep, with nothing waiting, no recent crash and no watcher, is
forgotten: it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

import trio

from octavo.actors.core.backoff import Backoff
from octavo.actors.core.child import WatchedChild
from octavo.actors.core.crash import is_crash
from octavo.actors.core.errors import ActorQuarantined, NotExecuted, stopped
from octavo.actors.core.places import Places
from octavo.actors.core.quarantine import CrashRecord
from octavo.actors.core.resident import Resident
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.specs import DirectorySpec
from octavo.actors.core.statistics import ActorStatistics, DirectoryStatistics
from octavo.actors.core.tree import TreeNode
from octavo.actors.core.waiting import Group

_TROUBLED = ("quarantined", "resting")
_SHOWN = 20  # keys in the tree, at most


class DirectoryChild(WatchedChild):
    """The virtual actors of one directory, under supervision; `Directory` is what callers hold."""

    def __init__(self, spec: DirectorySpec[Any, Any], parent: str, runtime: Runtime) -> None:
        """Take the specification; nothing runs yet."""
        super().__init__(
            spec.name,
            parent,
            restart="permanent",
            backoff=Backoff(),
            start_timeout=math.inf,
            drain_timeout=spec.drain_timeout,
        )
        self._spec = spec
        self.runtime = runtime
        self._residents: dict[Hashable, Resident] = {}
        self._places: Places[Resident] = Places(spec.max_awake)
        self._dormant: dict[Resident, None] = {}  # asleep, and not forgotten yet
        self._forget_at = -math.inf
        self._group: Group | None = None
        self._statistics = ActorStatistics()
        self._refusal: Callable[[], NotExecuted] | None = stopped(self, "is not started")
        self._nursery: trio.Nursery | None = None
        self._ending: Literal["drain", "retire"] | None = None
        self._changed = trio.Event()
        self._dozing = False
        self._activations = self._passivations = self._crashes = 0

    def statistics(self) -> DirectoryStatistics:
        """Counts for operators; reads all remembered keys."""
        standing = [resident.residence for resident in self._residents.values()]
        return DirectoryStatistics(
            awake=self._places.awake,
            idle=self._places.idle,
            in_line=self._places.in_line,
            resting=standing.count("resting"),
            quarantined=standing.count("quarantined"),
            remembered=len(standing),
            activations=self._activations,
            passivations=self._passivations,
            crashes=self._crashes,
        )

    # Finding and waking

    def remember(self, key: Hashable) -> Resident:
        """The resident of ``key``, without waking it.

        Raises:
            ActorStopped: the directory is not running.
        """
        resident = self._residents.get(key)
        if resident is None:
            if self._refusal is not None:
                raise self._refusal()
            spec = self._spec
            resident = self._residents[key] = Resident(
                self,
                self._path,
                key,
                partial(spec.factory, key),
                spec,
                self.runtime,
                self._statistics,
            )
            resident.restarts_with(self._group)
            self._dormant[resident] = None
            if self._dozing:
                self._changed.set()
        return resident

    def awaken(self, key: Hashable) -> Resident:
        """The resident of ``key``, awake or on the way there.

        The caller must put its message in without awaiting in between.

        Raises:
            ActorStopped: the directory is not running.
        """
        resident = self._residents.get(key) or self.remember(key)
        if resident.residence == "quarantined" and self._refusal is None:
            record = resident.record
            if record is not None and not record.quarantined(trio.current_time()):
                resident.open()
                resident.residence = "asleep"
        if resident.residence == "asleep" and self._refusal is None:
            self._line_up(resident)
        return resident

    def _line_up(self, resident: Resident) -> None:
        resident.residence = "in line"
        self._dormant.pop(resident, None)
        self._places.line_up(resident)
        self._serve_line()
        self.is_awaited(resident)
        if self._dozing:
            self._changed.set()

    def _serve_line(self) -> None:
        if self._nursery is None or self._ending == "retire":
            return
        while (resident := self._places.admit()) is not None:
            self._activate(resident, self._nursery)
        while (resident := self._places.send_away()) is not None:
            self._put_to_sleep(resident)

    def _activate(self, resident: Resident, nursery: trio.Nursery) -> None:
        resident.residence = "awake"
        self._activations += 1
        if self._ending == "drain":
            resident.drain()
        nursery.start_soon(self._live, resident, name=self._path)

    def is_awaited(self, resident: Resident) -> None:
        """Hear that an actor waits for ``resident`` (called by it).

        If it stands in line behind one that, directly or not, waits for it, neither would ever
        go on: so it is woken beyond ``max_awake``.
        """
        if resident.residence != "in line" or self._nursery is None or self._ending == "retire":
            return
        for waiter in resident.awaited_by():
            if isinstance(waiter, Resident) and self._residents.get(waiter.key) is waiter:
                self._places.admit_beyond(resident)
                self._activate(resident, self._nursery)
                return

    def _put_to_sleep(self, resident: Resident) -> None:
        resident.residence = "leaving"
        resident.retire("passivated")

    def fell_idle(self, resident: Resident) -> None:
        """Hear that an actor waits for messages (called by the resident)."""
        self._places.fell_idle(resident, trio.current_time())
        if self._places.in_line:
            self._serve_line()

    def proved_itself(self, resident: Resident) -> None:
        """Hear that a new actor handled its first message (called by the resident)."""
        record = resident.record
        if record is not None and record.on_probation:
            record.recovered()
            self.runtime.notify(self.runtime.observer.recovered, resident.path)

    def lost_interest(self, resident: Resident) -> None:
        """Hear that nothing waits any more in a mailbox (called by the resident)."""
        if resident.residence == "in line":
            self._places.leave_line(resident)
            self._fall_asleep(resident)

    def got_busy(self, resident: Resident) -> None:
        """Hear that a message came for an actor (called by the resident)."""
        self._places.got_busy(resident)

    # One actor's life

    async def _live(self, resident: Resident) -> None:
        observer, path = self.runtime.observer, resident.path
        error: BaseException | None = None
        try:
            await resident.run(partial(self.runtime.notify, observer.started, path))
        except BaseException as caught:
            if not is_crash(caught):
                raise
            error = caught
        finally:
            self._places.gone(resident)
            resident.residence = "asleep"
        if error is None:
            self._passivations += 1
            self.runtime.notify(observer.ended, path, resident.reason)
            self._went_to_sleep(resident)
        else:
            self._crashes += 1
            self.runtime.notify(observer.crashed, path, error)
            self._crashed(resident)
        resident.down()
        self._serve_line()
        if self._ending is not None:
            self._changed.set()

    def _went_to_sleep(self, resident: Resident) -> None:
        if self._refusal is None:
            resident.open()
        if resident.mailbox.in_use:
            self._line_up(resident)
        else:
            self._fall_asleep(resident)

    def _fall_asleep(self, resident: Resident) -> None:
        resident.residence = "asleep"
        if resident.forgettable:
            del self._residents[resident.key]
        else:
            self._dormant[resident] = None

    def _crashed(self, resident: Resident) -> None:
        if self._refusal is not None:
            resident.mailbox.refuse_waiting(self._refusal)
            return
        record = resident.record = resident.record or CrashRecord()
        quarantine = record.crashed(trio.current_time(), self._spec.quarantine)
        observer = self.runtime.observer
        if quarantine is not None:
            resident.residence = "quarantined"
            refusal = partial(self._refuse_quarantined, resident)
            resident.mailbox.close(refusal)
            resident.mailbox.refuse_waiting(refusal)
            self._dormant[resident] = None
            self.runtime.notify(observer.quarantined, resident.path, quarantine)
        elif resident.mailbox.in_use and self._nursery is not None and self._ending is None:
            resident.residence = "resting"
            delay = self._spec.backoff.delay(record.recent - 1, self.runtime.random)
            self.runtime.notify(observer.restarting, resident.path, delay)
            self._nursery.start_soon(self._rest, resident, delay, name=f"{self._path} backoff")
        else:
            self._fall_asleep(resident)

    def _refuse_quarantined(self, resident: Resident) -> ActorQuarantined:
        record = resident.record
        until = record.until if record is not None and record.until is not None else 0.0
        left = max(until - trio.current_time(), 0.0)
        return ActorQuarantined(
            f"{resident.path} crashed too often and rests for {left:.3g} s;"
            " the message was not executed",
            left,
        )

    async def _rest(self, resident: Resident, delay: float) -> None:
        await trio.sleep(delay)
        if resident.residence != "resting" or self._refusal is not None:
            return
        if resident.mailbox.in_use:
            self._line_up(resident)
        else:
            self._fall_asleep(resident)

    # Under supervision

    def open(self) -> None:
        """Accept messages."""
        self._refusal = None
        self.restarts_with(None)

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Serve until drained or retired; put idle actors to sleep meanwhile."""
        self._ending = None
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for resident in list(self._residents.values()):
                if resident.residence == "resting":  # its backoff ended with the last incarnation
                    resident.residence = "asleep"
                if resident.residence == "asleep" and resident.mailbox.in_use:
                    self._line_up(resident)
            self._serve_line()
            ready()
            try:
                await self._keep_house()
            finally:
                self._nursery = None
            nursery.cancel_scope.cancel(reason=f"{self._path} ended")

    async def _keep_house(self) -> None:
        """Put idle actors to sleep until the directory has ended."""
        while not self._ended():
            now = trio.current_time()
            while (resident := self._places.idle_for(self._spec.idle_timeout, now)) is not None:
                self._put_to_sleep(resident)
            self._forget(now)
            self._changed = trio.Event()
            chore = self._next_chore(now)
            self._dozing = chore == math.inf
            with trio.move_on_at(chore):
                await self._changed.wait()

    def _next_chore(self, now: float) -> float:
        if not self._residents:
            return math.inf
        since = self._places.idle_for_longest
        return (now if since is None else since) + self._spec.idle_timeout

    def _forget(self, now: float) -> None:
        if now < self._forget_at or self._refusal is not None:
            return
        self._forget_at = now + self._spec.idle_timeout
        rule = self._spec.quarantine
        for resident in list(self._dormant):
            if resident.record is not None and resident.record.expires(rule) <= now:
                resident.record = None
                if resident.residence == "quarantined":
                    resident.residence = "asleep"
                    resident.open()
            if resident.residence == "asleep" and resident.forgettable:
                del self._dormant[resident]
                del self._residents[resident.key]

    def _ended(self) -> bool:
        if self._ending is None or self._places.awake:
            return False
        return self._ending == "retire" or not self._places.in_line

    def drain(self) -> None:
        """Refuse new messages; handle those that wait, in line too, then end."""
        self._ending = "drain"
        self.reason = "drained"
        self._refusal = stopped(self, "is stopping")
        for resident in self._residents.values():
            if resident.residence in ("awake", "leaving", "in line"):
                resident.drain()
            else:
                resident.close(self._refusal)
        self._serve_line()
        self._changed.set()

    def retire(self) -> None:
        """Put every actor to sleep; what waits is kept for the next incarnation."""
        if self._ending is None:
            self._ending = "retire"
            self.reason = "restarted"
        for resident in self._places.staying():
            self._places.leave(resident)
            self._put_to_sleep(resident)
        self._changed.set()

    def restarts_with(self, group: Group | None) -> None:
        """Learn which group is being restarted together, or that it is over."""
        self._group = group
        for resident in self._residents.values():
            resident.restarts_with(group)

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Refuse all waiting messages and forget every key."""
        self._refusal = refusal or stopped(self)
        for resident in self._residents.values():
            resident.close(self._refusal)
        self._residents.clear()
        self._dormant.clear()
        self._places = Places(self._spec.max_awake)
        super().close(refusal)

    def node(self, state: str) -> TreeNode:
        """A snapshot; shows the keys in trouble and those with the longest queues."""
        statistics = self.statistics()
        shown = sorted(
            (r for r in self._residents.values() if r.residence in _TROUBLED or r.mailbox.depth),
            key=lambda resident: (resident.residence not in _TROUBLED, -resident.mailbox.depth),
        )
        return TreeNode(
            name=self.name,
            kind="directory",
            state=state,
            restarts=self.restarts,
            wait=self._statistics.wait.snapshot(),
            handling=self._statistics.handling.snapshot(),
            details=asdict(statistics) | {"refused": self._statistics.refused},
            children=tuple(
                TreeNode(
                    name=str(resident.key),
                    kind="virtual actor",
                    state=resident.residence,
                    mailbox=resident.mailbox_statistics(),
                )
                for resident in shown[:_SHOWN]
            ),
        )

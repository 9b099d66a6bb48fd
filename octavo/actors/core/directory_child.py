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

from octavo.actors.core.activation_limit import ActivationLimit
from octavo.actors.core.backoff import Backoff
from octavo.actors.core.child import WatchedChild
from octavo.actors.core.errors import ActorQuarantined, NotExecuted, is_crash, stopped
from octavo.actors.core.quarantine import CrashRecord
from octavo.actors.core.runtime import Runtime
from octavo.actors.core.specs import DirectorySpec
from octavo.actors.core.statistics import ActorStatistics, DirectoryStatistics
from octavo.actors.core.tree import TreeNode
from octavo.actors.core.virtual_actor_cell import VirtualActorCell
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
        self._cells: dict[Hashable, VirtualActorCell] = {}
        self._limit: ActivationLimit[VirtualActorCell] = ActivationLimit(spec.max_awake)
        self._dormant: dict[VirtualActorCell, None] = {}  # asleep, and not forgotten yet
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
        standing = [cell.key_state for cell in self._cells.values()]
        return DirectoryStatistics(
            awake=self._limit.awake,
            idle=self._limit.idle,
            in_line=self._limit.in_line,
            resting=standing.count("resting"),
            quarantined=standing.count("quarantined"),
            remembered=len(standing),
            activations=self._activations,
            passivations=self._passivations,
            crashes=self._crashes,
        )

    # Finding and waking

    def remember(self, key: Hashable) -> VirtualActorCell:
        """The cell of ``key``, without waking it.

        Raises:
            ActorStopped: the directory is not running.
        """
        cell = self._cells.get(key)
        if cell is None:
            if self._refusal is not None:
                raise self._refusal()
            spec = self._spec
            cell = self._cells[key] = VirtualActorCell(
                self,
                self._path,
                key,
                partial(spec.factory, key),
                spec,
                self.runtime,
                self._statistics,
            )
            cell.restarts_with(self._group)
            self._dormant[cell] = None
            if self._dozing:
                self._changed.set()
        return cell

    def awaken(self, key: Hashable) -> VirtualActorCell:
        """The cell of ``key``, awake or on the way there.

        The caller must put its message in without awaiting in between.

        Raises:
            ActorStopped: the directory is not running.
        """
        cell = self._cells.get(key) or self.remember(key)
        if cell.key_state == "quarantined" and self._refusal is None:
            record = cell.record
            if record is not None and not record.quarantined(trio.current_time()):
                cell.open()
                cell.key_state = "asleep"
        if cell.key_state == "asleep" and self._refusal is None:
            self._line_up(cell)
        return cell

    def _line_up(self, cell: VirtualActorCell) -> None:
        cell.key_state = "in line"
        self._dormant.pop(cell, None)
        self._limit.line_up(cell)
        self._serve_line()
        self.is_awaited(cell)
        if self._dozing:
            self._changed.set()

    def _serve_line(self) -> None:
        if self._nursery is None or self._ending == "retire":
            return
        while (cell := self._limit.admit()) is not None:
            self._activate(cell, self._nursery)
        while (cell := self._limit.send_away()) is not None:
            self._put_to_sleep(cell)

    def _activate(self, cell: VirtualActorCell, nursery: trio.Nursery) -> None:
        cell.key_state = "awake"
        self._activations += 1
        if self._ending == "drain":
            cell.drain()
        nursery.start_soon(self._live, cell, name=self._path)

    def is_awaited(self, cell: VirtualActorCell) -> None:
        """Hear that an actor waits for ``cell`` (called by it).

        If it stands in line behind one that, directly or not, waits for it, neither would ever
        go on: so it is woken beyond ``max_awake``.
        """
        if cell.key_state != "in line" or self._nursery is None or self._ending == "retire":
            return
        for waiter in cell.awaited_by():
            if isinstance(waiter, VirtualActorCell) and self._cells.get(waiter.key) is waiter:
                self._limit.admit_beyond(cell)
                self._activate(cell, self._nursery)
                return

    def _put_to_sleep(self, cell: VirtualActorCell) -> None:
        cell.key_state = "leaving"
        cell.retire("passivated")

    def fell_idle(self, cell: VirtualActorCell) -> None:
        """Hear that an actor waits for messages (called by the cell)."""
        self._limit.fell_idle(cell, trio.current_time())
        if self._limit.in_line:
            self._serve_line()

    def proved_itself(self, cell: VirtualActorCell) -> None:
        """Hear that a new actor handled its first message (called by the cell)."""
        record = cell.record
        if record is not None and record.on_probation:
            record.recovered()
            self.runtime.notify(self.runtime.observer.recovered, cell.path)

    def lost_interest(self, cell: VirtualActorCell) -> None:
        """Hear that nothing waits any more in a mailbox (called by the cell)."""
        if cell.key_state == "in line":
            self._limit.leave_line(cell)
            self._fall_asleep(cell)

    def got_busy(self, cell: VirtualActorCell) -> None:
        """Hear that a message came for an actor (called by the cell)."""
        self._limit.got_busy(cell)

    # One actor's life

    async def _live(self, cell: VirtualActorCell) -> None:
        observer, path = self.runtime.observer, cell.path
        error: BaseException | None = None
        try:
            await cell.run(partial(self.runtime.notify, observer.started, path))
        except BaseException as caught:
            if not is_crash(caught):
                raise
            error = caught
        finally:
            self._limit.gone(cell)
            cell.key_state = "asleep"
        if error is None:
            self._passivations += 1
            self.runtime.notify(observer.ended, path, cell.reason)
            self._went_to_sleep(cell)
        else:
            self._crashes += 1
            self.runtime.notify(observer.crashed, path, error)
            self._crashed(cell)
        cell.down()
        self._serve_line()
        if self._ending is not None:
            self._changed.set()

    def _went_to_sleep(self, cell: VirtualActorCell) -> None:
        if self._refusal is None:
            cell.open()
        if cell.mailbox.in_use:
            self._line_up(cell)
        else:
            self._fall_asleep(cell)

    def _fall_asleep(self, cell: VirtualActorCell) -> None:
        cell.key_state = "asleep"
        if cell.forgettable:
            del self._cells[cell.key]
        else:
            self._dormant[cell] = None

    def _crashed(self, cell: VirtualActorCell) -> None:
        if self._refusal is not None:
            cell.mailbox.refuse_waiting(self._refusal)
            return
        record = cell.record = cell.record or CrashRecord()
        quarantine = record.crashed(trio.current_time(), self._spec.quarantine)
        observer = self.runtime.observer
        if quarantine is not None:
            cell.key_state = "quarantined"
            refusal = partial(self._refuse_quarantined, cell)
            cell.mailbox.close(refusal)
            cell.mailbox.refuse_waiting(refusal)
            self._dormant[cell] = None
            self.runtime.notify(observer.quarantined, cell.path, quarantine)
        elif cell.mailbox.in_use and self._nursery is not None and self._ending is None:
            cell.key_state = "resting"
            delay = self._spec.backoff.delay(record.recent - 1, self.runtime.random)
            self.runtime.notify(observer.restarting, cell.path, delay)
            self._nursery.start_soon(self._rest, cell, delay, name=f"{self._path} backoff")
        else:
            self._fall_asleep(cell)

    def _refuse_quarantined(self, cell: VirtualActorCell) -> ActorQuarantined:
        record = cell.record
        until = record.until if record is not None and record.until is not None else 0.0
        left = max(until - trio.current_time(), 0.0)
        return ActorQuarantined(
            f"{cell.path} crashed too often and rests for {left:.3g} s;"
            " the message was not executed",
            left,
        )

    async def _rest(self, cell: VirtualActorCell, delay: float) -> None:
        await trio.sleep(delay)
        if cell.key_state != "resting" or self._refusal is not None:
            return
        if cell.mailbox.in_use:
            self._line_up(cell)
        else:
            self._fall_asleep(cell)

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
            for cell in list(self._cells.values()):
                if cell.key_state == "resting":  # its backoff ended with the last incarnation
                    cell.key_state = "asleep"
                if cell.key_state == "asleep" and cell.mailbox.in_use:
                    self._line_up(cell)
            self._serve_line()
            ready()
            try:
                await self._passivate_idle()
            finally:
                self._nursery = None
            nursery.cancel_scope.cancel(reason=f"{self._path} ended")

    async def _passivate_idle(self) -> None:
        """Put idle actors to sleep until the directory has ended."""
        while not self._ended():
            now = trio.current_time()
            while (cell := self._limit.idle_for(self._spec.idle_timeout, now)) is not None:
                self._put_to_sleep(cell)
            self._forget(now)
            self._changed = trio.Event()
            chore = self._next_chore(now)
            self._dozing = chore == math.inf
            with trio.move_on_at(chore):
                await self._changed.wait()

    def _next_chore(self, now: float) -> float:
        if not self._cells:
            return math.inf
        since = self._limit.idle_for_longest
        return (now if since is None else since) + self._spec.idle_timeout

    def _forget(self, now: float) -> None:
        if now < self._forget_at or self._refusal is not None:
            return
        self._forget_at = now + self._spec.idle_timeout
        rule = self._spec.quarantine
        for cell in list(self._dormant):
            if cell.record is not None and cell.record.expires(rule) <= now:
                cell.record = None
                if cell.key_state == "quarantined":
                    cell.key_state = "asleep"
                    cell.open()
            if cell.key_state == "asleep" and cell.forgettable:
                del self._dormant[cell]
                del self._cells[cell.key]

    def _ended(self) -> bool:
        if self._ending is None or self._limit.awake:
            return False
        return self._ending == "retire" or not self._limit.in_line

    def drain(self) -> None:
        """Refuse new messages; handle those that wait, in line too, then end."""
        self._ending = "drain"
        self.reason = "drained"
        self._refusal = stopped(self, "is stopping")
        for cell in self._cells.values():
            if cell.key_state in ("awake", "leaving", "in line"):
                cell.drain()
            else:
                cell.close(self._refusal)
        self._serve_line()
        self._changed.set()

    def retire(self) -> None:
        """Put every actor to sleep; what waits is kept for the next incarnation."""
        if self._ending is None:
            self._ending = "retire"
            self.reason = "restarted"
        for cell in self._limit.staying():
            self._limit.leave(cell)
            self._put_to_sleep(cell)
        self._changed.set()

    def restarts_with(self, group: Group | None) -> None:
        """Learn which group is being restarted together, or that it is over."""
        self._group = group
        for cell in self._cells.values():
            cell.restarts_with(group)

    def close(self, refusal: Callable[[], NotExecuted] | None = None) -> None:
        """Refuse all waiting messages and forget every key."""
        self._refusal = refusal or stopped(self)
        for cell in self._cells.values():
            cell.close(self._refusal)
        self._cells.clear()
        self._dormant.clear()
        self._limit = ActivationLimit(self._spec.max_awake)
        super().close(refusal)

    def node(self, state: str) -> TreeNode:
        """A snapshot; shows the keys in trouble and those with the longest queues."""
        statistics = self.statistics()
        shown = sorted(
            (r for r in self._cells.values() if r.key_state in _TROUBLED or r.mailbox.depth),
            key=lambda cell: (cell.key_state not in _TROUBLED, -cell.mailbox.depth),
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
                    name=str(cell.key),
                    kind="virtual actor",
                    state=cell.key_state,
                    mailbox=cell.mailbox_statistics(),
                )
                for cell in shown[:_SHOWN]
            ),
        )

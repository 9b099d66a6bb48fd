"""Directories: virtual actors by key, activated on demand, and the limit of active ones."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import asdict
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import trio

from greenroom import errors
from greenroom.cell import Cell
from greenroom.child import ChildRules, WatchedChild
from greenroom.message import UNANSWERED, MessageFor
from greenroom.monitor import Watchers
from greenroom.ref import ActorRef
from greenroom.restart import Backoff, CrashRecord
from greenroom.runtime import Runtime
from greenroom.serving import run_incarnation
from greenroom.specs import DirectorySpec, message_types_of
from greenroom.statistics import ActorStatistics, DirectoryStatistics
from greenroom.tree import TreeNode
from greenroom.waiting import Group

T = TypeVar("T")


class ActivationLimit(Generic[T]):
    """The active actors, the queue of those to activate, and the order of passivation.

    Args:
        number: how many actors may be active at the same time.
        in_use: returns whether an idle actor has given answers since the last call; then it gets a
            second chance.
    """

    def __init__(self, number: int, in_use: Callable[[T], bool] = lambda _: False) -> None:
        """Start without active actors."""
        self._number = number
        self._in_use = in_use
        self._queue: OrderedDict[T, None] = OrderedDict()
        self._staying: OrderedDict[T, None] = OrderedDict()
        self._leaving: set[T] = set()
        self._leaving_idle: set[T] = set()  # those of them that were idle and so end soon
        self._idle: OrderedDict[T, float] = OrderedDict()

    # Transitions

    def activate_over_limit(self, actor: T) -> None:
        """Activate ``actor``, which is in the queue, even if the limit is reached."""
        del self._queue[actor]
        self._staying[actor] = None

    def enqueue(self, actor: T) -> None:
        """Add ``actor`` to the queue."""
        self._queue[actor] = None

    def dequeue(self, actor: T) -> None:
        """Remove ``actor`` from the queue, if it is there."""
        self._queue.pop(actor, None)

    def activate_next(self) -> T | None:
        """Activate and return the first of the queue; None if it is empty or the limit is hit."""
        if not self._queue or self.active >= self._number:
            return None
        actor, _ = self._queue.popitem(last=False)
        self._staying[actor] = None
        return actor

    def became_idle(self, actor: T, now: float) -> None:
        """Record that an active actor is idle since ``now``, unless that is recorded already."""
        if actor in self._staying and actor not in self._idle:
            self._idle[actor] = now

    def became_busy(self, actor: T) -> None:
        """Record that an actor is no longer idle; it moves to the end of the passivation order."""
        if self._idle.pop(actor, None) is not None:
            self._staying.move_to_end(actor)

    def passivate_for_queue(self) -> T | None:
        """Choose an actor to passivate in favor of the queue; None if that is not needed.

        As many idle actors are passivated as keys are queued, the longest idle first. Without idle
        actors, busy ones are asked to end after their current batch. Since a busy one may never
        end, those do not count when an idle one is available.
        """
        if self._idle and len(self._leaving_idle) < len(self._queue):
            actor = self._longest_idle()
            self.leave(actor)
            self._leaving_idle.add(actor)
            return actor
        if self._idle or len(self._leaving) >= len(self._queue):
            return None
        busy = next(iter(self._staying), None)
        if busy is not None:
            self.leave(busy)
        return busy

    def passivate_idle(self, seconds: float, now: float) -> T | None:
        """Choose an actor to passivate that has been idle for ``seconds`` at ``now``."""
        while self._idle:
            actor, since = next(iter(self._idle.items()))
            # The directory computes the moment by the same sum, so rounding can't differ.
            if since + seconds > now:
                return None
            if not self._in_use(actor):
                self.leave(actor)
                return actor
            # It has given answers meanwhile, at an unknown time.
            del self._idle[actor]
            self._idle[actor] = now
        return None

    def _longest_idle(self) -> T:
        """Return the actor that has been idle longest; one that is in use gets a second chance."""
        for actor in [*self._idle]:
            if not self._in_use(actor):
                return actor
            self._idle.move_to_end(actor)
        return next(iter(self._idle))

    def leave(self, actor: T) -> None:
        """Record that an active actor was asked to end; it still counts as active."""
        self._idle.pop(actor, None)
        if self._staying.pop(actor, ...) is None:
            self._leaving.add(actor)

    def ended(self, actor: T) -> None:
        """Record that an actor is no longer active."""
        self._idle.pop(actor, None)
        self._staying.pop(actor, None)
        self._leaving.discard(actor)
        self._leaving_idle.discard(actor)

    # State

    @property
    def active(self) -> int:
        """The number of active actors, including those asked to end."""
        return len(self._staying) + len(self._leaving)

    @property
    def idle(self) -> int:
        """The number of active actors that are idle."""
        return len(self._idle)

    @property
    def queued(self) -> int:
        """The number of keys in the queue."""
        return len(self._queue)

    @property
    def idle_since(self) -> float | None:
        """Since when the actor that is idle longest has been idle."""
        return next(iter(self._idle.values()), None)

    def staying(self) -> list[T]:
        """Return the active actors that were not asked to end."""
        return list(self._staying)


_IN_TROUBLE = ("quarantined", "backing off")
_SHOWN = 20  # keys in the tree, at most

KeyState = Literal["asleep", "queued", "awake", "leaving", "backing off", "quarantined"]
"""The state of a key.

``asleep``: it has no actor. ``queued``: it waits until another actor is passivated. ``awake``: it
has an actor. ``leaving``: its actor is being passivated; messages are collected for the next one.
``backing off``: it crashed and waits for its backoff. ``quarantined``: it crashed too often;
messages are refused.
"""


class VirtualActorCell(Cell):
    """The cell of one key, with the state of the key and its record of crashes."""

    __slots__ = ("_directory", "_idle", "key", "key_state", "record")

    def __init__(self, directory: DirectoryChild, key: Hashable) -> None:
        """Create a cell without an actor, which accepts messages."""
        spec = directory.spec
        super().__init__(
            directory.path,
            key,
            partial(spec.factory, key),
            spec,
            directory.runtime,
            directory.actor_statistics,
            directory.message_types,
            park_observer=self,
        )
        self._directory = directory
        self.key = key
        self.record: CrashRecord | None = None
        # Whether the directory counts the actor as idle, and must learn of the next message.
        self._idle = False
        self.key_state: KeyState = "asleep"
        self.open()

    def parked(self) -> None:
        """Handle that the actor waits for messages."""
        self._idle = True
        self._directory.became_idle(self)

    def woken(self) -> None:
        """Handle that a message arrived."""
        if self._idle:
            self._idle = False
            self._directory.became_busy(self)

    def emptied(self) -> None:
        """Handle that the last message was withdrawn."""
        self._directory.all_withdrawn(self)

    def handled_first_message(self) -> None:
        """Handle that the current actor handled its first message."""
        self._directory.handled_first_message(self)

    def on_awaited(self) -> None:
        """Handle that one more actor is about to wait for this one."""
        self._directory.on_awaited(self)

    def finish(self) -> None:
        """End after the current message; the key's other messages go to its next actor."""
        self.retire("finished")

    @property
    def forgettable(self) -> bool:
        """Whether the directory can drop this sleeping key without losing anything."""
        return self.record is None and not self.mailbox.in_use and not self.watched


class DirectoryChild(WatchedChild):
    """The virtual actors of one directory, under supervision; callers hold a `Directory`."""

    def __init__(self, spec: DirectorySpec[Any, Any], parent: str, runtime: Runtime) -> None:
        """Take the specification; nothing runs yet."""
        rules = ChildRules("permanent", Backoff(), math.inf, spec.drain_timeout)
        super().__init__(spec.name, parent, rules)
        self.spec = spec
        self.runtime = runtime
        self.actor_statistics = ActorStatistics()
        self.message_types = message_types_of(spec.factory)
        self._cells: dict[Hashable, VirtualActorCell] = {}
        self._limit: ActivationLimit[VirtualActorCell] = ActivationLimit(spec.max_awake, _in_use)
        self._dormant: dict[VirtualActorCell, None] = {}  # asleep or quarantined, not dropped yet
        self._forget_at = -math.inf
        self._group: Group | None = None
        self._refusal: Callable[[], errors.NotExecuted] | None = errors.stopped(
            self, "is not started"
        )
        self._nursery: trio.Nursery | None = None
        self._ending: Literal["drain", "retire"] | None = None
        self._changed = trio.Event()
        self._dozing = False
        self._activations = self._passivations = self._crashes = 0

    def statistics(self) -> DirectoryStatistics:
        """Return counts for operators; takes time linear in the number of tracked keys."""
        states = [cell.key_state for cell in self._cells.values()]
        return DirectoryStatistics(
            awake=self._limit.active,
            idle=self._limit.idle,
            waiting=self._limit.queued,
            backing_off=states.count("backing off"),
            quarantined=states.count("quarantined"),
            tracked=len(states),
            activations=self._activations,
            passivations=self._passivations,
            crashes=self._crashes,
        )

    # Look-up and activation

    def cell(self, key: Hashable) -> VirtualActorCell:
        """Return the cell of ``key`` without activating it.

        Raises:
            ActorStopped: the directory is not running.
        """
        cell = self._cells.get(key)
        if cell is None:
            if self._refusal is not None:
                raise self._refusal()
            cell = self._cells[key] = VirtualActorCell(self, key)
            cell.restarts_with(self._group)
            self._dormant[cell] = None
            if self._dozing:
                self._changed.set()
        return cell

    def answer(self, key: Hashable, message: object, default: object) -> Any:  # noqa: ANN401 - the directory gives it its type
        """Return the answer that the actor of ``key`` has at once, or ``default``."""
        cell = self._cells.get(key)
        reply = UNANSWERED if cell is None else cell.answer_at_once(message)
        return default if reply is UNANSWERED else reply

    def tracked(self, text: str) -> VirtualActorCell:
        """Return the cell of the tracked key whose text in a path is ``text``.

        Raises:
            ActorNotFound: no tracked key has this text, or several have.
        """
        cells = [cell for key, cell in self._cells.items() if str(key) == text]
        if len(cells) == 1:
            return cells[0]
        if cells:
            keys = ", ".join(repr(cell.key) for cell in cells)
            raise errors.ActorNotFound(
                f"{len(cells)} keys of {self.path} are written {text!r}: {keys}"
            )
        raise errors.ActorNotFound(
            f"{self.path} has no active key {text!r}; a directory's ref() takes any key"
        )

    def activate(self, key: Hashable, message: object) -> VirtualActorCell:
        """Return the cell of ``key``, active or about to be activated, to send it ``message``.

        The caller must send the message without awaiting in between.

        Raises:
            ActorStopped: the directory is not running.
            MessageTypeError: the actor does not handle this type of message.
        """
        cell = self._cells.get(key) or self.cell(key)
        types = cell.message_types
        if types is not None and type(message) not in types.known:
            types.require(message, cell.path)
        if cell.key_state == "awake":
            return cell
        if cell.key_state == "quarantined" and self._refusal is None:
            record = cell.record
            if record is not None and not record.quarantined(trio.current_time()):
                cell.open()
                cell.key_state = "asleep"
        if cell.key_state == "asleep" and self._refusal is None:
            self._enqueue(cell)
        return cell

    def _enqueue(self, cell: VirtualActorCell) -> None:
        cell.key_state = "queued"
        self._dormant.pop(cell, None)
        self._limit.enqueue(cell)
        self._serve_queue()
        self.on_awaited(cell)
        if self._dozing:
            self._changed.set()

    def _serve_queue(self) -> None:
        if self._nursery is None or self._ending == "retire":
            return
        while (cell := self._limit.activate_next()) is not None:
            self._start_actor(cell, self._nursery)
        while (cell := self._limit.passivate_for_queue()) is not None:
            self._passivate(cell)

    def _start_actor(self, cell: VirtualActorCell, nursery: trio.Nursery) -> None:
        cell.key_state = "awake"
        self._activations += 1
        if self._ending == "drain":
            cell.drain()
        nursery.start_soon(self._run_actor, cell, name=self.path)

    def on_awaited(self, cell: VirtualActorCell) -> None:
        """Handle that an actor waits for ``cell``.

        If the cell is queued behind an actor that waits for it, directly or indirectly, neither
        could ever continue. So it is activated over the limit.
        """
        if cell.key_state != "queued" or self._nursery is None or self._ending == "retire":
            return
        for waiter in cell.awaited_by():
            if isinstance(waiter, VirtualActorCell) and self._cells.get(waiter.key) is waiter:
                self._limit.activate_over_limit(cell)
                self._start_actor(cell, self._nursery)
                return

    def _passivate(self, cell: VirtualActorCell) -> None:
        cell.key_state = "leaving"
        cell.retire("passivated")

    def became_idle(self, cell: VirtualActorCell) -> None:
        """Handle that an actor waits for messages."""
        self._limit.became_idle(cell, cell.mailbox.now())
        if self._limit.queued:
            self._serve_queue()

    def handled_first_message(self, cell: VirtualActorCell) -> None:
        """Handle that a new actor handled its first message: a probe has succeeded."""
        record = cell.record
        if record is not None and record.on_probation:
            record.recovered()
            self.runtime.notify(self.runtime.observer.recovered, cell.path)

    def all_withdrawn(self, cell: VirtualActorCell) -> None:
        """Handle that the last message of a mailbox was withdrawn."""
        if cell.key_state == "queued":
            self._limit.dequeue(cell)
            self._sleep(cell)

    def became_busy(self, cell: VirtualActorCell) -> None:
        """Handle that a message arrived for an actor."""
        self._limit.became_busy(cell)

    # The life of one actor

    async def _run_actor(self, cell: VirtualActorCell) -> None:
        observer, path = self.runtime.observer, cell.path
        error: BaseException | None = None
        try:
            await run_incarnation(cell, partial(self.runtime.notify, observer.started, path))
        except BaseException as caught:
            if not errors.is_crash(caught):
                raise
            error = caught
        finally:
            self._limit.ended(cell)
            cell.key_state = "asleep"
        if error is None:
            self._passivations += 1
            self.runtime.notify(observer.ended, path, cell.reason)
            self._passivated(cell)
        else:
            self._crashes += 1
            self.runtime.notify(observer.crashed, path, error)
            self._crashed(cell, errors.unwrap(error))
        cell.down()
        self._serve_queue()
        if self._ending is not None:
            self._changed.set()

    def _passivated(self, cell: VirtualActorCell) -> None:
        if self._refusal is None:
            cell.open()
        if cell.mailbox.in_use:
            self._enqueue(cell)
        else:
            self._sleep(cell)

    def _sleep(self, cell: VirtualActorCell) -> None:
        cell.key_state = "asleep"
        if cell.forgettable:
            del self._cells[cell.key]
        else:
            self._dormant[cell] = None

    def _crashed(self, cell: VirtualActorCell, error: BaseException) -> None:
        if self._refusal is not None:
            cell.mailbox.refuse_waiting(self._refusal)
            return
        # Another attempt could only fail in the same way.
        if isinstance(error, errors.InvalidActor):
            text = str(error)
            cell.mailbox.close(lambda: errors.InvalidActor(text))
            cell.mailbox.refuse_waiting(lambda: errors.InvalidActor(text))
            cell.open()
            self._sleep(cell)
            return
        record = cell.record = cell.record or CrashRecord()
        quarantine = record.crashed(trio.current_time(), self.spec.quarantine)
        observer = self.runtime.observer
        if quarantine is not None:
            cell.key_state = "quarantined"
            refusal = partial(self._refuse_quarantined, cell)
            cell.mailbox.close(refusal)
            cell.mailbox.refuse_waiting(refusal)
            self._dormant[cell] = None
            self.runtime.notify(observer.quarantined, cell.path, quarantine)
        elif cell.mailbox.in_use and self._nursery is not None and self._ending is None:
            cell.key_state = "backing off"
            delay = self.spec.backoff.delay(record.recent - 1, self.runtime.random)
            self.runtime.notify(observer.restarting, cell.path, delay)
            self._nursery.start_soon(self._back_off, cell, delay, name=f"{self.path} backoff")
        else:
            self._sleep(cell)

    def _refuse_quarantined(self, cell: VirtualActorCell) -> errors.ActorQuarantined:
        record = cell.record
        until = record.until if record is not None and record.until is not None else 0.0
        left = max(until - trio.current_time(), 0.0)
        return errors.ActorQuarantined(
            f"{cell.path} crashed too often and is quarantined for another {left:.3g} s;"
            " the message was not executed",
            left,
        )

    async def _back_off(self, cell: VirtualActorCell, delay: float) -> None:
        await trio.sleep(delay)
        if cell.key_state != "backing off" or self._refusal is not None:
            return
        if cell.mailbox.in_use:
            self._enqueue(cell)
        else:
            self._sleep(cell)

    # Under supervision

    def open(self) -> None:
        """Accept messages."""
        self._refusal = None
        self.restarts_with(None)

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run actors and passivate idle ones, until drained or retired."""
        self._ending = None
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for cell in list(self._cells.values()):
                if cell.key_state == "backing off":  # its backoff ended with the last incarnation
                    cell.key_state = "asleep"
                if cell.key_state == "asleep" and cell.mailbox.in_use:
                    self._enqueue(cell)
            self._serve_queue()
            ready()
            try:
                await self._passivate_idle()
            finally:
                self._nursery = None
            nursery.cancel_scope.cancel(reason=f"{self.path} ended")

    async def _passivate_idle(self) -> None:
        """Passivate idle actors and drop sleeping keys, until the directory has ended."""
        while not self._ended():
            now = trio.current_time()
            while (cell := self._limit.passivate_idle(self.spec.idle_timeout, now)) is not None:
                self._passivate(cell)
            self._forget(now)
            self._changed = trio.Event()
            deadline = self._next_deadline(now)
            self._dozing = deadline == math.inf
            with trio.move_on_at(deadline):
                await self._changed.wait()

    def _next_deadline(self, now: float) -> float:
        if not self._cells:
            return math.inf
        since = self._limit.idle_since
        return (now if since is None else since) + self.spec.idle_timeout

    def _forget(self, now: float) -> None:
        if now < self._forget_at or self._refusal is not None:
            return
        self._forget_at = now + self.spec.idle_timeout
        rule = self.spec.quarantine
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
        if self._ending is None or self._limit.active:
            return False
        return self._ending == "retire" or not self._limit.queued

    def drain(self) -> None:
        """Refuse new messages; handle those that wait, also of queued keys, then end."""
        self._ending = "drain"
        self.reason = "drained"
        self._refusal = errors.stopped(self, "is stopping")
        for cell in self._cells.values():
            if cell.key_state in ("awake", "leaving", "queued"):
                cell.drain()
            else:
                cell.close(self._refusal)
        self._serve_queue()
        self._changed.set()

    def retire(self) -> None:
        """Passivate every actor; waiting messages are kept for the next incarnation."""
        if self._ending is None:
            self._ending = "retire"
            self.reason = "restarted"
        for cell in self._limit.staying():
            self._limit.leave(cell)
            self._passivate(cell)
        self._changed.set()

    def restarts_with(self, group: Group | None) -> None:
        """Record which group is being restarted together, or that the restart is over."""
        self._group = group
        for cell in self._cells.values():
            cell.restarts_with(group)

    def close(self, refusal: Callable[[], errors.NotExecuted] | None = None) -> None:
        """Refuse all waiting messages and drop every key."""
        self._refusal = refusal or errors.stopped(self)
        for cell in self._cells.values():
            cell.close(self._refusal)
        self._cells.clear()
        self._dormant.clear()
        self._limit = ActivationLimit(self.spec.max_awake, _in_use)
        super().close(refusal)

    def node(self, state: str) -> TreeNode:
        """Return a snapshot with the keys in trouble and those with the longest queues."""
        statistics = self.statistics()
        shown = sorted(
            (c for c in self._cells.values() if c.key_state in _IN_TROUBLE or c.mailbox.depth),
            key=lambda cell: (cell.key_state not in _IN_TROUBLE, -cell.mailbox.depth),
        )
        return TreeNode(
            name=self.name,
            kind="directory",
            state=state,
            restarts=self.restarts,
            wait=self.actor_statistics.wait.snapshot(),
            handling=self.actor_statistics.handling.snapshot(),
            details=asdict(statistics) | {"refused": self.actor_statistics.refused},
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


def _in_use(cell: VirtualActorCell) -> bool:
    """Return whether an idle actor has given answers since the last call."""
    used, cell.answered = cell.answered, False
    return used


K = TypeVar("K", bound=Hashable)
M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)
Result = TypeVar("Result")
Default = TypeVar("Default")


class KeyRef(ActorRef[M_contra]):
    """A reference to the actor of one key; each message activates it if need be."""

    __slots__ = ("_directory", "_key")

    def __init__(self, directory: DirectoryChild, key: Hashable) -> None:
        """Refer to ``key`` without activating it."""
        self._directory = directory
        self._key = key

    @property
    def path(self) -> str:
        """The actor's path in the tree."""
        return f"{self._directory.path}/{self._key}"

    def resolve(self, message: object) -> Cell:
        """Return the key's cell, and activate it if it is asleep; see `ActorRef.resolve`."""
        return self._directory.activate(self._key, message)

    def watchers(self) -> Watchers:
        """Return the watchers of this key's ends."""
        return self._directory.cell(self._key).watchers


class Directory(Generic[K, M_contra]):
    """Virtual actors of one kind, by key; created by ``supervisor.add(DirectorySpec(...))``."""

    def __init__(self, child: DirectoryChild) -> None:
        """Refer to the directory under supervision; `Branch` creates it."""
        self._child = child

    def __str__(self) -> str:
        """Return the path."""
        return self._child.path

    @property
    def path(self) -> str:
        """The directory's path in the tree."""
        return self._child.path

    def ref(self, key: K) -> ActorRef[M_contra]:
        """Return a reference to the actor of ``key`` without activating it."""
        return KeyRef(self._child, key)

    # Not an async function: that saves every ask one coroutine.
    def ask(
        self: Directory[K, M],
        key: K,
        message: MessageFor[M, Result],
        *,
        timeout: float = math.inf,
        admission: float | None = None,
    ) -> Coroutine[Any, Any, Result]:
        """Ask the actor of ``key``; see `ActorRef.ask`.

        ``timeout`` includes the time until the actor is activated.

        Raises:
            ActorQuarantined: the key crashed too often; the message was not executed.
        """
        ref: KeyRef[M] = KeyRef(self._child, key)
        return ref.ask(message, timeout=timeout, admission=admission)

    def answer(
        self: Directory[K, M], key: K, message: MessageFor[M, Result], default: Default
    ) -> Result | Default:
        """Return the answer that the actor of ``key`` has at once, or ``default``.

        An actor that is awake and waits for messages answers if its `Actor.answer` does. In every
        other state this is ``default``, also for a stopped key and one in quarantine, where `ask`
        raises. Activates and sends nothing. What `Actor.answer` raises propagates.
        """
        answer: Result | Default = self._child.answer(key, message, default)
        return answer

    async def tell(
        self: Directory[K, M],
        key: K,
        message: MessageFor[M, None],
        *,
        admission: float | None = None,
    ) -> None:
        """Tell the actor of ``key``; see `ActorRef.tell`."""
        ref: KeyRef[M] = KeyRef(self._child, key)
        await ref.tell(message, admission=admission)

    def tell_nowait(self: Directory[K, M], key: K, message: MessageFor[M, None]) -> None:
        """Do the same as `tell` without waiting: a full mailbox raises `MailboxFull`."""
        self.ref(key).tell_nowait(message)

    def statistics(self) -> DirectoryStatistics:
        """Return counts for operators; takes time linear in the number of tracked keys."""
        return self._child.statistics()

"""The supervision loop: start in order, restart what crashes, stop in reverse.

A supervisor is a loop over the ends of its children. Everything that takes time (a backoff, a
start, the stop of a sibling) happens in a separate task, so the loop handles every crash
immediately. If a child crashes while a restart is in progress, that restart is abandoned and a
wider one begins. The rules themselves are pure functions in `restart`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import trio

from greenroom import errors
from greenroom.child import Child, ChildRules, Incarnation, WatchedChild
from greenroom.restart import RestartWindow, affected, is_restarted
from greenroom.runtime import Runtime
from greenroom.specs import SupervisorSpec
from greenroom.tree import TreeNode
from greenroom.waiting import Group


class Supervision(WatchedChild):
    """A supervisor, itself under supervision; callers hold a `Branch`.

    Attributes:
        runtime: what the whole tree shares.
    """

    def __init__(self, spec: SupervisorSpec, parent: str | None, runtime: Runtime) -> None:
        """Create a supervisor without children; nothing runs yet."""
        super().__init__(spec.name, parent, ChildRules.of(spec))
        self.drains_while_starting = True
        self._spec = spec
        self.runtime = runtime
        self._children: list[Child] = []
        self._incarnations: dict[Child, Incarnation] = {}
        self._nursery: trio.Nursery | None = None
        self._stopping = False
        self._reset()

    def _reset(self) -> None:
        self._window = RestartWindow(self._spec.intensity)
        self._events, self._next_event = trio.open_memory_channel[Incarnation | bool](math.inf)
        self._pending: list[Child] = []  # what the current restart still has to start
        self._restart_scope: trio.CancelScope | None = None
        self._restart_at = 0.0
        self._draining = False
        self._backoffs: dict[Child, trio.CancelScope] = {}

    # Children

    @property
    def is_running(self) -> bool:
        """Whether `run_once` is in progress, even if it is stopping."""
        return self._nursery is not None

    @property
    def is_stopping(self) -> bool:
        """Whether it starts no more children."""
        return self._stopping

    def adopt(self, child: Child) -> None:
        """Add a child, which starts after those added before.

        Raises:
            ValueError: another child has this name.
        """
        if any(other.name == child.name for other in self._children):
            raise ValueError(f"{self.path} already has a child named {child.name!r}")
        self._children.append(child)

    def require_running(self, name: str) -> None:
        """Raise ActorStopped unless a child called ``name`` could be started now."""
        if self._nursery is None or self._stopping:
            raise errors.ActorStopped(f"{self.path} is not running; {name!r} was not started")

    async def start(self, child: Child) -> None:
        """Start an added child and wait until it is ready; see `Branch.start_child`."""
        incarnation = self._launch(child)
        incarnation.starter_waits = True
        try:
            await incarnation.settled.wait()
        finally:
            incarnation.starter_waits = False
        if incarnation.ready_at is None:
            raise incarnation.error or errors.ActorStopped(
                f"{child.path} ended before it was ready"
            )

    async def stop_one(self, child: Child) -> None:
        """Stop and remove a child; see `Branch.stop_child`."""
        backoff = self._backoffs.get(child)
        if backoff is not None:
            backoff.cancel(reason=f"{child.path} is stopped")
        incarnation = self._incarnations.get(child)
        if incarnation is None:
            self._forget(child)
            return
        incarnation.leaving = True
        try:
            await incarnation.stop(keep_waiting=False, reason=f"{child.path} is stopped")
        finally:
            incarnation.cancel(f"{child.path} is stopped")

    def child(self, name: str) -> Child:
        """Return the child with this name.

        Raises:
            KeyError: there is none.
        """
        for child in self._children:
            if child.name == name:
                return child
        names = ", ".join(child.name for child in self._children) or "none"
        raise KeyError(f"{self.path} has no child {name!r}; its children: {names}")

    def _forget(self, child: Child) -> None:
        if child in self._children:
            self._children.remove(child)
            child.close()

    # The loop

    async def run_once(self, ready: Callable[[], None]) -> None:
        """Run all children until stopped.

        Raises:
            RestartIntensityExceeded: there were too many restarts.
            InvalidActor: a child's factory returned no usable actor.
        """
        self._stopping = False
        self.reason, self.error = "cancelled", None
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                self._begin(list(self._children), 0.0, ready)
                self.error = await self._govern(ready)
                nursery.cancel_scope.cancel(reason=f"{self.path} ended")
            finally:
                self._stopping = True
                self._restart_scope = None  # its task may have been woken; it must start nothing
                self._nursery = None
        if self.error is not None:
            self.reason = "crashed"
            raise self.error

    async def _govern(self, ready: Callable[[], None]) -> errors.ActorError | None:
        """Handle the ends of children until stopped; return the reason for giving up, if any."""
        async for event in self._next_event:
            if isinstance(event, bool):
                self.reason = "restarted" if event else "drained"
                await self._stop_children(keep_waiting=event, reason=f"{self.path} stops")
                return None
            failure = self._child_ended(event, ready)
            if failure is not None:
                self.runtime.notify(self.runtime.observer.escalated, self.path, failure)
                await self._stop_children(keep_waiting=True, reason=f"{self.path} gave up")
                return failure
        raise AssertionError("unreachable: the channel of events is never closed")

    def _child_ended(
        self, incarnation: Incarnation, ready: Callable[[], None]
    ) -> errors.ActorError | None:
        child, error = incarnation.child, incarnation.error
        if child not in self._children:  # stopped by name meanwhile
            if self._restart_scope is not None:  # which may have waited for it
                self._begin(self._pending_but(child), self._restart_at - trio.current_time(), ready)
            return None
        if incarnation.stopping or child in self._incarnations:
            return None  # it was asked to, or a sibling's restart has restarted it meanwhile
        if not is_restarted(child.rules.restart, crashed=error is not None):
            self._forget(child)
            if self._restart_scope is not None:
                self._begin(self._pending_but(child), self._restart_at - trio.current_time(), ready)
            return None
        if isinstance(error, errors.InvalidActor):
            return error  # a restart could only fail in the same way
        now = trio.current_time()
        ready_at = incarnation.ready_at
        if ready_at is not None and now - ready_at >= child.rules.backoff.reset_after:
            child.attempts = 0
        if self._window.exceeded_by(now):
            intensity = self._spec.intensity
            exceeded = errors.RestartIntensityExceeded(
                f"{self.path} gave up: {child.path} ended ({error!r}), and more than"
                f" {intensity.restarts} restarts within {intensity.period:g} s are not allowed"
            )
            exceeded.__cause__ = error
            return exceeded
        delay = child.rules.backoff.delay(child.attempts, self.runtime.random)
        child.attempts += 1
        child.down()
        self.runtime.notify(self.runtime.observer.restarting, child.path, delay)
        if self._spec.strategy == "one_for_one" and self._restart_scope is None:
            self._spawn(self._revive, child, delay)
        else:
            group = affected(self._spec.strategy, self._children, child, self._pending)
            self._begin(group, delay, ready)
        return None

    def _begin(self, children: Sequence[Child], delay: float, ready: Callable[[], None]) -> None:
        """Begin to restart ``children`` together, instead of a restart in progress."""
        now = trio.current_time()
        if self._restart_scope is not None:
            self._restart_scope.cancel(reason="superseded by another restart")
            delay = max(delay, self._restart_at - now)
        delay = max(delay, 0.0)
        self._restart_at = now + delay
        self._pending = list(children)
        scope = self._restart_scope = trio.CancelScope()
        self._spawn(self._restart, scope, delay, ready)

    def _pending_but(self, child: Child) -> list[Child]:
        return [other for other in self._pending if other is not child]

    def _spawn(self, function: Callable[..., Any], *args: object) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(function, *args, name=f"{self.path} restart")

    async def _restart(
        self, scope: trio.CancelScope, delay: float, ready: Callable[[], None]
    ) -> None:
        # A superseded restart must do nothing more, and cancelling it is not enough: a task that
        # was woken before continues to its next checkpoint. So every step first checks that this
        # restart is still the current one.
        with scope:
            if self._spec.strategy != "one_for_one":
                children = self._pending.copy()
                group = Group(child.path for child in children)
                for child in children:
                    if child.launches and child not in self._incarnations:
                        child.restarts_with(group)
                for child in reversed(children):
                    if self._restart_scope is not scope:
                        return
                    await self._retire(child, group)
            await trio.sleep(delay)
            while self._pending and self._restart_scope is scope:
                child = self._pending[0]
                if child in self._children:
                    if self._lacks_one_before(child):
                        return  # the loop is about to handle that one's end, and restarts it
                    incarnation = self._incarnations.get(child) or self._launch(child)
                    await incarnation.settled.wait()
                    superseded = self._restart_scope is not scope
                    if superseded or (incarnation.ready_at is None and child in self._children):
                        return  # the loop is about to handle its end, and restarts it
                self._pending.pop(0)
            if self._restart_scope is scope:
                self._restart_scope = None
                ready()

    def _lacks_one_before(self, child: Child) -> bool:
        if self._spec.strategy == "one_for_one":
            return False
        before = self._children[: self._children.index(child)]
        return any(other not in self._incarnations for other in before)

    async def _retire(self, child: Child, group: Group) -> None:
        incarnation = self._incarnations.get(child)
        if incarnation is not None:
            await incarnation.stop(
                keep_waiting=True, reason=f"{child.path} restarts with a sibling"
            )
            if child.rules.restart == "temporary":
                self._forget(child)
            else:
                child.down()
                child.restarts_with(group)

    async def _revive(self, child: Child, delay: float) -> None:
        with trio.CancelScope() as scope:
            self._backoffs[child] = scope
            await trio.sleep(delay)
            if child in self._children and not self._stopping:
                self._launch(child)
        self._backoffs.pop(child, None)

    def _launch(self, child: Child) -> Incarnation:
        if self._nursery is None:
            raise AssertionError("unreachable: only a running supervisor launches")
        incarnation = self._incarnations[child] = Incarnation(child)
        child.launches += 1
        child.open()
        self._nursery.start_soon(incarnation.run, self._on_ready, self._on_end, name=child.path)
        return incarnation

    def _on_ready(self, incarnation: Incarnation) -> None:
        self.runtime.notify(self.runtime.observer.started, incarnation.child.path)

    def _on_end(self, incarnation: Incarnation) -> None:
        child = incarnation.child
        self._incarnations.pop(child, None)
        observer = self.runtime.observer
        if incarnation.error is not None:
            self.runtime.notify(observer.crashed, child.path, incarnation.error)
        else:
            reason = "stopped" if incarnation.stopping else "finished"
            self.runtime.notify(observer.ended, child.path, reason)
        failed_start = incarnation.starter_waits and incarnation.ready_at is None
        if incarnation.leaving or failed_start:
            self._forget(child)
        else:
            if self._draining:
                child.close()
            self._events.send_nowait(incarnation)

    async def _stop_children(self, *, keep_waiting: bool, reason: str) -> None:
        self._stopping = True
        for scope in (self._restart_scope, *self._backoffs.values()):
            if scope is not None:
                scope.cancel(reason=reason)
        self._restart_scope = None
        self._draining = not keep_waiting
        if self._draining:  # these are not started again: refuse what waits for them now
            for child in self._children:
                if child not in self._incarnations:
                    child.close()
        for child in reversed(self._children.copy()):
            incarnation = self._incarnations.get(child)
            if incarnation is not None:
                await incarnation.stop(keep_waiting=keep_waiting, reason=reason)
            if not keep_waiting:
                child.close()

    # Under the supervision of another supervisor

    def open(self) -> None:
        """Reset the state of the last incarnation; stop requests count from now on."""
        self._reset()

    def drain(self) -> None:
        """Stop the children in reverse order; waiting messages are handled."""
        self._events.send_nowait(False)

    def retire(self) -> None:
        """Stop the children in reverse order; waiting messages are kept."""
        self._events.send_nowait(True)

    def restarts_with(self, group: Group) -> None:
        """Refuse what the group waits for, in the whole subtree."""
        for child in self._children:
            child.restarts_with(group)

    def close(self, refusal: Callable[[], errors.NotExecuted] | None = None) -> None:
        """Refuse all waiting messages of the subtree."""
        for child in reversed(self._children):
            child.close(refusal)
        super().close(refusal)

    def node(self, state: str) -> TreeNode:
        """Return a snapshot of the subtree."""
        return TreeNode(
            name=self.name,
            kind="supervisor",
            state=state,
            restarts=self.restarts,
            children=tuple(child.node(self._state(child)) for child in self._children),
        )

    def _state(self, child: Child) -> str:
        incarnation = self._incarnations.get(child)
        if incarnation is not None:
            return incarnation.state
        if child in self._backoffs or (child in self._pending and child.launches):
            return "restarting"
        return "stopped" if child.launches else "not started"

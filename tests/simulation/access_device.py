"""A device that listens to workspaces, and everything that it was sent."""

import json
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import trio
from antechamber.websocket import ConnectionGone, Frame
from greenroom.testing import note
from octavo_rules.identity import WorkspaceId

SLOW = (0.0, 0.0, 0.1, 0.3)
"""Seconds that a socket may take for a message."""


class Event(NamedTuple):
    """What was sent over a stream: by the device, or by the service.

    Attributes:
        position: of a workspace; None where there is none.
        reason: of the end of a subscription.
    """

    at: float
    kind: str
    workspace_id: WorkspaceId
    position: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        at = "" if self.position is None else f" at {self.position}"
        return f"sent {self.kind} {self.workspace_id}{at} {self.reason}".rstrip()


@dataclass(slots=True)
class Stream:
    """One stream of notices.

    Attributes:
        account_id: whose it is.
        credential_id: the session or the key that it was opened with, which
        expires_at: expires at this time.
        place: the name of its process.
        began: when the device asked for it.
        events: what was sent, in order.
        opened: whether the service accepted it.
        entered: when it was known to listen.
        ended: when it ended, and
        code: how: the code of the service, 0 when the device or the process left.
        failed: when a check of its access could not read the store.
    """

    account_id: str
    credential_id: str
    expires_at: float
    place: str
    began: float
    events: list[Event] = field(default_factory=list)
    opened: bool = False
    entered: float = float("inf")
    ended: float = float("inf")
    code: int | None = None
    failed: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What reports call it."""
        place = f"at {self.place} from {self.began:.2f} with {self.credential_id}"
        return f"stream of {self.account_id[-2:]} {place}"

    def add(self, event: Event) -> None:
        """Note what was sent."""
        self.events.append(event)
        note(event, self.name)

    def end(self, code: int) -> None:
        """Note the end, unless it has ended."""
        if self.code is None:
            self.code, self.ended = code, trio.current_time()
            note(f"the stream ends with {code}", self.name)


class DeviceSocket:
    """The WebSocket of a device, as the service uses it."""

    def __init__(self, stream: Stream, random: Random) -> None:
        self._stream = stream
        self._random = random
        self._slow = random.choice([0.0, 0.3])
        self._sending = trio.Lock()
        self._inbox: deque[str] = deque()
        self._some = trio.Event()
        self._woken = False
        self._left = False

    # The device.

    def say(self, kind: str, workspace_id: WorkspaceId) -> None:
        """Send a message to the service."""
        self._stream.add(Event(trio.current_time(), kind, workspace_id))
        self._inbox.append(json.dumps({"type": kind, "workspaceId": workspace_id}))
        self._some.set()

    def last_said(self, workspace_id: WorkspaceId) -> str:
        """Return the kind of the last message about a workspace; empty without one."""
        said = [each.kind for each in self._stream.events if each.workspace_id == workspace_id]
        return said[-1] if said else ""

    def leave(self) -> None:
        """Disconnect."""
        self._left = True
        self._stream.end(0)
        self._some.set()

    # The service.

    async def receive_or_wake(self, patience: float) -> str | None:
        """Return the next message; None after `wake`, or ``patience`` seconds without one."""
        with trio.move_on_after(patience):
            while not (self._inbox or self._woken or self._ended):
                self._some = trio.Event()
                await self._some.wait()
        if self._ended:
            raise ConnectionGone(1006, "")
        await trio.lowlevel.checkpoint()
        if self._woken:
            self._woken = False
            return None
        return self._inbox.popleft() if self._inbox else None

    def wake(self) -> None:
        """Let the service look for what is due."""
        self._woken = True
        self._some.set()

    async def send_frame(self, frame: Frame) -> None:
        """Send a frame, as soon as the device takes it."""
        async with self._sending:
            if self._random.random() < self._slow:
                await trio.sleep(self._random.choice(SLOW))
            if self._ended:
                raise ConnectionGone(1006, "")
            self._take(frame)

    def offer_frame(self, frame: Frame) -> bool:
        """Send a frame if the device takes it now."""
        busy = self._sending.locked() or self._random.random() < self._slow
        if busy or self._ended:
            return False
        self._take(frame)
        return True

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the stream."""
        self._stream.end(code)
        self._some.set()
        await trio.lowlevel.checkpoint()

    @property
    def _ended(self) -> bool:
        return self._left or self._stream.code is not None

    def _take(self, frame: Frame) -> None:
        message = json.loads(frame[frame.index(b"{") :])
        if message["type"] == "hello":
            self._stream.entered = trio.current_time()
            note("the stream begins", self._stream.name)
        else:
            self._stream.add(
                Event(
                    trio.current_time(),
                    message["type"],
                    WorkspaceId(message["workspaceId"]),
                    message.get("position"),
                    message.get("reason", ""),
                )
            )

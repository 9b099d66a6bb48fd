"""Notifications between processes: PostgreSQL's LISTEN and NOTIFY."""

import enum
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import trio

from octavo.store.errors import StoreUnavailable
from octavo.store.postgres.bridge import Bridge, ungrouped
from octavo.store.postgres.connection import FAILURES, PooledConnection, connect
from octavo.store.postgres.requirements import opening_failure

MAX_WAITING = 10_000
# Detects a connection whose server has vanished.
PING_EVERY = 20.0
PING_SECONDS = 10.0
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0


class Gap(enum.Enum):
    """A mark in place of messages that may have been missed: read the database again."""

    GAP = "gap"


class Messages(AsyncIterator[str | Gap]):
    """Received messages, in order; for one task to iterate over.

    When too many are waiting, a gap replaces them.
    """

    def __init__(self) -> None:
        self._waiting: deque[str | Gap] = deque()
        self._some = trio.Event()

    def put(self, message: str | Gap) -> None:
        """Add a message."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.clear()
            message = Gap.GAP
        self._waiting.append(message)
        self._some.set()

    async def __anext__(self) -> str | Gap:
        while not self._waiting:
            self._some = trio.Event()
            await self._some.wait()
        await trio.lowlevel.checkpoint()
        return self._waiting.popleft()


@asynccontextmanager
async def listening(
    bridge: Bridge, url: str, channel: str, random: Callable[[], float]
) -> AsyncIterator[Messages]:
    """Listen on ``channel`` within the block, on a separate connection.

    Returns the payloads of notifications by transactions that committed after the block began. A
    lost connection is opened again, however long that takes; `Gap.GAP` comes first then.

    Raises:
        StoreUnavailable: the server can't be reached at the beginning.
    """
    messages = Messages()
    with ungrouped():
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(_listen, bridge, url, channel, random, messages))
            yield messages
            nursery.cancel_scope.cancel("the listener has left")


async def _listen(
    bridge: Bridge,
    url: str,
    channel: str,
    random: Callable[[], float],
    messages: Messages,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    listener = _Listener(url, channel, messages)
    await bridge.run(listener.open())
    task_status.started()
    pause = FIRST_PAUSE
    try:
        while True:
            await listener.lost(bridge)
            while True:
                try:
                    await bridge.run(listener.open())
                except StoreUnavailable:
                    await trio.sleep(pause * (0.5 + random()))
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    break
            messages.put(Gap.GAP)
            pause = FIRST_PAUSE
    finally:
        listener.close()


class _Listener:
    """The connection that listens, which is replaced when it is lost."""

    def __init__(self, url: str, channel: str, messages: Messages) -> None:
        self._url = url
        self._channel = channel
        self._messages = messages
        self._connection: PooledConnection | None = None
        self._gone = trio.Event()

    async def open(self) -> None:
        """Connect and listen; in asyncio. Raise `StoreError`."""
        connection = None
        try:
            connection = await connect(self._url)
            self._gone = gone = trio.Event()
            connection.add_termination_listener(lambda _: gone.set())
            await connection.add_listener(self._channel, self._received)
        except FAILURES as error:
            if connection is not None:
                connection.terminate()
            raise opening_failure(error, self._url) from error
        self._connection = connection

    def _received(self, _connection: object, _process: int, _channel: str, payload: str) -> None:
        self._messages.put(payload)

    async def lost(self, bridge: Bridge) -> None:
        """Wait until the connection is lost."""
        while not self._gone.is_set():
            with trio.move_on_after(PING_EVERY):
                await self._gone.wait()
                return
            with trio.move_on_after(PING_SECONDS) as ping:
                await bridge.run(self._ping())
            if ping.cancelled_caught:
                self.close()
                return

    async def _ping(self) -> None:
        if self._connection is not None:
            try:
                await self._connection.execute("SELECT 1")
            except FAILURES:
                self.close()

    def close(self) -> None:
        """Terminate the connection."""
        if self._connection is not None:
            self._connection.terminate()
            self._gone.set()

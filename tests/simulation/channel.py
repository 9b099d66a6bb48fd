"""LISTEN and NOTIFY of PostgreSQL between the processes of a run, for the listener of the product.

As on PostgreSQL: a connection receives the notifications of each transaction that commits after its
LISTEN, those of one transaction together and equal ones once, transactions in the order of their
commits, and those of its own process, too. What was sent while it was lost is never delivered. One
may also vanish: then nothing tells its process, which has to find out.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeVar, cast

import trio

from octavo.store import Script, Store
from octavo.store.postgres.bridge import Bridge
from octavo.store.postgres.connection import Notified
from octavo.store.postgres.listening import Messages, listening
from octavo.store.transaction import T

DELAYS = (0.0, 0.0, 0.05, 0.4)
"""Seconds that a transaction may take to its listeners."""
R = TypeVar("R")


class Channel:
    """The notifications of a server.

    Attributes:
        refusing: how many of the next connections are refused.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._connections: dict[ChannelConnection, None] = {}
        self._stores: dict[str, ListeningStore] = {}
        self.refusing = 0

    def publish(self, payloads: Iterable[str]) -> None:
        """Send the notifications of a transaction that was committed at this moment."""
        sent = [*dict.fromkeys(payloads)]
        if sent:
            at = trio.current_time() + self._random.choice(DELAYS)
            for connection in self._connections:
                connection.receive(at, sent)

    async def connect(self, url: str) -> "ChannelConnection":
        """Open a connection, in place of the function of the product. Raises OSError."""
        await trio.sleep(0.01)
        if self.refusing:
            self.refusing -= 1
            raise ConnectionRefusedError("the server starts")
        return ChannelConnection(self, self._stores[url])

    def join(self, store: "ListeningStore") -> str:
        """Return the address at which a store connects."""
        url = f"postgresql://server/{len(self._stores)}"
        self._stores[url] = store
        return url

    def disturb(self) -> str:
        """Lose a connection or all of them, or let one vanish; return what happened."""
        connections = [*self._connections]
        if not connections:
            return "nothing listens"
        self.refusing = self._random.choice([0, 1, 4, 5])
        what = self._random.choice(["connection lost", "connection vanished", "server restarted"])
        if what == "server restarted":
            for each in connections:
                each.terminate()
        else:
            connection = self._random.choice(connections)
            connection.vanish() if what == "connection vanished" else connection.terminate()
        return what

    def enter(self, connection: "ChannelConnection") -> None:
        """Deliver what is sent from now on."""
        self._connections[connection] = None

    def leave(self, connection: "ChannelConnection") -> None:
        """Deliver nothing any more."""
        self._connections.pop(connection, None)


class ChannelConnection:
    """The used part of a connection of asyncpg that listens."""

    def __init__(self, channel: Channel, store: "ListeningStore") -> None:
        self._channel = channel
        self._store = store
        self._queue: deque[tuple[float, list[str]]] = deque()
        self._some = trio.Event()
        self._ended: list[Callable[[object], None]] = []
        self._closed = False
        self._silent = trio.Event()
        self._notified: Notified | None = None

    def add_termination_listener(self, ended: Callable[[object], None]) -> None:
        """Call ``ended`` at the end."""
        self._ended.append(ended)

    async def add_listener(self, channel: str, notified: Notified) -> None:
        """LISTEN."""
        await trio.sleep(0.01)
        self._notified = notified
        self._channel.enter(self)
        self._store.opened()
        self._store.start(self._deliver)

    async def execute(self, sql: str) -> str:
        """Answer, unless it has vanished."""
        await trio.lowlevel.checkpoint()
        if self._silent.is_set():
            await trio.sleep_forever()
        if self._closed:
            raise ConnectionResetError("the connection was lost")
        return "SELECT 1"

    def receive(self, at: float, payloads: list[str]) -> None:
        """Deliver ``payloads`` at a time, or after those before."""
        self._queue.append((at, payloads))
        self._some.set()

    def vanish(self) -> None:
        """Deliver nothing any more, without telling anybody."""
        self._silent.set()
        self._channel.leave(self)
        self._queue.clear()
        self._store.closed()

    def terminate(self) -> None:
        """End, and tell the process."""
        if not self._closed:
            self._closed = True
            self.vanish()
            for ended in self._ended:
                ended(self)

    async def _deliver(self) -> None:
        while not self._silent.is_set():
            await self._some.wait()
            self._some = trio.Event()
            while self._queue:
                at, payloads = self._queue.popleft()
                await trio.sleep_until(at)
                for payload in payloads:
                    if self._notified is not None and not self._silent.is_set():
                        self._notified(self, 1, "", payload)


class ListeningStore:
    """What the relay of a process uses of the store of PostgreSQL.

    Attributes:
        up: the times between which a connection of it listened; the last may be open.
        gaps: when a connection that was lost had been replaced.
        failed: when it could not read.
    """

    def __init__(self, channel: Channel, store: Store, random: Random) -> None:
        self._url = channel.join(self)
        self._store = store
        self._random = random
        self._nursery: trio.Nursery | None = None
        self._listened = False
        self.up: list[tuple[float, float]] = []
        self.gaps: list[float] = []
        self.failed: list[float] = []

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[Messages]:
        """See `PostgresStore`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._listened = False
            inline = cast(Bridge, _InlineBridge())
            random = self._random.random
            async with listening(inline, self._url, channel, random) as messages:
                yield messages
            nursery.cancel_scope.cancel(reason="the listener has left")

    async def read(self, script: Script[T]) -> T:
        """See `Store`."""
        try:
            return await self._store.read(script)
        except Exception:
            self.failed.append(trio.current_time())
            raise

    @property
    def is_open(self) -> bool:
        """Whether a connection listens now."""
        return bool(self.up) and self.up[-1][1] == float("inf")

    def opened(self) -> None:
        """Note that a connection listens; after the first one, something may have been missed."""
        if self._listened:
            self.gaps.append(trio.current_time())
        self._listened = True
        self.up.append((trio.current_time(), float("inf")))

    def closed(self) -> None:
        """Note that the connection does not listen any more."""
        if self.is_open:
            self.up[-1] = (self.up[-1][0], trio.current_time())

    def start(self, deliver: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Deliver in the background."""
        if self._nursery is not None:
            self._nursery.start_soon(deliver)


class _InlineBridge:
    """Runs the coroutines of the listener in trio: nothing of them belongs to asyncio here."""

    async def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return await coroutine

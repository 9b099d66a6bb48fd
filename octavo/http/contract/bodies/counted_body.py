"""Count the memory of a large body as it arrives, and give it up when there is no room."""

from types import TracebackType
from typing import TypeVar

import trio
from antechamber.asgi import Event, Receive
from octavo_rules.problems import ServerBusy

from octavo.http.contract.bodies.body_kind import BodyKind
from octavo.http.contract.bodies.body_reader import Headers
from octavo.http.contract.memory_budget import COUNTED, MemoryBudget

T = TypeVar("T")


class CountedBody:
    """The memory of one body, held until the block ends.

    Args:
        memory: the budget.
        holder: whose memory it is.

    Attributes:
        hold: the memory.
    """

    def __init__(self, memory: MemoryBudget, holder: str | None) -> None:
        self.hold = memory.reserve_unchecked(holder, 0)
        self._progressed_at = trio.current_time()
        self._progress = self._received = 0

    async def read(self, body: BodyKind[T], headers: Headers, receive: Receive) -> T:
        """Return the body, read from ``receive``; raises as `BodyKind.read`.

        Raises `ServerBusy` when there is no room for a byte, and when the budget takes back what
        has arrived. Cancellation loses the bytes read.
        """

        async def counted() -> Event:
            event = await receive()
            if event["type"] == "http.request":
                self._count(len(event.get("body", b"")))
            return event

        with trio.CancelScope() as reading:
            self.hold.permit_eviction(reading.cancel, lambda: self._progressed_at)
            read = await body.read(headers, counted)
            # From here on it makes progress.
            self.hold.forbid_eviction()
            return read
        raise ServerBusy

    def _count(self, size: int) -> None:
        self._received += size
        self.hold.grow(self._received)
        self._progress += size
        if self._progress >= COUNTED:
            self._progress = 0
            self._progressed_at = trio.current_time()

    def __enter__(self) -> "CountedBody":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.hold.release()

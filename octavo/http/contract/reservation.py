"""The memory that one request uses: reserved before it is used, until its response was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from octavo.http.contract.bodies.counted_body import CountedBody
from octavo.http.contract.memory_budget import COUNTED, Hold, MemoryBudget

if TYPE_CHECKING:
    from antechamber.asgi import Extension, Receive, Scope

    from octavo.http.contract.bodies import BodyKind
    from octavo.http.contract.bodies.body_reader import Headers

T = TypeVar("T")
_MEMBER = "octavo.reservation"


class Reservation:
    """Reserves memory for a request that the fallback serves, and for the operations it calls.

    Args:
        memory: the budget.
        holder: whose memory it is: the client's address.

    Attributes:
        holder: the account, once it is known.
        sending: whether the response is being sent.
    """

    __slots__ = ("_exchange", "_holds", "_memory", "holder", "sending")

    def __init__(
        self, memory: MemoryBudget, holder: str | None, exchange: Extension | None = None
    ) -> None:
        self._memory = memory
        self._exchange = exchange
        self._holds: list[Hold] = []
        self.holder = holder
        self.sending = False

    async def reserve(self, size: int) -> None:
        """Reserve ``size`` more bytes; few are not counted. Raises `ServerBusy` without room.

        Waits for room for a moment, unless it has reserved some already: those that hold memory
        could wait for each other. Cancelling reserves nothing.
        """
        if size < COUNTED:
            return
        if own := self.size:
            self.keep(self._memory.hold(self.holder, size, own=own))
        else:
            self.keep(await self._memory.wait_briefly(self.holder, size))

    async def read(self, body: BodyKind[T], headers: Headers, receive: Receive) -> T:
        """Return a body, whose bytes are reserved as they arrive; raises as `CountedBody.read`."""
        counted = CountedBody(self._memory, self.holder)
        self._holds.append(counted.hold)
        return await counted.read(body, headers, receive)

    def keep(self, hold: Hold) -> None:
        """Hold the memory of an operation that was called until the response was sent."""
        self._holds.append(hold)
        if self.sending:
            self._permit_eviction(hold)

    def send(self) -> None:
        """Let the budget cut the response off from now on, to take its memory back."""
        self.sending = True
        for hold in self._holds:
            self._permit_eviction(hold)

    def release(self) -> None:
        """Release everything. Further calls have no effect."""
        while self._holds:
            self._holds.pop().release()

    def _permit_eviction(self, hold: Hold) -> None:
        if self._exchange is not None and hold.size:
            hold.permit_eviction(self._exchange.abort, self._exchange.progressed_at)

    @property
    def size(self) -> int:
        """The bytes that are reserved."""
        return sum(hold.size for hold in self._holds)


def with_reservation(scope: Scope, reservation: Reservation) -> Scope:
    """Return ``scope`` with the reservation of its request."""
    return {**scope, _MEMBER: reservation}


def reservation_of(scope: Scope) -> Reservation | None:
    """Return the reservation of the request that ``scope`` is part of; None for an operation."""
    found: Reservation | None = scope.get(_MEMBER)
    return found

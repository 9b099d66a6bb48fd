"""Limit the memory of requests and responses, in total and for each holder.

A holder is an account, or the network of a client that has none; accounts at one address are
separate holders. When there is no room, the budget evicts reservations that make no progress, and
those of a holder that would still have more than the new one. So nobody is refused because of
reservations that can be taken back: of bodies that have not arrived, and of responses that have not
been read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio
from antechamber.asgi import Event, Extension, Receive, Scope
from antechamber.network_prefix import network_prefix
from greenroom.fair_queue import FairQueue
from octavo_rules.problems import ServerBusy

from octavo.http.contract.bodies.body import BodyKind, Headers

COUNTED = 64 * 1024
"""Size in bytes from which a request or a response counts. Smaller ones are limited by the number
of connections and streams.
"""
STEP = 4 * 1024 * 1024
"""Bytes that must be available before the next piece of a stream is requested."""
STALLED_SECONDS = 5.0
"""Seconds without progress, by 64 KiB, after which a hold may be evicted for any other."""
ROOM_SECONDS = 2.0
"""Seconds that a request waits for room before it is refused: clients repeat a request that is
refused at once, and would keep the event loop busy.
"""
REFUSAL_SECONDS = 0.01
"""Seconds between the refusals of two requests of one client that wait together."""
TURN_SECONDS = 0.5
"""Seconds for which what becomes free is kept for the first waiter; then others pass it as long.

Otherwise a waiter that needs most of the memory would keep everybody waiting, and then the next
one would.
"""
_LEFT = 8
"""A reservation leaves at most this part of all free, an eighth."""
TOTAL = 160 * 1024 * 1024
PER_CLIENT = 64 * 1024 * 1024


class Hold:
    """A reservation of bytes, as a context manager or until `release`.

    Attributes:
        size: number of bytes.
        evicted: True once the bytes were taken back; the reservation stays empty.
    """

    __slots__ = ("_budget", "_evict", "_network", "evicted", "progressed_at", "size")

    def __init__(self, budget: MemoryBudget, network: str, size: int) -> None:
        self._budget = budget
        self._network = network
        self._evict: Callable[[], None] | None = None
        self.progressed_at: Callable[[], float] = trio.current_time
        self.evicted = False
        self.size = size
        budget._change(network, size)

    def resize(self, size: int) -> None:
        """Change the reservation to ``size`` bytes already in use, even beyond the limit."""
        if self.evicted:
            return
        more, self.size = size - self.size, size
        if more:
            self._budget._change(self._network, more)

    def grow(self, size: int, *, own: int = 0) -> None:
        """Change the reservation to ``size`` bytes. Raises `ServerBusy` without room for more.

        ``own`` is what the same request has reserved in addition.
        """
        more = size - self.size
        budget = self._budget
        room = more <= 0 or budget._make_room(self._network, more, own=self.size + own)
        if self.evicted or not room:
            raise ServerBusy
        self.resize(size)

    def permit_eviction(
        self, evict: Callable[[], None], progressed_at: Callable[[], float]
    ) -> None:
        """Let the budget take the bytes back with ``evict``, which must not wait.

        ``progressed_at`` returns the time of the last progress.
        """
        self._evict, self.progressed_at = evict, progressed_at
        self._budget._evictable.setdefault(self._network, {})[self] = None
        if self.size:
            self._budget.evict_for_waiting()

    def forbid_eviction(self) -> None:
        """Keep the bytes until they are released."""
        if self._evict is not None:
            self._evict = None
            mine = self._budget._evictable[self._network]
            del mine[self]
            if not mine:
                del self._budget._evictable[self._network]

    def release(self) -> None:
        """Release the bytes. Further calls have no effect."""
        self.forbid_eviction()
        if self.size:
            self.resize(0)

    def evict(self) -> None:
        """Take the bytes back."""
        evict = self._evict
        assert evict is not None
        self.release()
        self.evicted = True
        evict()

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class _Waiter:
    __slots__ = ("admitted", "hold", "refused_at", "size")

    def __init__(self, size: int, refused_at: float) -> None:
        self.size = size
        self.refused_at = refused_at
        self.admitted = trio.Event()
        self.hold: Hold | None = None


class MemoryBudget:
    """The memory budget; it keeps no state of clients without a reservation.

    A holder is an account, or the address of a client, which counts as its
    `antechamber.network_prefix`. A holder without a reservation may exceed ``per_holder``,
    and one that is alone may exceed ``total``: every valid request can be served, though not always
    at the same time as others. Beside others, a reservation leaves as many bytes free as it takes,
    up to an eighth of all, so that small ones find room beside large ones.

    Args:
        total: maximum bytes reserved.
        per_holder: maximum bytes reserved by one holder.

    Attributes:
        held: bytes reserved.
    """

    __slots__ = (
        "_by_holder",
        "_evictable",
        "_evicting",
        "_per_holder",
        "_total",
        "_waiting",
        "held",
    )

    def __init__(self, total: int = TOTAL, per_holder: int = PER_CLIENT) -> None:
        self._total = total
        self._per_holder = per_holder
        self._by_holder: dict[str, int] = {}
        self._waiting = FairQueue[_Waiter]()
        self._evictable: dict[str, dict[Hold, None]] = {}
        self._evicting = False
        self.held = 0

    @property
    def most_of_one(self) -> int:
        """The bytes reserved by the holder of the most."""
        return max(self._by_holder.values(), default=0)

    def hold(self, holder: str | None, size: int, *, own: int = 0) -> Hold:
        """Reserve ``size`` bytes for ``holder``. Raises `ServerBusy` without room.

        ``own`` is what the same request has reserved already.
        """
        network = network_prefix(holder)
        # New requests leave room for the waiting ones, which they could starve otherwise.
        spare = STEP if self._waiting else 0
        if not self._make_room(network, size, spare, own):
            raise ServerBusy
        return self._take(network, size)

    def reserve_unchecked(self, holder: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes even without room, for a response that must be sent."""
        return self._take(network_prefix(holder), size)

    def require_room(self, holder: str | None, size: int) -> None:
        """Raise `ServerBusy` unless ``size`` bytes could be reserved now."""
        if self.held and not self._make_room(network_prefix(holder), size):
            raise ServerBusy

    async def wait(self, holder: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes, waiting for room if necessary.

        The caller must hold no reservation, or all callers could wait for each other. The requests
        of one client are served in order, and clients in turn. When cancelled, nothing is reserved.
        """
        network = network_prefix(holder)
        return await self._wait(network, size, self._last_refusal(network))

    async def wait_briefly(self, holder: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes like `wait`. Raises `ServerBusy` after `ROOM_SECONDS`.

        Requests of one client that wait together are refused one after another.
        """
        network = network_prefix(holder)
        refused_at = max(
            trio.current_time() + ROOM_SECONDS, self._last_refusal(network) + REFUSAL_SECONDS
        )
        with trio.CancelScope(deadline=refused_at):
            return await self._wait(network, size, refused_at)
        raise ServerBusy

    def _last_refusal(self, network: str) -> float:
        """Return when the last waiter of ``network`` is refused."""
        last = self._waiting.last(network)
        return 0.0 if last is None else last.refused_at

    async def _wait(self, network: str, size: int, refused_at: float) -> Hold:
        if not self._waiting:
            if self._make_room(network, size):
                return self._take(network, size)
        else:
            # The first waiter would never have room if new requests took what becomes free.
            self.evict_for_waiting()
            spare = self._first_size()
            if network not in self._waiting and self._has_room(network, size, spare):
                return self._take(network, size)
        waiter = _Waiter(size, refused_at)
        self._waiting.add(network, waiter)
        self.evict_for_waiting()
        try:
            while not waiter.admitted.is_set():
                with trio.move_on_at(_next_turn()) as soon:
                    await waiter.admitted.wait()
                if soon.cancelled_caught:
                    # Others may pass now, and what has made no progress may be evicted.
                    self._admit()
                    self.evict_for_waiting()
        except BaseException:
            # It may have been admitted between its cancellation and its next run.
            if waiter.hold is None:
                self._waiting.remove(network, waiter)
                # The next waiter may need less.
                self._admit()
            else:
                waiter.hold.release()
            raise
        assert waiter.hold is not None
        return waiter.hold

    def _has_room(self, network: str, size: int, spare: int = 0, own: int = 0) -> bool:
        return self._may_have(network, size, own) and self._has_room_in_all(size, spare, own)

    def _may_have(self, network: str, size: int, own: int = 0) -> bool:
        """Return whether the limit of one holder admits ``size`` more bytes.

        The only request of a holder may need any number; ``own`` are the bytes that this request
        has already.
        """
        mine = self._by_holder.get(network, 0)
        return mine <= own or mine + size <= self._per_holder

    def _has_room_in_all(self, size: int, spare: int, own: int = 0) -> bool:
        """Return whether ``size`` more bytes fit beside ``spare`` ones for others.

        As many bytes as the request has then must remain free, up to an eighth of all: large
        requests leave room for small ones.
        """
        others = self.held + spare
        return others <= own or others + self._with_room(size + own) - own <= self._total

    def _fits(self, size: int) -> bool:
        """Return whether others may keep memory beside ``size`` bytes."""
        return self._with_room(size) <= self._total

    def _with_room(self, size: int) -> int:
        """Return ``size`` with what a reservation of it leaves free."""
        return size + min(size, self._total // _LEFT)

    def _make_room(self, network: str, size: int, spare: int = 0, own: int = 0) -> bool:
        """Return whether there is room, after evictions if they are needed."""
        if self._has_room(network, size, spare, own):
            return True
        if not self._evictable:
            return False
        now = trio.current_time()
        # Otherwise waiters would take what becomes free.
        self._evicting, made = True, False
        try:
            while not made and (victim := self._victim(network, size, own, now)) is not None:
                victim.evict()
                made = self._has_room(network, size, spare, own)
        finally:
            self._evicting = False
            self._admit(keep=size if made else 0)
        return made

    def _victim(self, network: str, size: int, own: int, now: float) -> Hold | None:
        """Return the hold to evict for ``size`` bytes of ``network``; None without one."""
        mine = self._by_holder.get(network, 0)
        if not self._may_have(network, size, own):
            # What others hold is not in the way.
            stalled = self._evictable.get(network)
            return None if stalled is None else _stalled(stalled, now)
        if not self._evictable:
            return None
        # A holder whose holds have no bytes yet has nothing to give.
        holders = [name for name in self._evictable if name in self._by_holder]
        for name in sorted(holders, key=self._by_holder.__getitem__, reverse=True):
            oldest = min(self._evictable[name], key=lambda hold: hold.progressed_at())
            if name != network and self._by_holder[name] > mine + size:
                return oldest
            if now - oldest.progressed_at() >= STALLED_SECONDS:
                return oldest
        return None

    def _take(self, network: str, size: int) -> Hold:
        return Hold(self, network, size)

    def _change(self, network: str, more: int) -> None:
        self.held += more
        mine = self._by_holder.get(network, 0) + more
        if mine:
            self._by_holder[network] = mine
        else:
            self._by_holder.pop(network, None)
        if more < 0 and self._waiting and not self._evicting:
            self._admit()

    def _admit(self, keep: int = 0) -> None:
        admitted = True
        while admitted:
            admitted = False
            for network, waiter in tuple(self._waiting):
                if self._has_room(network, waiter.size, keep):
                    self._waiting.take(network)
                    waiter.hold = self._take(network, waiter.size)
                    waiter.admitted.set()
                    admitted = True
                elif (
                    self._may_have(network, waiter.size) and self._fits(waiter.size) and _is_kept()
                ):
                    # Its turn remains: otherwise smaller requests would keep it waiting.
                    return

    def evict_for_waiting(self) -> None:
        """Make room for those whose turn it is, as far as holds may be evicted."""
        if self._evicting:
            return
        for network, size in self._whose_turn():
            if network in self._waiting and self._make_room(network, size):
                self._admit()

    def _whose_turn(self) -> list[tuple[str, int]]:
        """Return the waiters that others block, with the bytes that they need.

        Only the first is returned while it keeps its turn. A waiter that is blocked only by its own
        reservations is skipped.
        """
        blocked: list[tuple[str, int]] = []
        for network, waiter in self._waiting:
            size = waiter.size
            if self._may_have(network, size) and (self._fits(size) or len(self._waiting) == 1):
                blocked.append((network, size))
                if _is_kept():
                    break
        return blocked

    def _first_size(self) -> int:
        """Return the bytes that the first blocked waiter needs in its turn; 0 without one."""
        first = self._whose_turn()[:1] if _is_kept() else []
        return first[0][1] if first and self._fits(first[0][1]) else 0


def _is_kept() -> bool:
    """Return whether the first waiter keeps its turn now."""
    return int(trio.current_time() / TURN_SECONDS) % 2 == 0


def _next_turn() -> float:
    """Return when `_is_kept` changes next."""
    return (int(trio.current_time() / TURN_SECONDS) + 1) * TURN_SECONDS


def _stalled(holds: dict[Hold, None], now: float) -> Hold | None:
    oldest = min(holds, key=lambda hold: hold.progressed_at())
    return oldest if now - oldest.progressed_at() >= STALLED_SECONDS else None


T = TypeVar("T")
_MEMBER = "octavo.reservation"


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
        """Return the body, read from ``receive``.

        Raises the same errors as `BodyKind.read`, and `ServerBusy` when there is no room for a
        byte, or the budget takes back what has arrived. Cancellation loses the bytes read.
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

    def __enter__(self) -> CountedBody:
        return self

    def __exit__(self, *_: object) -> None:
        self.hold.release()


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
        """Reserve ``size`` more bytes. Raises `ServerBusy` without room.

        A small size is not counted. Waits for room for a moment, unless it has reserved some
        already: requests that hold memory could wait for each other. When cancelled, nothing is
        reserved.
        """
        if size < COUNTED:
            return
        if own := self.size:
            self.keep(self._memory.hold(self.holder, size, own=own))
        else:
            self.keep(await self._memory.wait_briefly(self.holder, size))

    async def read(self, body: BodyKind[T], headers: Headers, receive: Receive) -> T:
        """Return a body, whose bytes are reserved as they arrive, like `CountedBody.read`."""
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
    reservation: Reservation | None = scope.get(_MEMBER)
    return reservation

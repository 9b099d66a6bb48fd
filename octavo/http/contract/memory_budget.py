"""Limit the memory of requests and responses, in total and per client."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from types import TracebackType

import trio

from octavo.http.contract.problems import ServerBusy
from octavo.http.server.client_network import client_network

COUNTED = 64 * 1024
"""Size in bytes from which a request or a response counts. Smaller ones are limited by the number
of connections and streams.
"""
STEP = 4 * 1024 * 1024
"""Bytes that must be available before the next piece of a stream is requested."""
TOTAL = 256 * 1024 * 1024
PER_CLIENT = 64 * 1024 * 1024


class Hold:
    """A reservation of bytes, as a context manager or until `release`.

    Attributes:
        size: number of bytes.
    """

    __slots__ = ("_change", "size")

    def __init__(self, change: Callable[[int], None], size: int) -> None:
        self._change = change
        self.size = size
        change(size)

    def resize(self, size: int) -> None:
        """Change the reservation to ``size`` bytes already in use, even beyond the limit."""
        more, self.size = size - self.size, size
        self._change(more)

    def release(self) -> None:
        """Release the bytes. Further calls have no effect."""
        if self.size:
            self.resize(0)

    def __enter__(self) -> "Hold":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class _Waiter:
    __slots__ = ("admitted", "hold", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.admitted = trio.Event()
        self.hold: Hold | None = None


class MemoryBudget:
    """The memory budget; it keeps no state of clients without a reservation.

    Clients are grouped by `octavo.http.server.client_network`. A client without a reservation may
    exceed ``per_client``, and one that is alone may exceed ``total``: every valid request can be
    served, though not always at the same time as others.

    Args:
        total: maximum bytes reserved.
        per_client: maximum bytes reserved by one client.

    Attributes:
        held: bytes reserved.
    """

    __slots__ = ("_by_client", "_per_client", "_total", "_waiting", "held")

    def __init__(self, total: int = TOTAL, per_client: int = PER_CLIENT) -> None:
        self._total = total
        self._per_client = per_client
        self._by_client: dict[str, int] = {}
        self._waiting: dict[str, OrderedDict[_Waiter, None]] = {}
        self.held = 0

    def hold(self, client: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes for the address ``client``. Raises `ServerBusy` without room."""
        network = client_network(client)
        # New requests leave room for the waiting ones, which they could starve otherwise.
        spare = STEP if self._waiting else 0
        if not self._has_room(network, size, spare):
            raise ServerBusy
        return self._take(network, size)

    def count(self, client: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes even without room, for a response that must be sent."""
        return self._take(client_network(client), size)

    def require_room(self, client: str | None, size: int) -> None:
        """Raise `ServerBusy` unless ``size`` bytes could be reserved now."""
        if self.held and not self._has_room(client_network(client), size):
            raise ServerBusy

    async def wait(self, client: str | None, size: int) -> Hold:
        """Reserve ``size`` bytes, waiting for room if necessary.

        The caller must hold no reservation, or all callers could wait for each other. The requests
        of one client are served in order, and clients in turn. When cancelled, nothing is reserved.
        """
        network = client_network(client)
        if network not in self._waiting and self._has_room(network, size):
            return self._take(network, size)
        waiter = _Waiter(size)
        self._waiting.setdefault(network, OrderedDict())[waiter] = None
        try:
            await waiter.admitted.wait()
        except BaseException:
            # It may have been admitted between its cancellation and its next run.
            if waiter.hold is None:
                self._forget(network, waiter)
            else:
                waiter.hold.release()
            raise
        assert waiter.hold is not None
        return waiter.hold

    def _has_room(self, network: str, size: int, spare: int = 0) -> bool:
        mine = self._by_client.get(network, 0)
        enough = not mine or mine + size <= self._per_client
        return enough and self._has_room_in_all(size + spare)

    def _has_room_in_all(self, size: int) -> bool:
        return not self.held or self.held + size <= self._total

    def _take(self, network: str, size: int) -> Hold:
        return Hold(partial(self._change, network), size)

    def _change(self, network: str, more: int) -> None:
        self.held += more
        mine = self._by_client.get(network, 0) + more
        if mine:
            self._by_client[network] = mine
        else:
            self._by_client.pop(network, None)
        if more < 0 and self._waiting:
            self._admit()

    def _admit(self) -> None:
        for network in tuple(self._waiting):
            queue = self._waiting.pop(network)
            while queue and self._has_room(network, next(iter(queue)).size):
                waiter, _ = queue.popitem(last=False)
                waiter.hold = self._take(network, waiter.size)
                waiter.admitted.set()
            if queue:
                # After the other clients, whose turn is next.
                self._waiting[network] = queue
                if not self._has_room_in_all(next(iter(queue)).size):
                    return

    def _forget(self, network: str, waiter: _Waiter) -> None:
        queue = self._waiting[network]
        del queue[waiter]
        if not queue:
            del self._waiting[network]
        # The next waiter may need less.
        self._admit()

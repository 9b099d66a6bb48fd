"""Request bodies that arrive as a test specifies."""

import itertools
from collections.abc import Iterable, Sequence

from antechamber.asgi import Event, Receive
from hypothesis import strategies as st

from octavo.http.contract.bodies.body import Headers

JSON: Headers = [(b"content-type", b"application/json")]


class Arriving:
    """Hands out ASGI events one by one, and counts them."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = iter(events)
        self.asked = 0

    async def __call__(self) -> Event:
        self.asked += 1
        return next(self._events)


def chunks(*parts: bytes) -> Arriving:
    """The body in ``parts``, the last of which ends it."""
    last = len(parts) - 1
    return Arriving(
        {"type": "http.request", "body": part, "more_body": position < last}
        for position, part in enumerate(parts)
    )


def broken_off(*parts: bytes) -> Arriving:
    """A body whose client disconnects after ``parts``."""
    came = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    return Arriving([*came, {"type": "http.disconnect"}])


def nothing_read() -> Receive:
    async def receive() -> Event:
        raise AssertionError("the body was read")

    return receive


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    """``body`` in pieces that end at ``places``, in any order and anywhere."""
    ends = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(ends)]


PLACES = st.lists(st.integers(0, 10_000), max_size=8)

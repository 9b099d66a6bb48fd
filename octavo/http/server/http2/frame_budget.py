"""What a client may send over HTTP/2 beside what it wants to say.

Frames that carry nothing cost the sender almost nothing and the receiver the most (RFC 9113
section 10.5): empty DATA, PING, WINDOW_UPDATE, PRIORITY, unknown kinds. So every byte is counted
against what came of it; kinds need not be told apart.
"""

# All in bytes. What a client may send before anything came of it, and at most at any time.
_AT_ONCE = 64 * 1024
# Each second, for whoever sends a PING now and then over a stream that lasts.
_A_SECOND = 1024
# For each request: its head, compressed, and what a client sends around it.
_A_REQUEST = 16 * 1024
# A ninth more than the content, so that frames of 72 bytes and more pay for themselves.
_CONTENT = 9 / 8
# What is sent is acknowledged, by two frames of 13 bytes or less for each frame.
_SENT = 1 / 2


class Flooding(Exception):
    """The client sends frames upon frames that carry nothing."""


class FrameBudget:
    """The balance of one connection, begun at ``now``, in seconds of a monotonic clock."""

    __slots__ = ("_left", "_now")

    def __init__(self, now: float) -> None:
        self._left: float = _AT_ONCE
        self._now = now

    def spend(self, size: int, now: float) -> None:
        """Count ``size`` bytes that came, after what came of them; raise `Flooding`."""
        self._left = min(self._left + (now - self._now) * _A_SECOND, _AT_ONCE) - size
        self._now = now
        if self._left < 0:
            raise Flooding

    def earn_request(self) -> None:
        """Count a request."""
        self._left += _A_REQUEST

    def earn_content(self, size: int) -> None:
        """Count ``size`` bytes of a body."""
        self._left += size * _CONTENT

    def earn_sent(self, size: int) -> None:
        """Count ``size`` bytes that were sent to the client."""
        self._left += size * _SENT

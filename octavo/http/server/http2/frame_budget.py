"""Limit HTTP/2 frames that make no progress.

Frames without content are cheap to send and expensive to receive (RFC 9113 section 10.5): empty
DATA, PING, WINDOW_UPDATE, PRIORITY, unknown types. So every byte received is charged against a
budget, whatever the frame type, and useful work earns budget.
"""

# All in bytes. The initial budget, and its maximum.
_BURST = 64 * 1024
# Earned per second, for occasional PINGs on a long-lived stream.
_PER_SECOND = 1024
# Earned per request: its compressed head and the frames around it.
_PER_REQUEST = 16 * 1024
# Earned per byte of content, a little more than one: frames of 72 bytes and more pay for
# themselves.
_PER_CONTENT_BYTE = 9 / 8
# Earned per byte sent: each frame is acknowledged by at most two frames of 13 bytes.
_PER_SENT_BYTE = 1 / 2


class Flooding(Exception):
    """The client sends too many frames that make no progress."""


class FrameBudget:
    """The budget of one connection, from ``now`` on, in seconds of a monotonic clock."""

    __slots__ = ("_left", "_now")

    def __init__(self, now: float) -> None:
        self._left: float = _BURST
        self._now = now

    def spend(self, size: int, now: float) -> None:
        """Charge ``size`` bytes received. Raises `Flooding` when the budget is exhausted."""
        self._left = min(self._left + (now - self._now) * _PER_SECOND, _BURST) - size
        self._now = now
        if self._left < 0:
            raise Flooding

    def earn_request(self) -> None:
        """Earn the budget of a request."""
        self._left += _PER_REQUEST

    def earn_content(self, size: int) -> None:
        """Earn the budget of ``size`` bytes of a body."""
        self._left += size * _PER_CONTENT_BYTE

    def earn_sent(self, size: int) -> None:
        """Earn the budget of ``size`` bytes sent to the client."""
        self._left += size * _PER_SENT_BYTE

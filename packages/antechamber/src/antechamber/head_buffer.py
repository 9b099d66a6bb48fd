"""Buffer a request head until it is complete or too large."""

from collections.abc import Awaitable, Callable

from antechamber.head import END, head_too_large, target_too_long
from antechamber.limits import Limits
from antechamber.rejection import ClientGone, RequestRejected, malformed

# The bytes around the target in a request line: method, two spaces, version.
_AROUND_TARGET = 32
# Letters, and the CR of an empty line that has not fully arrived.
_BEGINS_METHOD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\r")

_EMPTY_LINES = 8


async def gather_head(
    started: bytes, receive: Callable[[], Awaitable[bytes]], limits: Limits
) -> tuple[bytes, bytes]:
    """Return a complete head that begins with ``started``, and the bytes after it.

    ``receive`` waits for more bytes. Raises `ClientGone` when the client closes the connection, and
    `RequestRejected` (414, 431) as soon as the head is too large, complete or not.
    """
    gathered = bytearray(skip_empty_lines(started))
    seen = 0
    while (end := gathered.find(END, seen)) < 0:
        if gathered.count(b"\n") != gathered.count(b"\r\n"):
            raise malformed("Lines of the head must end with CR LF.")
        if gathered and gathered[0] not in _BEGINS_METHOD:
            raise malformed("The request line must begin with a method. Is this TLS?")
        if len(gathered) > limits.head_size or gathered.count(b"\n") > limits.header_count + 2:
            raise _too_large(gathered, limits)
        more = await receive()
        if not more:
            raise ClientGone
        seen = max(0, len(gathered) - len(END))
        gathered += more
        if not seen:
            gathered = bytearray(skip_empty_lines(bytes(gathered)))
    return split_head(bytes(gathered), end, limits)


def split_head(data: bytes, end: int, limits: Limits) -> tuple[bytes, bytes]:
    """Split ``data`` after the empty line at ``end`` into the head and the rest.

    Raises `RequestRejected` (414, 431) when the head is too large.
    """
    end += len(END)
    if end > limits.head_size:
        raise _too_large(data[:end], limits)
    return data[:end], data[end:]


def skip_empty_lines(data: bytes) -> bytes:
    """Return ``data`` without the empty lines before a request (RFC 9112 section 2.2).

    Raises `RequestRejected` (400) for more of them than clients send.
    """
    at = 0
    while data.startswith(b"\r\n", at):
        at += 2
        if at > _EMPTY_LINES * 2:
            raise malformed("Too many empty lines precede the request.")
    return data[at:]


def _too_large(gathered: bytes | bytearray, limits: Limits) -> RequestRejected:
    line = gathered.find(b"\r\n")
    if line < 0 or line > limits.target_length + _AROUND_TARGET:
        return target_too_long(limits)
    return head_too_large(limits)

"""Extend the deadline of a request while its body or its response progresses.

A large transfer over a slow line may take longer than any fixed limit. The server ends one that
stops (`antechamber.limits`); here, one that progresses gets more time.
"""

from collections.abc import AsyncIterator

from antechamber.asgi import Event, Extension, Receive

STEP_SIZE = 256 * 1024
"""Bytes after which the time of a transfer starts again."""


class RenewedTime:
    """Sets the deadline of a request again with each `STEP_SIZE` bytes.

    Args:
        exchange: the server's extension.
        seconds: from one step to the next.
    """

    def __init__(self, exchange: Extension, seconds: float) -> None:
        self._exchange = exchange
        self._seconds = seconds
        self._transferred = 0

    def progress(self, size: int) -> None:
        """Count ``size`` transferred bytes."""
        self._transferred += size
        if self._transferred >= STEP_SIZE:
            self._transferred = 0
            self._exchange.allow(self._seconds)

    def receive(self, receive: Receive) -> Receive:
        """Return ``receive`` with the bytes of the body counted."""

        async def receive_and_count() -> Event:
            event = await receive()
            self.progress(len(event.get("body", b"")))
            return event

        return receive_and_count

    def chunks(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Return ``chunks`` with those counted that were sent; closing it closes them."""
        return _CountedChunks(chunks, self)


class _CountedChunks:
    __slots__ = ("_chunks", "_sent", "_time")

    def __init__(self, chunks: AsyncIterator[bytes], time: RenewedTime) -> None:
        self._chunks = chunks
        self._time = time
        self._sent = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        # The next one is requested when the one before was sent.
        self._time.progress(self._sent)
        chunk = await anext(self._chunks)
        self._sent = len(chunk)
        return chunk

    async def aclose(self) -> None:
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

"""Meter the content that operations send.

An operation that sends content declares `METERED` among its problems, and checks or counts each of
its responses. It costs:

- getFile, getRevision, readFiles, getFeed with texts, getSnapshot: the bytes of each text and of
  each document, and an object for each file with either;
- diffRevisions: the bytes of both texts, and an object for each;
- search, searchWorkspace: the bytes of the snippets; no objects, since a search is sent while a
  person types;
- getFileContent: the bytes of the content, of its part, or of the thumbnail, and an object;
- saveNote: the bytes of the update that the device lacks, and an object; nothing if it lacks none;
- serveMcp: what the operations cost that a tool performs.

HEAD and 304 cost nothing, and are refused like the response with the content. A limit that is used
up refuses every metered operation, but not a save that lacks nothing, nor one that changes the
note: what it returns is counted and never refused, since the change is committed already.
"""

from collections.abc import AsyncIterator, Iterable

from octavo_rules.problems import Problem

from octavo.features.usage.meter import Transfer, UsageMeter
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.usage import NOTHING, Amount, DownloadLimitReached
from octavo.store.queries.files import StoredFile, WholeFile

METERED: tuple[type[Problem], ...] = (DownloadLimitReached,)
"""The problems of operations that send content."""


_COPIES = 4
"""The memory of texts while a response is made, as a multiple of their bytes.

One emoji is enough for a text to have four bytes for each character (PEP 393).
"""


class Metering:
    """Meters the responses of operations.

    Every async method raises `DownloadLimitReached` and `octavo.store.StoreUnavailable`, and counts
    nothing then.

    Args:
        meter: counts.
    """

    def __init__(self, meter: UsageMeter) -> None:
        self._meter = meter

    async def admit(self, call: contract.Call, amount: Amount = NOTHING) -> None:
        """Refuse the call if its caller can't read ``amount``; count nothing.

        Without an amount, refuse it if a limit is used up.
        """
        await self._meter.check(caller_of(call).account_id, amount)

    async def count(self, call: contract.Call, amount: Amount) -> None:
        """Count what a response sends, or the next piece of a stream; HEAD counts nothing."""
        account_id = caller_of(call).account_id
        if call.scope["method"] == "HEAD":
            await self._meter.check(account_id, amount)
        else:
            await self._meter.count(account_id, amount)

    async def read(self, call: contract.Call, amount: Amount) -> None:
        """Count texts that a response sends, for which memory is reserved before.

        Raises `ServerBusy` without memory; then nothing is counted.
        """
        call.take(memory_of(amount.size))
        await self.count(call, amount)

    def add(self, call: contract.Call, amount: Amount) -> None:
        """Count what a response sends that can't be refused any more. It raises nothing."""
        self._meter.add(caller_of(call).account_id, amount)

    async def limited(self, call: contract.Call) -> bool:
        """Return whether any limit applies to the caller, so that a total is worth computing."""
        return await self._meter.limited(caller_of(call).account_id)

    async def hold(self, call: contract.Call, amount: Amount) -> Transfer:
        """Return a transfer of one object in pieces, for `MeteredChunks`."""
        return await self._meter.hold(caller_of(call).account_id, amount)


class MeteredChunks:
    """The pieces of one object, each counted when it is sent; closing it closes the transfer.

    The object is counted with its first piece, or at the end if it is empty.
    """

    def __init__(self, chunks: AsyncIterator[bytes], transfer: Transfer) -> None:
        self._chunks = chunks
        self._transfer = transfer
        self._objects = 1

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._sent(0)
            raise
        self._sent(len(chunk))
        return chunk

    def _sent(self, size: int) -> None:
        self._transfer.sent(Amount(size, self._objects))
        self._objects = 0

    async def aclose(self) -> None:
        """Give back what was not sent, and close the pieces."""
        self._transfer.close()
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


def memory_of(size: int) -> int:
    """Return the memory that texts of ``size`` bytes take while a response is made."""
    return _COPIES * size


def amount_of_text(stored: StoredFile) -> Amount:
    """Return what sending the text of a revision costs; nothing for an image."""
    return NOTHING if stored.text is None else Amount(stored.revision.size, 1)


def amount_of_texts(stored: Iterable[StoredFile]) -> Amount:
    """Return what sending the texts of revisions costs."""
    sizes = [file.revision.size for file in stored if file.text is not None]
    return Amount(sum(sizes), len(sizes))


def amount_of_file(whole: WholeFile) -> Amount:
    """Return what sending a file with its document costs."""
    text = amount_of_text(whole.stored)
    return text if whole.document is None else text.plus(Amount(len(whole.document.state)))

"""Blobs as objects in an S3-compatible, Azure or Google store, through obstore.

The asynchronous functions of obstore need an asyncio loop, so its synchronous ones run in threads,
which release the interpreter while they wait. The threads come from limiters of their own: a store
that does not respond never takes threads from the rest of the process.

Three rules bound the time of a call. Each HTTP request has a time limit and a limited number of
retries (`StoreTimeouts`), so each thread ends. A call has a limit for all of its requests and the
wait for a thread. And a cancelled call returns immediately: its thread is abandoned, sends no
further part of an upload, and ends within the limits of one request.
"""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TypeVar

import obstore
import trio
from obstore.exceptions import BaseError

from octavo.store.blobs.blob_store import (
    CHUNK,
    BlobKey,
    BlobMissing,
    BlobsUnusable,
    path_of_key,
)
from octavo.store.blobs.bucket import PART_BYTES, Bucket, StoreTimeouts, open_bucket
from octavo.store.blobs.object_errors import (
    RANGE_BEYOND_END,
    ObjectFailure,
    configuration_fault,
    failure_of,
)
from octavo.store.blobs.staging import create_file, disk_failures

T = TypeVar("T")

READ_BYTES = 1024 * 1024
"""Bytes that one request reads."""
READERS = 16
"""Maximum number of concurrent requests other than uploads."""
UPLOADS = 4
"""Maximum number of concurrent uploads, each of which holds about three parts in memory."""
CHECK_PATH = "check"
"""Name of the empty object that `ObjectBlobs.check` writes."""


class ObjectBlobs:
    """Implements `octavo.store.blobs.BlobStore` with objects; `open_object_store` creates it.

    Args:
        requests: the store, with the time limit of a request.
        uploads: the store, with the time limit of an upload.
        timeouts: the limits.
    """

    def __init__(self, requests: Bucket, uploads: Bucket, timeouts: StoreTimeouts) -> None:
        self._requests = requests
        self._uploads = uploads
        self._timeouts = timeouts
        self._readers = trio.CapacityLimiter(READERS)
        self._uploaders = trio.CapacityLimiter(UPLOADS)

    async def put(self, key: BlobKey, source: Path) -> None:
        """See `octavo.store.blobs.BlobStore`. The file is copied.

        When cancelled, a large upload stops at its next part, and is aborted in the store.
        """
        with disk_failures():
            size = (await trio.Path(source).stat()).st_size
        path = path_of_key(key)
        upload = _Upload(self._uploads, path, source)
        limit = self._timeouts.of_upload(size)
        try:
            await self._call(path, upload.run, limit, self._uploaders)
        finally:
            upload.abandoned = True

    async def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """See `octavo.store.blobs.BlobStore`.

        A request reads `READ_BYTES` at most, so that a slow reader holds no connection open.
        """
        path = path_of_key(key)
        at = start
        while stop is None or at < stop:
            end = at + READ_BYTES if stop is None else min(at + READ_BYTES, stop)
            data, size = await self._call(path, partial(self._read_range, path, at, end))
            for offset in range(0, len(data), CHUNK):
                yield data[offset : offset + CHUNK]
                await trio.lowlevel.checkpoint()
            at += len(data)
            if at >= size:
                return

    def _read_range(self, path: str, start: int, stop: int) -> tuple[bytes, int]:
        """Return the bytes of a range, none beyond the end, and the size of the object."""
        try:
            result = obstore.get(self._requests, path, options={"range": (start, stop)})
        except BaseError as error:
            if failure_of(error).status != RANGE_BEYOND_END:
                raise
            size = obstore.head(self._requests, path)["size"]
            if start < size:
                raise ObjectFailure("it refused a valid range") from None
            return b"", size
        data, size = bytes(result.bytes()), result.meta["size"]
        if result.range != (start, min(stop, size)) or len(data) != min(stop, size) - start:
            raise ObjectFailure("it returned other bytes than it was asked for")
        return data, size

    async def fetch(self, key: BlobKey, target: Path) -> None:
        """See `octavo.store.blobs.BlobStore`."""
        async with aclosing(self.read(key)) as pieces:
            piece = await anext(pieces, b"")
            with disk_failures():
                file = await trio.to_thread.run_sync(_create, target)
            with file:
                while piece:
                    with disk_failures():
                        await trio.to_thread.run_sync(_write, file, piece)
                    piece = await anext(pieces, b"")

    async def delete(self, key: BlobKey) -> None:
        """See `octavo.store.blobs.BlobStore`."""
        path = path_of_key(key)
        # S3 returns success for an object that does not exist; the others don't.
        with suppress(BlobMissing):
            await self._call(path, partial(obstore.delete, self._requests, path))

    async def is_intact(self, key: BlobKey) -> bool:
        """See `octavo.store.blobs.BlobStore`."""
        await trio.lowlevel.checkpoint()
        return True

    async def check(self) -> None:
        """See `octavo.store.blobs.BlobStore`.

        An empty object is written, because only a write shows that writes are permitted. Object
        stores charge for it.
        """
        await self._call(CHECK_PATH, partial(obstore.put, self._requests, CHECK_PATH, b""))

    async def _call(
        self,
        path: str,
        request: Callable[[], T],
        seconds: float | None = None,
        threads: trio.CapacityLimiter | None = None,
    ) -> T:
        """Return the result of ``request`` for ``path``, from a thread, in at most ``seconds``.

        When cancelled, the thread is abandoned; it ends by the time limits of its requests.
        """

        def attempt() -> T | ObjectFailure:
            # Returned rather than raised: no context leads to the error of obstore, whose text
            # may contain a signed address.
            try:
                return request()
            except (BaseError, OSError, ValueError, ObjectFailure) as error:
                return failure_of(error)

        limit = self._timeouts.of_request() if seconds is None else seconds
        result: T | ObjectFailure = ObjectFailure(f"it did not respond within {limit:g} seconds")
        with trio.move_on_after(limit):
            result = await trio.to_thread.run_sync(
                attempt, abandon_on_cancel=True, limiter=threads or self._readers
            )
        if isinstance(result, ObjectFailure):
            raise result.as_blob_error(path)
        return result


class _Upload:
    """An upload that runs in a thread.

    Attributes:
        abandoned: set when its caller has left; it is then aborted before its next part.
    """

    def __init__(self, bucket: Bucket, path: str, source: Path) -> None:
        self.abandoned = False
        self._bucket = bucket
        self._path = path
        self._source = source

    def run(self) -> None:
        """Upload the file: in one request, or in parts that are completed by a last request."""
        with self._source.open("rb") as file:
            if os.fstat(file.fileno()).st_size <= PART_BYTES:
                obstore.put(self._bucket, self._path, file.read(), use_multipart=False)
            else:
                parts = self._parts(file)
                obstore.put(
                    self._bucket, self._path, parts, chunk_size=PART_BYTES, max_concurrency=1
                )

    def _parts(self, file: BufferedReader) -> Iterator[bytes]:
        while part := file.read(PART_BYTES):
            if self.abandoned:
                raise ObjectFailure("the upload was cancelled")
            yield part


def _create(target: Path) -> FileIO:
    return open(create_file(target), "wb", buffering=0)


def _write(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def open_object_store(address: str, timeouts: StoreTimeouts | None = None) -> ObjectBlobs:
    """Return the blob store at ``address``: ``s3://``, ``az://`` or ``gs://``, bucket and prefix.

    Credentials, region and endpoint come from the environment, as obstore documents them
    (``AWS_*``, ``AZURE_*``, ``GOOGLE_*``). No request is sent: `ObjectBlobs.check` sends one.
    Raises `BlobsUnusable` when they can't be used.
    """
    limits = timeouts or StoreTimeouts()
    try:
        return ObjectBlobs(
            open_bucket(address, limits, limits.request),
            open_bucket(address, limits, limits.upload),
            limits,
        )
    except (BaseError, ValueError, OSError) as error:
        reason = configuration_fault(error)
    raise BlobsUnusable(f"the object store {address} can't be opened: {reason}")

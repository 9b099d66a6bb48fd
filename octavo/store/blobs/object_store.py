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
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import obstore
import trio
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from octavo.store.blobs import blob_store, staging

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

Bucket = S3Store | AzureStore | GCSStore

PART_BYTES = 5 * 1024 * 1024
"""Size of the parts that a larger blob is uploaded in; S3 accepts no smaller ones."""

_RETRIES = 3
_LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class StoreTimeouts:
    """Time limits of the requests to an object store, in seconds.

    Attributes:
        connect: for a connection, with its TLS handshake.
        request: for a request other than an upload, to the end of its response.
        upload: for the upload of a blob of at most `PART_BYTES`, or of a part of that size.
        retry: time after the first attempt within which a failed request may be repeated.
    """

    connect: float = 5.0
    request: float = 20.0
    upload: float = 60.0
    retry: float = 10.0

    def of_request(self) -> float:
        """Return the limit of a call that sends one request, not an upload."""
        return self.request + self.retry

    def of_upload(self, size: int) -> float:
        """Return the limit of a call that uploads ``size`` bytes.

        Three requests begin, end and abort a sequence of parts.
        """
        return (size // PART_BYTES + 3) * self.upload + self.retry


def open_bucket(address: str, timeouts: StoreTimeouts, seconds: float) -> Bucket:
    """Return the bucket at ``address``, whose requests may take ``seconds``. Sends no request.

    Raises ValueError and errors of obstore if the address or the environment is not usable.
    """
    client: ClientConfig = {
        # The endpoint in the environment says whether TLS is used; without one, it is.
        "allow_http": True,
        "connect_timeout": timedelta(seconds=timeouts.connect),
        "timeout": timedelta(seconds=seconds),
    }
    retry: RetryConfig = {
        "max_retries": _RETRIES,
        "retry_timeout": timedelta(seconds=timeouts.retry),
        "backoff": {"max_backoff": timedelta(seconds=_LONGEST_PAUSE)},
    }
    match address.partition("://")[0]:
        case "s3":
            # Not every S3-compatible store can delete several objects in one request.
            return S3Store.from_url(
                address, disable_bulk_delete=True, client_options=client, retry_config=retry
            )
        case "az":
            return AzureStore.from_url(address, client_options=client, retry_config=retry)
        case "gs":
            return GCSStore.from_url(address, client_options=client, retry_config=retry)
        case _:
            raise ValueError("the address begins with none of s3://, az:// and gs://")


# obstore reports most errors as a text, which contains the address of the request and the body of
# the response. An address may be signed, and a body may repeat it: only patterns that can't hold
# a secret are taken from the text, and the text itself is neither raised nor logged.
RANGE_BEYOND_END = 416
"""The HTTP status of a range that begins after the last byte (RFC 9110, section 15.5.17)."""

_CREDENTIALS = re.compile("token request|/latest/(api/token|meta-data)|/metadata/identity")
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_KIND = re.compile(r"kind: (Connect|Timeout)\b")
# Azure deletes in batches, and obstore reports the failure of one deletion in these words.
_NOT_IN_BATCH = re.compile(r"Bulk delete request failed for key \S+: .*\(code: 404\)")
_QUOTED = re.compile(r'"[^"]*"')
_ADDRESS = re.compile(r"Url: .*(?=, Error)|\S*://\S*")
_PREFIX = re.compile(r"^Generic \w+ error: ")

_NOT_FOUND = 404
_INSUFFICIENT_STORAGE = 507
_MISSING = frozenset({"NoSuchKey", "BlobNotFound"})
# Ceph, then MinIO.
_FULL = frozenset({"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"})
_KINDS = {"Connect": "no connection could be made", "Timeout": "it did not respond in time"}


class ObjectFailure(Exception):
    """A request to an object store failed.

    Args:
        reason: why, after "the object store can't be used: "; without secrets.
        status: the HTTP status of the response; None without one.
        code: the code of the error in the response; empty without one.
    """

    def __init__(self, reason: str, status: int | None = None, code: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.code = code

    def as_blob_error(self, path: str) -> blob_store.BlobMissing | blob_store.BlobsUnavailable:
        """Return the error for callers of the blob store, for a request for ``path``.

        A 404 alone does not mean that the blob is missing: it may come from a proxy or a wrong
        endpoint, or mean that the bucket is missing.
        """
        if self.code in _MISSING:
            return blob_store.BlobMissing(f"the blob {path} is missing")
        full = self.status == _INSUFFICIENT_STORAGE or self.code in _FULL
        kind = blob_store.BlobsFull if full else blob_store.BlobsUnavailable
        return kind(f"the object store can't be used: {self.reason}")


def failure_of(error: Exception) -> ObjectFailure:
    """Return what ``error``, which a request of obstore raised, means."""
    if isinstance(error, ObjectFailure):
        return error
    text = str(error)
    if _CREDENTIALS.search(text):
        return ObjectFailure("its credentials could not be obtained")
    if status := _STATUS.search(text):
        code = _CODE.search(text)
        named = f" ({code[1]})" if code else ""
        reason = f"it responded with status {status[1]}{named}"
        return ObjectFailure(reason, int(status[1]), code[1] if code else "")
    if _NOT_IN_BATCH.search(text):
        return ObjectFailure("the blob does not exist", _NOT_FOUND, "BlobNotFound")
    if "StartTooLarge" in text:
        # obstore compared the range with the size of the object that was returned.
        return ObjectFailure("the range begins after the last byte", RANGE_BEYOND_END)
    if kind := _KIND.search(text):
        return ObjectFailure(_KINDS[kind[1]])
    if isinstance(error, OSError) and error.strerror:
        return ObjectFailure(error.strerror)
    return ObjectFailure("the request failed, or its response was invalid")


def configuration_fault(error: Exception) -> str:
    """Return why a store can't be opened, without the values that its configuration has."""
    line = _PREFIX.sub("", str(error).partition("\n")[0])
    return _ADDRESS.sub("…", _QUOTED.sub("…", line))


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

    async def put(self, key: blob_store.BlobKey, source: Path) -> None:
        """See `octavo.store.blobs.BlobStore`. The file is copied.

        When cancelled, a large upload stops at its next part, and is aborted in the store.
        """
        with staging.disk_failures():
            size = (await trio.Path(source).stat()).st_size
        path = blob_store.path_of_key(key)
        upload = _Upload(self._uploads, path, source)
        limit = self._timeouts.of_upload(size)
        try:
            await self._call(path, upload.run, limit, self._uploaders)
        finally:
            upload.abandoned = True

    async def read(
        self, key: blob_store.BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """See `octavo.store.blobs.BlobStore`.

        A request reads `READ_BYTES` at most, so that a slow reader holds no connection open.
        """
        path = blob_store.path_of_key(key)
        at = start
        while stop is None or at < stop:
            end = at + READ_BYTES if stop is None else min(at + READ_BYTES, stop)
            data, size = await self._call(path, partial(self._read_range, path, at, end))
            for offset in range(0, len(data), blob_store.CHUNK):
                yield data[offset : offset + blob_store.CHUNK]
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

    async def fetch(self, key: blob_store.BlobKey, target: Path) -> None:
        """See `octavo.store.blobs.BlobStore`."""
        async with aclosing(self.read(key)) as pieces:
            piece = await anext(pieces, b"")
            with staging.disk_failures():
                file = await trio.to_thread.run_sync(_create, target)
            with file:
                while piece:
                    with staging.disk_failures():
                        await trio.to_thread.run_sync(_write, file, piece)
                    piece = await anext(pieces, b"")

    async def delete(self, key: blob_store.BlobKey) -> None:
        """See `octavo.store.blobs.BlobStore`."""
        path = blob_store.path_of_key(key)
        # S3 returns success for an object that does not exist; the others don't.
        with suppress(blob_store.BlobMissing):
            await self._call(path, partial(obstore.delete, self._requests, path))

    async def is_intact(self, key: blob_store.BlobKey) -> bool:
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
    return open(staging.create_file(target), "wb", buffering=0)


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
    raise blob_store.BlobsUnusable(f"the object store {address} can't be opened: {reason}")

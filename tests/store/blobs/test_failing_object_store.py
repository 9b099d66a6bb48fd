"""Blobs in an object store that fails, does not respond, or responds wrongly."""

import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import obstore
import pytest
import trio
from obstore.store import S3Store

from octavo.store.blobs import BlobMissing, BlobsFull, BlobsUnavailable
from octavo.store.blobs.object_store import (
    PART_BYTES,
    READERS,
    UPLOADS,
    ObjectBlobs,
    StoreTimeouts,
    open_bucket,
    open_object_store,
)
from tests.fakes.faulty_object_store import Fault, FaultyObjectStore, faulty_object_store
from tests.fakes.s3_server import BUCKET, ENVIRONMENT, SECRET, set_environment
from tests.store.blobs.conformance import content, key

BRIEF = StoreTimeouts(connect=0.3, request=0.3, upload=0.3, retry=0.2)
PATIENT = StoreTimeouts(connect=30, request=30, upload=30, retry=30)
LARGE = 3 * PART_BYTES

Request = Callable[[ObjectBlobs, Path], Awaitable[object]]
REQUESTS: dict[str, Request] = {
    "put": lambda blobs, folder: blobs.put(key(2), folder / "small"),
    "put-large": lambda blobs, folder: blobs.put(key(2), folder / "large"),
    "read": lambda blobs, folder: content(blobs, key(1)),
    "fetch": lambda blobs, folder: blobs.fetch(key(1), folder / "copy"),
    "delete": lambda blobs, folder: blobs.delete(key(1)),
    "check": lambda blobs, folder: blobs.check(),
}
BY_ALL: list[Fault] = ["error", "refusal", "full", "not-found", "no-bucket", "garbage", "reset"]
BY_ALL += ["stall"]
BY_READERS: list[Fault] = ["page", "half", "short", "shifted", "beyond", "redirect"]
BY_WRITERS: list[Fault] = ["page", "redirect"]
CASES = [(name, fault) for name in REQUESTS for fault in BY_ALL]
CASES += [(name, fault) for name in ("read", "fetch") for fault in BY_READERS]
CASES += [(name, fault) for name in ("put", "put-large", "check") for fault in BY_WRITERS]


@pytest.fixture
def faulty(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyObjectStore]:
    with faulty_object_store(s3) as server:
        set_environment(monkeypatch, AWS_ENDPOINT_URL=server.address, **ENVIRONMENT)
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small").write_bytes(b"0123456789")
    (tmp_path / "large").write_bytes(bytes(LARGE))
    return tmp_path


def store(folder: Path, timeouts: StoreTimeouts = BRIEF) -> ObjectBlobs:
    return open_object_store(f"s3://{BUCKET}/{folder.name}", timeouts)


async def arrival(faulty: FaultyObjectStore) -> None:
    await trio.to_thread.run_sync(faulty.arrived.acquire)


@pytest.mark.parametrize(("name", "fault"), CASES)
async def test_failure_is_reported_in_time_and_without_secrets_and_the_store_recovers(
    name: str, fault: Fault, faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder)
    await blobs.put(key(1), folder / "small")
    faulty.fault = fault
    with trio.fail_after(10), pytest.raises(BlobsUnavailable) as failed:
        await REQUESTS[name](blobs, folder)
    assert isinstance(failed.value, BlobsFull) == (fault == "full")
    shown = "".join(traceback.format_exception(failed.value))
    assert SECRET not in shown
    assert "AWS4-HMAC-SHA256" not in shown

    faulty.fault = None
    (folder / "copy").unlink(missing_ok=True)
    if name == "put-large":
        # On a busy machine, its parts take longer than the brief limits.
        blobs = store(folder, PATIENT)
    if name.startswith("put"):
        with pytest.raises(BlobMissing):
            await content(blobs, key(2))
    elif name != "delete":
        assert await content(blobs, key(1)) == b"0123456789"
    await REQUESTS[name](blobs, folder)
    if name.startswith("put"):
        expected = (folder / name.replace("put-", "").replace("put", "small")).read_bytes()
        assert await content(blobs, key(2)) == expected


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("fault", ["error", "reset", "stall", "refusal"])
async def test_failing_part_leaves_nothing(
    number: int, fault: Fault, faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder)
    faulty.applies = lambda request: f"partNumber={number}&" in request.target
    faulty.fault = fault
    with trio.fail_after(10), pytest.raises(BlobsUnavailable):
        await blobs.put(key(1), folder / "large")
    assert faulty.requests[-1].method == "DELETE"
    with pytest.raises(BlobMissing):
        await content(blobs, key(1))


async def test_completion_that_is_not_acknowledged_is_reported(
    faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder)
    faulty.applies = lambda request: request.method == "POST" and "uploadId" in request.target
    faulty.fault = "half"
    with trio.fail_after(10), pytest.raises(BlobsUnavailable):
        await blobs.put(key(1), folder / "large")
    faulty.fault = None
    blobs = store(folder, PATIENT)
    await blobs.put(key(1), folder / "large")
    assert await content(blobs, key(1)) == bytes(LARGE)


async def test_single_failure_is_repeated(faulty: FaultyObjectStore, folder: Path) -> None:
    blobs = store(folder)
    faulty.applies = lambda request: len(faulty.requests) == 1
    faulty.fault = "error"
    await blobs.put(key(1), folder / "small")
    assert [each.method for each in faulty.requests] == ["PUT", "PUT"]


async def test_upload_may_take_longer_than_other_requests(
    faulty: FaultyObjectStore, folder: Path
) -> None:
    timeouts = StoreTimeouts(connect=30, request=0.1, upload=30, retry=0.1)
    blobs, passed_on = store(folder, timeouts), threading.Event()
    faulty.fault = "error"
    faulty.applies = lambda request: not passed_on.wait(5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(blobs.put, key(1), folder / "small")
        await arrival(faulty)
        # The clock of the client is not trio's.
        await trio.sleep(timeouts.of_request() * 2)
        passed_on.set()
    assert [each.method for each in faulty.requests] == ["PUT"]


@pytest.mark.parametrize("name", REQUESTS)
async def test_cancelled_call_does_not_wait_for_a_stalled_store(
    name: str, faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder, PATIENT)
    faulty.fault = "stall"
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(REQUESTS[name], blobs, folder)
            await arrival(faulty)
            nursery.cancel_scope.cancel()


async def test_cancelled_upload_is_aborted(faulty: FaultyObjectStore, folder: Path) -> None:
    blobs = store(folder, PATIENT)
    faulty.applies = lambda request: "partNumber=1&" in request.target
    faulty.fault = "stall"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(blobs.put, key(1), folder / "large")
        while not any(map(faulty.applies, faulty.requests)):
            await arrival(faulty)
        nursery.cancel_scope.cancel()
    faulty.fault = None
    faulty.released.set()
    with trio.fail_after(10):
        while faulty.requests[-1].method != "DELETE":
            await arrival(faulty)
    assert not any("partNumber=3&" in each.target for each in faulty.requests)
    with pytest.raises(BlobMissing):
        await content(blobs, key(1))


async def test_stalled_store_takes_no_threads_from_others(
    faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder, PATIENT)
    faulty.fault = "stall"
    threads = trio.to_thread.current_default_thread_limiter()
    async with trio.open_nursery() as nursery:
        for _ in range(READERS + 2):
            nursery.start_soon(content, blobs, key(1))
        for _ in range(UPLOADS + 2):
            nursery.start_soon(blobs.put, key(2), folder / "small")
        with trio.fail_after(10):
            for _ in range(READERS + UPLOADS):
                await arrival(faulty)
        assert threads.borrowed_tokens == 0
        assert len(faulty.requests) == READERS + UPLOADS
        nursery.cancel_scope.cancel()


async def test_call_that_finds_no_thread_is_reported_in_time(
    faulty: FaultyObjectStore, folder: Path
) -> None:
    faulty.fault = "stall"
    address = f"s3://{BUCKET}/{folder.name}"
    slow = open_bucket(address, PATIENT, PATIENT.request)
    blobs = ObjectBlobs(slow, slow, BRIEF)

    async def fail() -> None:
        with pytest.raises(BlobsUnavailable, match=r"within 0\.5 seconds"):
            await blobs.check()

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for _ in range(READERS):
                nursery.start_soon(fail)
        for _ in range(READERS):
            await arrival(faulty)
        await fail()
    assert len(faulty.requests) == READERS


async def test_unreachable_store_is_reported(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with faulty_object_store("") as server:
        address = server.address
    set_environment(monkeypatch, AWS_ENDPOINT_URL=address, **ENVIRONMENT)
    with pytest.raises(BlobsUnavailable, match="no connection could be made"):
        await store(folder).check()


async def test_object_that_was_removed_between_two_requests_is_missing(
    faulty: FaultyObjectStore, folder: Path
) -> None:
    blobs = store(folder, PATIENT)
    await blobs.put(key(1), folder / "large")
    reading = blobs.read(key(1))
    async for _ in reading:
        break
    obstore.delete(S3Store(BUCKET, client_options={"allow_http": True}), _path(folder))
    with pytest.raises(BlobMissing):
        async for _ in reading:
            pass


def _path(folder: Path) -> str:
    return f"{folder.name}/5f/5f/{key(1)}"

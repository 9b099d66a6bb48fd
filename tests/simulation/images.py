"""The part of a process that receives and collects images."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import ParamSpec, TypeVar, cast

import trio
from greenroom import Supervisor, WorkerContext, WorkerSpec

from octavo.features.images.blob_writer import BlobWriter
from octavo.features.images.image_work import ImageWork
from octavo.features.images.uploading import ImageUploads
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.service.features import blob_collection, sweeping_job
from octavo.store import Store
from tests.simulation.bare_process import AT_ONCE
from tests.simulation.blob_disk import BlobDisk, ProcessBlobs, SimulatedStaging
from tests.simulation.weather import FaultSchedule

START = 1_790_000_000

P = ParamSpec("P")
T = TypeVar("T")


async def find_png(function: Callable[P, T], *_: P.args, **__: P.kwargs) -> T:
    """Find a PNG of 4 by 3 pixels in every file, as a worker process would."""
    await trio.lowlevel.checkpoint()
    return cast(T, {"media_type": "image/png", "width": 4, "height": 3, "frames": 1})


class ProcessImages:
    """The uploads of a process, and the jobs that delete what is not needed.

    Attributes:
        blobs: the blobs as the process reads them.
        uploads: receives images.
    """

    def __init__(
        self,
        root: Supervisor,
        store: Store,
        disk: BlobDisk,
        faults: FaultSchedule,
        random: Random,
        new_id: Callable[[], str],
    ) -> None:
        random = Random(random.getrandbits(32))
        self._speed = disk.speed
        staging = SimulatedStaging(self.now)
        self.blobs = ProcessBlobs(disk, staging, faults, random, self.now)
        writer = BlobWriter(
            store,
            self.blobs,
            now=self.now,
            new_entropy=lambda: random.randbytes(4),
            meter=UsageMeter(store, now=self.now, writer_id=new_id()),
        )
        self.uploads = ImageUploads(
            store,
            writer,
            staging,
            ImageWork(find_png),
            now=self.now,
            new_id=new_id,
            storage=StorageQuota(store, shared=True),
        )
        self._collection = blob_collection(store, self.blobs, self.now)
        self._sweeper = sweeping_job(store, self._collection.wake)
        root.add(WorkerSpec("sweeper", _worker(self._sweeper.run), backoff=AT_ONCE))
        root.add(WorkerSpec("blobs", _worker(self._collection.run), backoff=AT_ONCE))

    def now(self) -> float:
        """Return the time of images in seconds."""
        return START + self._speed * trio.current_time()

    def wake(self) -> None:
        """Wake the jobs."""
        self._sweeper.wake()
        self._collection.wake()


def _worker(run: Callable[[], Awaitable[None]]) -> Callable[[WorkerContext], Awaitable[None]]:
    async def work(worker: WorkerContext) -> None:
        await run()

    return work

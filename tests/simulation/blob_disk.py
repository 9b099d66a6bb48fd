"""The blobs of a machine: what it would still have after a power failure, and what it has now."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Set
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import trio
from greenroom.testing import note, note_fault

from octavo.features.images.blob_writer import GRACE_SECONDS
from octavo.store.blobs import BlobKey, BlobMissing, BlobsUnavailable, StagedFile, Staging
from octavo.store.blobs.blob_store import digest_of_key
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule


class BlobDisk:
    """Blobs that outlive a process, checked against the database at every moment.

    Args:
        violated: called with each violation.
        speed: how many times faster the clock of images is than that of everything else.

    Attributes:
        stored: the bytes of each blob.
        durable: those that a power failure would leave.
        deleted: the number of deletions.
        late: blobs that were stored after their grace had ended, and may be without a row.
    """

    def __init__(self, violated: Callable[[str], None], speed: int) -> None:
        self._violated = violated
        self.speed = speed
        self._named: Set[BlobKey] = frozenset()
        self._uploads = 0
        # The bytes that were found to be those of each blob.
        self._intact: dict[BlobKey, bytes] = {}
        self.stored: dict[BlobKey, bytes] = {}
        self.durable: dict[BlobKey, bytes] = {}
        self.deleted = 0
        self.late: set[BlobKey] = set()

    def committed(self, named: Set[BlobKey], uploads: int) -> None:
        """Record the blobs that the database names; each must be durable, with its bytes.

        ``uploads`` is the number of those that nobody has attached yet.
        """
        self._uploads = uploads
        for key in sorted(named - self._named):
            note(f"{key} is named by the database", f"blob/{key}")
        for key in sorted(self._named - named):
            note(f"{key} is not named any more", f"blob/{key}")
        self._named = named
        self.check()

    def faults_at_rest(self) -> list[str]:
        """Return the uploads, and the blobs that nobody names, when both must be gone."""
        faults = [
            f"the blob {key} is still there, and nobody names it"
            for key in sorted(self.stored.keys() | self.durable.keys())
            if key not in self._named and key not in self.late
        ]
        if self._uploads:
            faults.append(f"{self._uploads} uploads are still there, and have expired")
        return faults

    def check(self) -> None:
        """Report named blobs that are gone, or would be after a power failure."""
        for key in sorted(self._named):
            for where, blobs in (("now", self.stored), ("after a power failure", self.durable)):
                data = blobs.get(key)
                if data is None:
                    self._violated(f"the named blob {key} is missing {where}")
                elif self._intact.get(key) is not data:
                    if hashlib.sha256(data).hexdigest() != digest_of_key(key):
                        self._violated(f"the named blob {key} is torn {where}")
                    self._intact[key] = data

    def lose_power(self) -> None:
        """Lose what is not durable, and bring back what was not deleted durably."""
        for key in sorted(self.stored.keys() ^ self.durable.keys()):
            note(f"{key} is {'back' if key in self.durable else 'lost'}", f"blob/{key}")
        self.stored = dict(self.durable)
        self.check()


class DiskWithBlobs(Disk):
    """A database that reports with each commit which blobs it names."""

    def __init__(self, path: Path | None, faults: FaultSchedule, blobs: BlobDisk) -> None:
        self._blobs = blobs
        super().__init__(path, faults)

    def _note(self) -> None:
        super()._note()
        rows = self._connection.execute("SELECT blob FROM images UNION SELECT blob FROM uploads")
        [uploads] = self._connection.execute("SELECT COUNT(*) FROM uploads").fetchone()
        self._blobs.committed({BlobKey(row[0]) for row in rows}, uploads)


class SimulatedFile(StagedFile):
    """A staged file in memory. What it has from `StagedFile` computes the digest.

    Attributes:
        data: what was written.
        durable: what a power failure would leave of it.
        begun: when it was created, in seconds on the clock of images.
    """

    def __init__(self, path: Path, begun: float) -> None:
        super().__init__(path, -1)
        self.begun = begun
        self.data = b""
        self.durable = b""

    async def _flush(self, *, durable: bool = False) -> None:
        pending, self._pending, self._waiting = self._pending, [], 0
        await trio.lowlevel.checkpoint()
        for chunk in pending:
            self._hash.update(chunk)
            self.data += chunk
        if durable:
            self.durable = self.data


class SimulatedStaging(Staging):
    """The files of one process on their way to the blobs."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(Path("/staging"))
        self._now = now
        self.files: dict[Path, SimulatedFile] = {}

    @asynccontextmanager
    async def file(self, name: str) -> AsyncIterator[StagedFile]:
        """See `Staging`."""
        made = SimulatedFile(self.path / name, self._now())
        self.files[made.path] = made
        try:
            yield made
        finally:
            self.files.pop(made.path, None)

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[Path]:
        """See `Staging`."""
        yield self.path / name


class ProcessBlobs:
    """The blobs as a process uses them: slowly, and with failures before and after an effect.

    Passes the points ``blobs.*``. Implements `octavo.store.blobs.BlobStore`.
    """

    def __init__(
        self,
        disk: BlobDisk,
        staging: SimulatedStaging,
        faults: FaultSchedule,
        random: Random,
        now: Callable[[], float],
    ) -> None:
        self._now = now
        self._disk = disk
        self._staging = staging
        self._faults = faults
        self._random = random

    async def put(self, key: BlobKey, source: Path) -> None:
        """See `BlobStore`. As of a file that is renamed, and of a folder that is fsynced then."""
        await self._reach("blobs.before_put", "upload")
        file = self._staging.files.pop(source)
        if self._now() >= file.begun + GRACE_SECONDS:
            self._disk.late.add(key)
        self._disk.stored[key] = file.data
        note(f"{key} is stored", f"blob/{key}")
        await self._reach("blobs.renamed", "upload")
        self._disk.durable[key] = file.durable
        note(f"{key} is durable", f"blob/{key}")
        await self._reach("blobs.stored", "upload")

    async def read(
        self, key: BlobKey, start: int = 0, stop: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """See `BlobStore`."""
        await self._reach("blobs.reading", "content")
        if key not in self._disk.stored:
            raise BlobMissing(key)
        yield self._disk.stored[key][start:stop]

    async def fetch(self, key: BlobKey, target: Path) -> None:
        """Thumbnails are not simulated."""
        raise NotImplementedError

    async def is_intact(self, key: BlobKey) -> bool:
        """See `BlobStore`."""
        await trio.lowlevel.checkpoint()
        return key in self._disk.stored

    async def delete(self, key: BlobKey) -> None:
        """See `BlobStore`."""
        await self._reach("blobs.before_delete", "collection")
        self._disk.deleted += self._disk.stored.pop(key, None) is not None
        note(f"{key} is deleted", f"blob/{key}")
        self._disk.check()
        await self._reach("blobs.unlinked", "collection")
        self._disk.durable.pop(key, None)
        note(f"{key} is deleted durably", f"blob/{key}")
        self._disk.check()
        await self._reach("blobs.deleted", "collection")

    async def check(self) -> None:
        """See `BlobStore`."""
        await trio.lowlevel.checkpoint()

    async def _reach(self, point: str, subject: str) -> None:
        await trio.lowlevel.checkpoint()
        await self._faults.reach(point, subject)
        if self._faults.strikes(self._random):
            note_fault(f"the blobs fail at {point}")
            raise BlobsUnavailable(f"injected at {point}")

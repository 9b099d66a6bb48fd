"""A device that uploads images, attaches them to files, reads and purges them."""

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from random import Random
from typing import TypeVar

from greenroom.testing import InjectedCrash
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.features.images import sql as uploads
from octavo.features.images.blob_writer import GRACE_SECONDS
from octavo.features.images.sql import StoredContent, content_of
from octavo.features.images.uploading import LIFETIME_SECONDS
from octavo.model.files.changeset import (
    AttachImage,
    ChangeOperation,
    CreateFile,
    DeleteFile,
    RestoreFile,
)
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.files.plan import Receipt
from octavo.store.blobs import BlobMissing, BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected
from octavo.store.queries.files import revisions_of
from tests.fakes.image_files import PNG_SIGNATURE
from tests.simulation.asking import Asking, NothingDone, Unsettled
from tests.simulation.bare_process import Violation
from tests.simulation.disk import ANN
from tests.simulation.ledger import Ledger
from tests.simulation.process import Process
from tests.simulation.sending import NOTHING, Sender

PICTURES = WorkspaceId("y")
"""The workspace of the images, which the specification does not cover."""
IMAGES = tuple(FileId(f"y{number}") for number in range(4))
COMMON = b"common"
"""The bytes of images that several devices upload."""

R = TypeVar("R")


class ImageUser:
    """Performs the actions that its turns draw, on the images of `PICTURES`.

    Args:
        name: of the device.
        asking: its connection to the service.
        ledger: records what happened.
        violated: called with each violation.
        sender: sends its changes to `PICTURES`.
    """

    def __init__(
        self,
        name: str,
        asking: Asking[Process],
        ledger: Ledger,
        violated: Violation,
        sender: Sender,
    ) -> None:
        self._name = name
        self._asking = asking
        self._ledger = ledger
        self._violated = violated
        self._sender = sender
        self._uploaded: dict[ObjectId, float] = {}
        self._tried: set[ObjectId] = set()
        self._data: dict[str, bytes] = {}
        self._notes = count()
        self._clock = 0.0

    async def make(self, random: Random) -> None:
        """Upload an image, and attach it."""
        await self._upload(random)
        await self._attach(random)

    async def turn(self, random: Random) -> None:
        """Do one thing, as far as it is possible."""
        drawn = random.random()
        with suppress(NothingDone, Unsettled):
            if drawn < 0.45:
                for _ in range(random.choice([1, 3])):
                    try:
                        await self._upload(random)
                    except (NothingDone, Unsettled):
                        continue
                    break
                if random.random() < 0.8:
                    await self._attach(random)
            elif drawn < 0.55:
                await self._attach(random)
            elif drawn < 0.65:
                await self._read(random)
            elif drawn < 0.93:
                file_id = random.choice(IMAGES)
                await self._end_or_revive(file_id, random)
                if random.random() < 0.7:
                    await self._end_or_revive(file_id, random)
            elif drawn < 0.96:
                await self._sender.repeat(random)
            else:
                # As one that has polled, or was woken.
                await self._ask(random, _wake, "wakes the collection")

    async def _upload(self, random: Random, data: bytes | None = None) -> None:
        """Upload an image, a new one or one that others have, too."""
        if data is None:
            unique = f"{self._name} {random.getrandbits(32)}".encode()
            data = PNG_SIGNATURE + random.choice([unique, COMMON]) + bytes(32)
        self._data[hashlib.sha256(data).hexdigest()] = data
        half = random.randrange(len(data))
        began = 0.0

        async def send(process: Process) -> UploadedImage:
            nonlocal began
            began = process.images.now()
            async with process.images.uploads.receiving("a.png", "image/png") as incoming:
                for chunk in (data[:half], data[half:]):
                    await incoming.write(chunk)
                return (await incoming.finish(PICTURES, ANN)).image

        image = await self._ask(random, send, "uploads an image")
        if image.digest != hashlib.sha256(data).hexdigest():
            self._violated(f"{self._name} uploaded {data!r}, and got {image}")
        self._uploaded[image.object_id] = began
        self._ledger.saw(["uploaded"])

    async def _attach(self, random: Random) -> None:
        chosen = random.sample(
            [*self._uploaded], min(len(self._uploaded), random.choice([1, 1, 2]))
        )
        files = random.sample(IMAGES, len(chosen))
        operations: list[ChangeOperation] = []
        for object_id, file_id in zip(chosen, files, strict=True):
            image = await self._found(object_id, random)
            if image is None:
                self._ledger.saw(["upload gone"])
                expires = self._uploaded.pop(object_id) + LIFETIME_SECONDS
                if object_id not in self._tried and self._clock < expires:
                    self._violated(f"the upload {object_id} has expired at {self._clock}")
                return
            content = await self._content(file_id, None, random)
            tag = None if content is None else frozenset({content.revision.revision_id})
            operations.append(AttachImage(file_id, f"attachments/{file_id}.png", image, tag))
        if operations and random.random() < 0.2:
            note = FileId(f"{self._name}y{next(self._notes)}")
            operations.append(
                CreateFile(note, f"{note}.md", note_text(f"![](attachments/{files[0]}.png)"))
            )
        self._tried.update(chosen)
        if operations:
            response = await self._sender.send("image", operations, NOTHING, random)
            if isinstance(response, Receipt):
                self._ledger.saw(["attached", f"attached {len(chosen)}"])

    async def _found(self, object_id: ObjectId, random: Random) -> UploadedImage | None:
        async def find(process: Process) -> UploadedImage | None:
            self._clock = process.images.now()
            now = int(self._clock * 1000)
            found = await process.store.read(uploads.find(PICTURES, [object_id], now))
            return found.get(object_id)

        return await self._ask(random, find, f"looks for the upload {object_id}")

    async def _read(self, random: Random) -> None:
        """Read the content of a revision, as long as it is not purged."""
        file_id = random.choice(IMAGES)
        head = await self._content(file_id, None, random)
        if head is None:
            return
        script = revisions_of(PICTURES, file_id, head.revision.position, 3)
        earlier = await self._ask(
            random, lambda process: process.store.read(script), "reads the history", file_id
        )
        chosen = random.choice([head.revision, *earlier])
        content = await self._content(file_id, chosen.revision_id, random)
        if content is None or content.blob is None:
            return
        key = content.blob

        async def read(process: Process) -> bytes:
            return b"".join([chunk async for chunk in process.images.blobs.read(key)])

        try:
            data = await self._ask(random, read, f"reads the blob {key}", file_id)
        except BlobMissing:
            again = await self._content(file_id, chosen.revision_id, random)
            if again is not None and again.blob is not None:
                self._violated(f"{content.revision} is stored, and its blob {key} is missing")
            return
        if hashlib.sha256(data).hexdigest() != content.revision.digest:
            self._violated(f"{content.revision} reads {data!r}")
        self._ledger.saw(["image read"])

    async def _end_or_revive(self, file_id: FileId, random: Random) -> None:
        """Delete a live image, restore or purge a deleted one."""
        content = await self._content(file_id, None, random)
        if content is None or content.revision.state == "purged":
            return
        tag = frozenset({content.revision.revision_id})
        change: ChangeOperation
        if content.revision.state == "live":
            change = DeleteFile(file_id, tag)
        elif random.random() < 0.2:
            change = RestoreFile(file_id, tag)
        else:
            change = PurgeFile(file_id)
        response = await self._sender.send("image", [change], NOTHING, random)
        if isinstance(response, Receipt) and isinstance(change, PurgeFile):
            self._ledger.saw(["image purged"])
            data = self._data.get(content.revision.digest)
            if data is not None:
                # While the same bytes are being deleted.
                await self._upload(random, data)

    async def _content(
        self, file_id: FileId, revision_id: RevisionId | None, random: Random
    ) -> StoredContent | None:
        script = content_of(PICTURES, file_id, revision_id)
        return await self._ask(
            random, lambda process: process.store.read(script), "reads the content", file_id
        )

    async def _ask(
        self,
        random: Random,
        ask: Callable[[Process], Awaitable[R]],
        what: str,
        file_id: FileId | None = None,
    ) -> R:
        async def send(process: Process, _: float) -> R:
            begun = process.images.now()
            try:
                return await ask(process)
            except BlobCollected as error:
                if process.images.now() < begun + GRACE_SECONDS:
                    self._violated(f"{error!r} within its grace")
                raise Unsettled from error
            except (BlobsUnavailable, InjectedCrash) as error:
                raise Unsettled from error

        of = "" if file_id is None else f" of {file_id}"
        files = [] if file_id is None else [f"{PICTURES}/{file_id}"]
        return await self._asking.ask(random, send, f"{self._name} {what}{of}", PICTURES, *files)


async def _wake(process: Process) -> None:
    process.images.wake()

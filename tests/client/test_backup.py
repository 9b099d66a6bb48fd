"""A server restored from an older backup: devices resend what it lost, and mirrors follow."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom

import pytest
import trio
from octavo_client import (
    Client,
    ConnectionFailed,
    Create,
    Mirror,
    NoteDocument,
    NotFoundError,
    Retrying,
    WorkspaceClient,
)
from octavo_rules.identity import FileId

from tests.client.test_mirror import kept
from tests.client.test_note_document import start_new_generation, text_of
from tests.client.test_restart import free_port
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import NO_TLS, Person, settle
from tests.e2e.server import PATIENCE
from tests.fakes.losing_transport import LossyTransport

BASE = "base one two.\n"


@dataclass
class Installation:
    """A server that always listens on the same port, and its backup."""

    folder: Path
    servers: ExitStack
    bind: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")

    def start(self) -> Octavo:
        self.octavo = self.servers.enter_context(running(self.folder, "--bind", self.bind))
        return self.octavo

    @property
    def database(self) -> Path:
        return self.folder / "octavo.sqlite3"

    @property
    def copy(self) -> Path:
        return self.folder.parent / "copy.sqlite3"

    def back_up(self) -> None:
        self.copy.unlink(missing_ok=True)
        with (
            closing(sqlite3.connect(self.database)) as source,
            closing(sqlite3.connect(self.copy)) as target,
        ):
            source.backup(target)

    def restore_backup(self) -> None:
        """Follow README.md, except for the time that a server takes to shut down."""
        self.octavo.kill()
        self.copy.replace(self.database)
        for end in ("-wal", "-shm"):
            Path(f"{self.database}{end}").unlink(missing_ok=True)
        self.start()


@pytest.fixture(scope="module")
def installed() -> Iterator[tuple[Installation, Person]]:
    with data_folder() as folder, ExitStack() as servers:
        installation = Installation(folder, servers)
        octavo = installation.start()
        yield installation, settle(octavo)


@pytest.fixture
def installation(installed: tuple[Installation, Person]) -> Installation:
    return installed[0]


@pytest.fixture
def lossy_transport() -> LossyTransport:
    return LossyTransport()


@pytest.fixture
async def workspace(
    installed: tuple[Installation, Person], lossy_transport: LossyTransport
) -> AsyncIterator[WorkspaceClient]:
    installation, person = installed
    client = Client(
        installation.octavo.url,
        entropy=SystemRandom(),
        key=person.key,
        origin=PUBLIC,
        timeout=PATIENCE,
        retrying=Retrying(attempts=1, first=0.01, longest=0.1),
        transport=lossy_transport,
        tls=NO_TLS,
    )
    async with client:
        yield await client.create_workspace("Notes")


async def note(workspace: WorkspaceClient, path: str = "a.md") -> FileId:
    return (await workspace.create(path, BASE)).file_id


def precious(document: NoteDocument) -> None:
    """Edit the end and the middle: later edits refer to what is lost."""
    document.insert(len(document.text), "precious\n")
    document.replace(document.text.replace("one", "1"))


@pytest.mark.parametrize(
    ("later", "text"),
    [
        (lambda _: None, "base 1 two.\nprecious\n"),
        (
            lambda document: document.insert(len(document.text), "last\n"),
            "base 1 two.\nprecious\nlast\n",
        ),
    ],
    ids=["nothing", "what builds on it"],
)
async def test_edits_missing_in_a_backup_are_resent_with_later_edits(
    workspace: WorkspaceClient,
    installation: Installation,
    later: Callable[[NoteDocument], None],
    text: str,
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    installation.back_up()
    precious(document)
    await document.save()
    installation.restore_backup()
    later(document)
    saved = await document.save()
    assert (saved.outcome, document.unsaved) == ("merged", False)
    assert await text_of(workspace, document.file_id) == document.text == text
    assert (await document.save()).outcome == "unchanged"


async def test_deletion_missing_in_a_backup_is_resent(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    installation.back_up()
    document.delete(4, 8)
    await document.save()
    installation.restore_backup()
    await document.save()
    assert await text_of(workspace, document.file_id) == document.text == "base two.\n"
    assert not document.unsaved


async def test_save_missing_in_a_backup_is_resent_by_another_device(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    first = await NoteDocument.open(workspace, await note(workspace))
    installation.back_up()
    precious(first)
    await first.save()
    second = await NoteDocument.open(workspace, first.file_id)
    installation.restore_backup()
    second.insert(0, "stands alone\n")
    await second.save()
    text = "stands alone\nbase 1 two.\nprecious\n"
    assert await text_of(workspace, second.file_id) == second.text == text


async def test_save_with_an_unknown_outcome_before_a_restore_happens_once(
    workspace: WorkspaceClient, installation: Installation, lossy_transport: LossyTransport
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    installation.back_up()
    precious(document)
    await document.save()
    document.insert(len(document.text), "in doubt\n")
    lossy_transport.fates = ["response lost"]
    with pytest.raises(ConnectionFailed):
        await document.save()
    installation.restore_backup()
    await document.save()
    text = "base 1 two.\nprecious\nin doubt\n"
    assert await text_of(workspace, document.file_id) == document.text == text


async def test_failed_read_leaves_the_edits_unsaved_until_the_next_save(
    workspace: WorkspaceClient, installation: Installation, lossy_transport: LossyTransport
) -> None:
    document = await NoteDocument.open(workspace, await note(workspace))
    installation.back_up()
    precious(document)
    await document.save()
    installation.restore_backup()
    lossy_transport.method, lossy_transport.fates = "GET", ["request lost"]
    with pytest.raises(ConnectionFailed):
        await document.save()
    assert document.unsaved
    await document.save()
    assert await text_of(workspace, document.file_id) == document.text
    assert not document.unsaved


async def test_devices_that_resend_edits_missing_in_a_backup_converge(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    file_id = await note(workspace)
    devices = [await NoteDocument.open(workspace, file_id) for _ in range(3)]
    installation.back_up()
    for name, device in zip("abc", devices, strict=True):
        precious(device)
        device.insert(0, f"{name} saved\n")
        await device.save()
    installation.restore_backup()
    for name, device in zip("abc", devices, strict=True):
        device.insert(len(device.text), f"{name} later\n")
        await device.save()
    for device in devices:
        await device.save()
        assert not device.unsaved
    assert {device.text for device in devices} == {await text_of(workspace, file_id)}
    for line in ("a saved\n", "b saved\n", "c saved\n", "a later\n", "b later\n", "c later\n"):
        assert devices[0].text.count(line) == 1


async def test_backup_of_an_earlier_generation_gets_the_lines_of_both(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    file_id = await note(workspace)
    devices = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    early = devices[0].epoch
    installation.back_up()
    await start_new_generation(devices[0])
    devices[0].replace(f"{BASE}precious\n")
    for device in devices:
        await device.save()
    assert devices[1].text == f"{BASE}precious\n"
    installation.restore_backup()
    devices[1].insert(0, "later\n")
    for device in (*devices, *devices):
        await device.save()
    assert {device.epoch for device in devices} == {early}
    assert {device.text for device in devices} == {f"later\n{BASE}precious\n"}
    assert await text_of(workspace, file_id) == devices[0].text


async def test_note_missing_in_a_backup_is_created_again_with_its_id(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    installation.back_up()
    file_id = await note(workspace)
    first, second = [await NoteDocument.open(workspace, file_id) for _ in range(2)]
    second.insert(0, "seen by one device\n")
    await second.save()
    first.insert(len(BASE), "unsaved\n")
    installation.restore_backup()
    with pytest.raises(NotFoundError):
        await first.save()
    assert (first.text, first.unsaved) == (f"{BASE}unsaved\n", True)
    assert first.path is not None
    await workspace.push([Create(file_id, first.path, first.text)])
    for device in (first, second, first):
        await device.save()
    text = f"seen by one device\n{BASE}unsaved\n"
    assert {first.text, second.text, await text_of(workspace, file_id)} == {text}
    assert not first.unsaved


@pytest.mark.parametrize("further", range(-1, 3))
async def test_mirror_copies_again_whatever_the_position_of_the_workspace(
    workspace: WorkspaceClient, installation: Installation, further: int
) -> None:
    one, two = await note(workspace, "one.md"), await note(workspace, "two.md")
    mirror = Mirror(workspace)
    await mirror.start()
    installation.back_up()
    for text in ("lost\n", "lost, too\n"):
        head = (await workspace.file(two)).head.id
        await workspace.update(two, head, text=text)
    await mirror.pull()
    installation.restore_backup()
    for number in range(2 + further):
        head = (await workspace.file(one)).head.id
        await workspace.update(one, head, text=f"other {number}\n")
    await mirror.pull()
    assert (mirror.notes, mirror.position) == await kept(workspace)


async def test_running_mirror_checks_when_the_server_is_back(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    class Watched(Mirror):
        pulled = trio.Event()

        async def pull(self) -> None:
            await super().pull()
            self.pulled.set()

    await note(workspace)
    mirror = Watched(workspace, poll_every=2 * PATIENCE)
    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            await nursery.start(mirror.run)
            installation.back_up()
            made = await workspace.create("lost.md", "lost")
            await mirror.wait_for(made.position)
            mirror.pulled = trio.Event()
            await trio.to_thread.run_sync(installation.restore_backup)
            await mirror.pulled.wait()
            nursery.cancel_scope.cancel()
    assert (mirror.notes, mirror.position) == await kept(workspace)
    assert made.file_id not in mirror.notes


@pytest.mark.parametrize("purged", [False, True])
async def test_mirror_whose_newest_change_deleted_a_note_continues_from_its_copy(
    workspace: WorkspaceClient, monkeypatch: pytest.MonkeyPatch, purged: bool
) -> None:
    made = await workspace.create("gone.md", "gone")
    await note(workspace)
    mirror = Mirror(workspace)
    await workspace.delete(made.file_id, made.revision.id)
    if purged:
        await workspace.purge(made.file_id)
    await mirror.start()
    monkeypatch.delattr(WorkspaceClient, "snapshot")
    for path in ("b.md", "c.md"):
        await mirror.pull()
        await note(workspace, path)
    await mirror.pull()
    monkeypatch.undo()
    assert (mirror.notes, mirror.position) == await kept(workspace)


async def test_mirror_of_deletions_missing_in_a_backup_copies_again(
    workspace: WorkspaceClient, installation: Installation
) -> None:
    one = await workspace.create("one.md", BASE)
    two = await workspace.create("two.md", BASE)
    installation.back_up()
    await workspace.delete(one.file_id, one.revision.id)
    mirror = Mirror(workspace)
    await mirror.start()
    installation.restore_backup()
    await workspace.update(two.file_id, two.revision.id, text="other\n")
    await mirror.pull()
    assert (mirror.notes, mirror.position) == await kept(workspace)
    assert one.file_id in mirror.notes

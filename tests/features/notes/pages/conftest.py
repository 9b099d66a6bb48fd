"""A workspace whose notes are read and written on pages."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, WorkspaceId

from octavo.model.files.changeset import CreateFile, UpdateFile
from octavo.store import Transaction
from octavo.store.compression import decompressed
from octavo.store.queries.files import file
from tests.fakes.page_reader import Installation, PageReader
from tests.features.publishing.pages.test_publications import create_workspace


class Vault:
    """A workspace of Ann, whose actors run.

    Attributes:
        base: the path of its pages.
    """

    def __init__(self, house: Installation, base: str) -> None:
        self.house = house
        self.base = base

    @property
    def workspace_id(self) -> str:
        return self.base.rpartition("/")[2]

    async def write(self, reader: PageReader, path: str, text: str) -> str:
        """Create a note on the page, and return the path of its page."""
        await reader.open(f"{self.base}/new")
        await reader.submit("Create the note", path=path, text=text)
        assert reader.path.startswith(f"{self.base}/notes/"), (reader.path, reader.page.alerts)
        return reader.path

    async def edit(self, reader: PageReader, note: str, text: str) -> None:
        """Save a text in the form of a note; ``note`` is the path of its page."""
        await reader.open(f"{note}/edit")
        await reader.submit("Save", text=text)
        assert (reader.path, reader.page.alerts) == (note, ["Saved."])

    async def delete(self, reader: PageReader, note: str) -> None:
        """Delete a note in its form; ``note`` is the path of its page."""
        await reader.open(f"{note}/delete")
        await reader.submit("Delete the note")
        assert "It is among the deleted notes" in reader.page.alerts[0]

    async def account_id(self) -> AccountId:
        """The account of Ann, who owns the workspace."""

        async def script(transaction: Transaction) -> str:
            row = await transaction.fetch_one(
                "SELECT account_id FROM members WHERE workspace_id = $1::uuid", self.workspace_id
            )
            assert row is not None
            return str(row[0])

        return AccountId(await self.house.users.identity.store.read(script))

    def creations(self, paths: Sequence[str]) -> list[CreateFile]:
        """Operations that create empty notes."""
        new_id = self.house.users.identity.sources.new_id
        return [CreateFile(FileId(new_id()), path, note_text("")) for path in paths]

    async def create(self, path: str, text: str) -> str:
        """Create a note as a device does, and return the path of its page."""
        [made] = self.creations([path])
        await self.house.users.push(self.workspace_id, replace(made, content=note_text(text)))
        return f"{self.base}/notes/{made.file_id}"

    async def replace(self, note: str, text: str) -> None:
        """Replace the text of a note as a device does; ``note`` is the path of its page."""
        file_id = FileId(note.rpartition("/")[2])
        found = await self.house.users.identity.store.read(
            file(WorkspaceId(self.workspace_id), file_id)
        )
        assert found is not None
        expected = frozenset({str(found.revision.revision_id)})
        update = UpdateFile(file_id, expected, note_text(text))
        await self.house.users.push(self.workspace_id, update)

    async def texts(self) -> dict[str, str]:
        """The texts of live notes, by their paths."""

        async def script(transaction: Transaction) -> dict[str, str]:
            rows = await transaction.fetch_all(
                "SELECT path, compressed FROM files JOIN contents"
                " ON contents.pk = files.content WHERE state = 'live'"
            )
            return {row[0]: decompressed(row[1], row[0]) for row in rows}

        return await self.house.users.identity.store.read(script)


@pytest.fixture
async def vault(house: Installation, ann: PageReader) -> AsyncIterator[Vault]:
    base = (await create_workspace(house, ann)).removesuffix("/links")
    async with house.users.running():
        yield Vault(house, base)

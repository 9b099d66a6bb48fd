"""The pages of what programs changed in a workspace."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import pytest
from octavo_rules.content import note_text
from octavo_rules.identity import FileId, ProgramNumber, WorkspaceId

from octavo.model.files.changeset import CreateFile, UpdateFile
from octavo.store import Transaction
from octavo.store.queries.files import list_of
from tests.fakes.page_reader import Installation, PageReader, installation
from tests.fakes.users_api import ADDRESS
from tests.features.publishing.pages.test_publications import HOSTILE, create_workspace, escaped

CLIENT = "https://assistant.example/client.json"


class Changed:
    """A workspace of Ann in which a program has created a note."""

    def __init__(self, house: Installation, base: str, account: str, number: ProgramNumber) -> None:
        self.house = house
        self.base = base
        self.account = account
        self.number = number

    @property
    def workspace_id(self) -> str:
        return self.base.rpartition("/")[2]

    @property
    def undo(self) -> str:
        return f"{self.base}/programs/undo?{urlencode({'client': CLIENT, 'account': self.account})}"

    async def create(self, path: str) -> FileId:
        file_id = FileId(self.house.users.identity.sources.new_id())
        made = CreateFile(file_id, path, note_text("By a program."))
        await self.house.users.push(
            self.workspace_id, made, author=self.account, program=self.number
        )
        return file_id

    async def update(self, file_id: FileId, text: str) -> None:
        found = await self.house.users.identity.store.read(
            list_of(WorkspaceId(self.workspace_id), "live", "", ("", ""), 100)
        )
        [head] = [each.revision_id for each in found if each.file_id == file_id]
        made = UpdateFile(file_id, frozenset({str(head)}), note_text(text))
        await self.house.users.push(self.workspace_id, made)

    async def paths(self) -> list[str]:
        found = await self.house.users.identity.store.read(
            list_of(WorkspaceId(self.workspace_id), "live", "", ("", ""), 100)
        )
        return [each.path for each in found]


async def ann_of(house: Installation) -> str:
    """The id of the account of Ann."""

    async def script(transaction: Transaction) -> str:
        [row] = await transaction.fetch_all("SELECT id FROM accounts WHERE address = $1", ADDRESS)
        return str(row[0])

    return await house.users.identity.store.read(script)


@asynccontextmanager
async def changing(house: Installation, ann: PageReader) -> AsyncIterator[Changed]:
    links = await create_workspace(house, ann)
    base = links.removesuffix("/links")
    account = await ann_of(house)
    number = await house.users.program(CLIENT, "An assistant")
    async with house.users.running():
        yield Changed(house, base, account, number)


@pytest.fixture
async def changed(house: Installation, ann: PageReader) -> AsyncIterator[Changed]:
    async with changing(house, ann) as made:
        yield made


async def test_changes_are_undone_where_the_endpoint_is_off() -> None:
    with installation(mcp=False) as house:
        ann = await house.person(role="administrator")
        async with changing(house, ann) as changed:
            await changed.create("a.md")
            await ann.open(changed.undo)
            await ann.submit("Undo the changes to this file")
            assert await changed.paths() == []
            assert ann.path == f"{changed.base}/programs"
            assert "/account/connections" not in ann.text
            await ann.open(f"{changed.base}/members")
            assert f"{changed.base}/programs" not in ann.text


async def test_workspace_without_programs_says_what_they_are(
    ann: PageReader, changed: Changed
) -> None:
    await ann.open(f"{changed.base}/programs")
    assert "No program has changed anything here" in ann.text
    assert f'href="{changed.base}/programs" aria-current="page">Programs<' in ann.text


async def test_recent_changes_name_the_program(ann: PageReader, changed: Changed) -> None:
    await changed.create("a.md")
    await ann.open(f"{changed.base}/recent")
    assert '"How"><bdi>An assistant</bdi></td>' in ann.text


async def test_program_is_listed_and_undone(ann: PageReader, changed: Changed) -> None:
    await changed.create("a.md")
    await changed.create("b.md")
    await ann.open(f"{changed.base}/programs")
    await ann.open(ann.page.links["Undo… what An assistant changed"])
    assert ann.page.headings == ["Undo what An assistant changed"]
    assert "is deleted" in ann.text
    await ann.submit("Undo the changes to 2 files")
    assert ann.path == f"{changed.base}/programs"
    assert ann.page.alerts == ["The changes of the program are undone."]
    assert await changed.paths() == []
    assert "undone</span>" in ann.text
    assert "Undo… what An assistant changed" not in ann.page.links


async def test_file_that_somebody_changed_since_is_named(ann: PageReader, changed: Changed) -> None:
    mine = await changed.create("mine.md")
    await changed.create("theirs.md")
    await changed.update(mine, "By me.")
    await ann.open(changed.undo)
    assert "Somebody has changed it since." in ann.text
    await ann.submit("Undo the changes to this file")
    assert await changed.paths() == ["mine.md"]


async def test_each_of_many_files_that_stay_is_named(ann: PageReader, changed: Changed) -> None:
    names = [f"{number:02}.md" for number in range(25)]
    for name in names:
        await changed.update(await changed.create(name), "By me.")
    await ann.open(changed.undo)
    assert ann.text.count("Somebody has changed it since.") == len(names)
    assert all(f">{name}</strong>" in ann.text for name in names)


async def test_undo_that_was_done_says_that_nothing_is_left(
    ann: PageReader, changed: Changed
) -> None:
    await changed.create("a.md")
    await ann.open(changed.undo)
    form = ann.form("Undo the changes to this file")
    for _ in range(2):
        await ann.send(form.action, **form.fields)
        assert ann.path == f"{changed.base}/programs"
    await ann.open(changed.undo)
    assert "Nothing to undo" in ann.text


@pytest.mark.parametrize(
    ("name", "minutes"),
    [("The last 10 minutes", 10), ("The last hour", 60), ("The last day", 24 * 60)],
)
async def test_shorter_period_is_offered(
    ann: PageReader, changed: Changed, name: str, minutes: int
) -> None:
    await changed.create("old.md")
    changed.house.users.identity.sources.time += (minutes + 1) * 60
    await changed.create("new.md")
    await ann.open(changed.undo)
    await ann.open(ann.page.links[name])
    assert "new.md" in ann.text
    assert "old.md" not in ann.text
    await ann.submit("Undo the changes to this file")
    assert await changed.paths() == ["old.md"]


async def test_everything_leaves_out_what_cannot_be_undone_any_more(changed: Changed) -> None:
    await changed.create("old.md")
    changed.house.users.identity.sources.time += 40 * 86_400
    await changed.create("new.md")
    ann = await changed.house.signed_in(ADDRESS)
    await ann.open(changed.undo)
    changed.house.users.identity.sources.time += 60
    await ann.submit("Undo the changes to this file")
    assert await changed.paths() == ["old.md"]


async def test_names_are_text(house: Installation, ann: PageReader, changed: Changed) -> None:
    changed.number = await house.users.program(CLIENT, HOSTILE)
    await changed.create("a.md")
    for page in (f"{changed.base}/programs", changed.undo):
        await ann.open(page)
        assert escaped(HOSTILE) in ann.text


async def test_time_that_is_too_early_is_explained(ann: PageReader, changed: Changed) -> None:
    await changed.create("a.md")
    await ann.open(f"{changed.undo}&{urlencode({'since': '1990-01-01T00:00:00Z'})}")
    assert ann.status == 400
    assert "Earlier revisions may have been removed" in ann.page.alerts[0]


@pytest.mark.parametrize("since", ["2027-01-01", "yesterday", ""])
async def test_without_a_valid_time_everything_is_offered(
    ann: PageReader, changed: Changed, since: str
) -> None:
    await changed.create("a.md")
    await ann.open(f"{changed.undo}&{urlencode({'since': since})}")
    assert ann.status == 200
    assert "Undo the changes to this file" in ann.text


async def test_unknown_program_is_not_found(ann: PageReader, changed: Changed) -> None:
    await ann.open(changed.undo)
    assert ann.status == 404


async def test_stranger_finds_no_workspace(bob: PageReader, changed: Changed) -> None:
    for page in (f"{changed.base}/programs", changed.undo):
        await bob.open(page)
        assert bob.status == 404

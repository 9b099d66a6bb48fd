"""The feed of a folder, and what else is read within it, on both engines."""

import random
from collections.abc import AsyncIterator

import pytest
from octavo_rules.identity import READ, START, AccountId, FileId, Position, RevisionId, WorkspaceId

from octavo.documents import merged
from octavo.features.accounts.rules.session import ApiKey
from octavo.features.accounts.sql import api_keys
from octavo.features.sync import sql as folder_feed
from octavo.model.access.account import AccessLimits, KeyId, parse_scopes
from octavo.model.files.confinement import Confinement
from octavo.store.queries import files
from octavo.store.queries.feed import FeedSlice, Since, live_at
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite

VAULT = WorkspaceId("vault")
TEA = Confinement("tea")
ANN = AccountId("ann")
LIMITS = AccessLimits(parse_scopes([READ]), frozenset({VAULT}), TEA.folder)
OTHERS = AccessLimits(parse_scopes([READ]), frozenset({WorkspaceId("other")}), TEA.folder)
COFFEE = AccessLimits(parse_scopes([READ]), frozenset({VAULT}), "coffee")
PLACES = ["tea/{}.md", "TEA/green/{}.md", "teapot/{}.md", "{}.md"]
ROOMY = 1 << 30


async def page(
    notebook: Notebook,
    after: int,
    mark: RevisionId | None = None,
    limit: int = 100,
    *,
    texts: bool = False,
    most: int = ROOMY,
) -> FeedSlice:
    since = Since(Position(after), mark)
    script = folder_feed.folder_feed(VAULT, since, limit, most, TEA, texts=texts)
    found = await notebook.store.read_much(script)
    assert found is not None
    return found


class Device:
    """Follows the feed of the folder."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.after = START
        self.files: dict[str, str] = {}
        self.heard: set[str] = set()

    async def sync(self, limit: int, pages: int = 1_000) -> None:
        for _ in range(pages):
            found = await page(self.notebook, *self.after, limit)
            assert [each.revision.position for each in found.entries] == sorted(
                each.revision.position for each in found.entries
            )
            for each in found.entries:
                revision = each.revision
                assert TEA.covers(revision.path) or revision.state == "purged"
                assert self.after.position < revision.position <= found.following.position
                self.heard.add(revision.file_id)
                if revision.state == "live":
                    self.files[revision.file_id] = revision.path
                else:
                    self.files.pop(revision.file_id, None)
            self.after = found.following
            if found.following == found.cursor:
                return


class FolderFeeds:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def notebook(self, opened: Opened) -> AsyncIterator[Notebook]:
        async with opened() as store:
            notebook = await Notebook(store, VAULT).open()
            await notebook.execute(
                "INSERT INTO accounts (id, address, display_name, password, role, state,"
                " created_at, updated_at)"
                " VALUES ($1::uuid, 'a', 'a', '', 'member', 'enabled', 0, 0)",
                ANN,
            )
            for number, limits in enumerate((LIMITS, None, OTHERS, COFFEE)):
                key = ApiKey(KeyId(f"k{number}"), ANN, "a", 0, None, None, limits)
                await store.write(api_keys.create(key, b"%d" % number))
            yield notebook

    @pytest.mark.parametrize("seed", range(12))
    async def test_device_has_what_is_in_the_folder_whenever_it_follows(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch, seed: int
    ) -> None:
        chance = random.Random(seed)
        monkeypatch.setattr(folder_feed, "MAX_REVISIONS", chance.choice([1, 2, 5, 5_000]))
        device = Device(notebook)
        inside: set[str] = set()
        for _ in range(60):
            file = chance.choice("abcdef")
            head = notebook.heads.get(file)
            if head is not None and head.state == "purged":
                continue
            if head is not None and head.state == "deleted":
                await (notebook.purge(file) if chance.random() < 0.3 else notebook.restore(file))
            elif head is not None and chance.random() < 0.2:
                await notebook.delete(file)
            elif head is None or chance.random() < 0.5:
                await notebook.write(file, "text", chance.choice(PLACES).format(file))
            else:
                await notebook.write(file, f"{chance.random()}")
            if TEA.covers(notebook.heads[file].path):
                inside.add(file)
            if chance.random() < 0.2:
                await device.sync(chance.choice([1, 2, 100]), chance.choice([1, 3, 1_000]))
        await device.sync(chance.choice([1, 2, 100]))
        assert device.files == {
            file: head.path
            for file, head in notebook.heads.items()
            if head.state == "live" and TEA.covers(head.path)
        }
        assert device.heard <= inside

    async def test_changes_outside_are_not_listed_after_the_departure(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "one", "tea/a.md")
        await notebook.move("a", "secret.md")
        await notebook.write("a", "two")
        [gone] = (await page(notebook, 1)).entries
        assert (gone.revision.state, gone.revision.path) == ("deleted", "tea/a.md")
        assert (gone.revision.position, gone.text) == (2, None)
        after = await page(notebook, 2)
        assert (after.entries, after.following, after.cursor.position) == ([], after.cursor, 3)

    async def test_purge_is_listed_for_those_who_knew_the_file(self, notebook: Notebook) -> None:
        places = {"a": "TEA/a.md", "b": "b.md", "c": "tea/c.md", "d": "coffee/d.md"}
        for file, path in places.items():
            await notebook.write(file, "", path)
        await notebook.move("c", "c.md")
        for file in places:
            await notebook.delete(file)
            await notebook.purge(file)
        found = (await page(notebook, 5)).entries
        assert [(each.revision.file_id, each.revision.state) for each in found] == [
            ("a", "purged"),
            ("c", "purged"),
        ]
        assert await notebook.count("folder_purges") == 3
        await notebook.store.write(api_keys.revoke(ANN, KeyId("k0")))
        assert await notebook.count("folder_purges") == 1
        assert (await page(notebook, 5)).entries == []

    async def test_page_with_texts_is_limited_by_their_size(self, notebook: Notebook) -> None:
        for file in "abc":
            await notebook.write(file, "x" * 10, f"tea/{file}.md")
        await notebook.write("d", "x" * 1_000, "d.md")
        first = await page(notebook, 0, texts=True, most=20)
        assert [each.text for each in first.entries] == ["x" * 10] * 2
        rest = await page(notebook, *first.following, texts=True, most=20)
        assert ([each.text for each in rest.entries], rest.following.position) == (["x" * 10], 4)
        alone = await page(notebook, 0, texts=True, most=5)
        assert (alone.texts, alone.following.position) == (False, 1)
        assert [each.text for each in alone.entries] == [None]

    async def test_unknown_workspace_has_no_feed(self, notebook: Notebook) -> None:
        none = WorkspaceId("none")
        script = folder_feed.folder_feed(none, Since(Position(0)), 1, ROOMY, TEA, texts=False)
        assert await notebook.store.read_much(script) is None

    async def test_files_are_listed_in_pages_whatever_is_outside(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_STEP", 2)
        for file in "abcdefgh":
            place = PLACES["abcdefgh".index(file) % len(PLACES)]
            await notebook.write(file, "", place.format(file))
        listed: list[str] = []
        after = ("", "")
        while True:
            script = files.list_of(VAULT, "live", "", after, 1, TEA)
            found = await notebook.store.read_much(script)
            if not found:
                break
            listed += [each.path for each in found]
            after = (found[-1].path, found[-1].file_id)
        assert listed == ["TEA/green/b.md", "TEA/green/f.md", "tea/a.md", "tea/e.md"]

    async def test_revisions_are_those_inside_of_files_inside(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_STEP", 2)
        for path in ("a.md", "tea/a.md", "b.md", "c.md", "d.md", "tea/e.md"):
            await notebook.write("a", path, path)
        script = files.revisions_of(VAULT, FileId("a"), Position(100), 10, TEA)
        found = await notebook.store.read_much(script)
        assert [each.path for each in found] == ["tea/e.md", "tea/a.md"]
        revisions = [each.revision_id for each in found]
        hidden = notebook.heads["a"].revision_id
        _, read = await notebook.store.read_much(files.files(VAULT, [], revisions, ROOMY, TEA))
        assert [each.text for each in read] == ["tea/e.md", "tea/a.md"]
        assert await notebook.store.read(files.revision(VAULT, FileId("a"), hidden, TEA))
        await notebook.move("a", "f.md")
        assert await notebook.store.read_much(script) == []
        assert await notebook.store.read(files.revision(VAULT, FileId("a"), hidden, TEA)) is None
        nothing = await notebook.store.read_much(
            files.whole_files(VAULT, [FileId("a")], revisions, 0, merged, TEA)
        )
        assert nothing == ([], [])

    async def test_files_at_a_position_are_those_inside_then(self, notebook: Notebook) -> None:
        await notebook.write("a", "one", "tea/a.md")
        await notebook.write("b", "two", "b.md")
        await notebook.move("a", "a.md")
        await notebook.move("b", "tea/b.md")
        for position, expected in ((2, ["a"]), (3, []), (4, ["b"])):
            script = live_at(VAULT, Position(position), FileId(""), 10, ROOMY, TEA)
            found, _ = await notebook.store.read_much(script)
            assert [each.revision.file_id for each in found] == expected


class TestSqliteFolderFeeds(FolderFeeds):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class TestPostgresFolderFeeds(FolderFeeds):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(1).random)

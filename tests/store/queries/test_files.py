"""Lists of files on both engines, page by page while files change."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.model.files.changeset import Outcome
from octavo.model.files.confinement import Confinement
from octavo.model.files.revision import Revision
from octavo.store.queries import files
from octavo.store.queries.files import newest_above
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite

VAULT = WorkspaceId("vault")


class Reader:
    """Reads the pages of `recent`, and collects the files."""

    def __init__(
        self,
        notebook: Notebook,
        limit: int,
        state: str = "live",
        prefix: str = "",
        within: Confinement | None = None,
    ) -> None:
        self._notebook = notebook
        self._asked = (state, prefix, limit, within)
        self.place: files.RecentPlace | None = newest_above(0)
        self.pages: list[list[str]] = []

    async def turn(self) -> None:
        assert self.place is not None
        state, prefix, limit, within = self._asked
        script = files.recent(VAULT, state, prefix, self.place, limit, within)
        page, self.place = await self._notebook.store.read_much(script)
        assert len(page) <= limit
        # An empty page would be taken for the last one.
        assert page or self.place is None
        assert sorted(page, key=place_in_order) == page
        self.pages.append([each.file_id for each in page])

    async def rest(self, most: int) -> set[str]:
        """Read to the end, in at most so many pages; return all files."""
        while self.place is not None:
            await self.turn()
            most -= 1
            assert most >= 0
        return {each for page in self.pages for each in page}


def place_in_order(head: Revision) -> tuple[int, str]:
    return -head.position, head.file_id


class ChangedFiles:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def notebook(self, opened: Opened) -> AsyncIterator[Notebook]:
        async with opened() as store:
            notebook = await Notebook(store, VAULT).open()
            for number in range(9):
                await notebook.write(f"f{number}", "text", f"{'ab'[number % 2]}/{number}.md")
            yield notebook

    async def test_unchanged_files_are_listed_once(self, notebook: Notebook) -> None:
        for limit in (1, 2, 3, 8, 9, 10):
            reader = Reader(notebook, limit)
            await reader.rest(9 // limit + 1)
            listed = [each for page in reader.pages for each in page]
            assert listed == [f"f{number}" for number in reversed(range(9))]

    async def test_file_that_moves_above_the_pages_is_listed_after_the_others(
        self, notebook: Notebook
    ) -> None:
        reader = Reader(notebook, 4)
        await reader.turn()
        await notebook.write("f0", "changed")
        await notebook.write("f8", "changed")
        await reader.rest(3)
        assert reader.pages == [
            ["f8", "f7", "f6", "f5"], ["f4", "f3", "f2", "f1"], ["f8", "f0"],
        ]  # fmt: skip

    async def test_page_is_not_empty_because_its_last_file_has_changed(
        self, notebook: Notebook
    ) -> None:
        reader = Reader(notebook, 8)
        await reader.turn()
        await notebook.write("f0", "changed")
        await reader.rest(1)
        assert reader.pages[1:] == [["f0"]]

    async def test_one_page_needs_no_other(self, notebook: Notebook) -> None:
        reader = Reader(notebook, 9)
        await reader.turn()
        assert reader.place is None

    @pytest.mark.parametrize("state", ["live", "deleted"])
    @pytest.mark.parametrize("seed", range(12))
    async def test_no_file_that_exists_all_the_time_is_left_out(
        self, notebook: Notebook, state: str, seed: int
    ) -> None:
        chance = random.Random(f"{state} {seed}")
        within = chance.choice([None, None, Confinement("a")])
        prefix = chance.choice(["", "", "a/"])
        if state == "deleted":
            for number in range(9):
                await notebook.delete(f"f{number}")
        reader = Reader(notebook, chance.randint(1, 5), state, prefix, within)
        stayed = {
            name
            for name, head in notebook.heads.items()
            if head.path.startswith("a/" if within or prefix else "")
        }
        made = 0

        async def touch(name: str) -> None:
            if state == "deleted":
                await notebook.keep(notebook.change(name, "deleted"))
            else:
                await notebook.write(name, f"text {chance.random()}")

        async def leave(name: str) -> None:
            stayed.discard(name)
            await (notebook.restore(name) if state == "deleted" else notebook.delete(name))

        async def move(name: str) -> None:
            stayed.discard(name)
            path = f"{chance.choice('ab')}/moved {chance.random()}.md"
            kind: Outcome = "deleted" if notebook.heads[name].state == "deleted" else "updated"
            await notebook.keep(notebook.change(name, kind, path=path))

        async def create(_name: str) -> None:
            nonlocal made
            made += 1
            await notebook.write(f"new{made}", "text", f"a/new {made}.md")

        acts: list[Callable[[str], Awaitable[None]]] = [touch, touch, touch, leave, move, create]
        for _ in range(30):
            if reader.place is not None and chance.random() < 0.4:
                await reader.turn()
            await chance.choice(acts)(chance.choice([*notebook.heads]))
        found = await reader.rest(2 * len(notebook.heads) + 2)
        assert stayed <= found


class TestChangedFilesOnSqlite(ChangedFiles):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class TestChangedFilesOnPostgres(ChangedFiles):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

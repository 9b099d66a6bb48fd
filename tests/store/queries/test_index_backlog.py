"""Links and words are indexed after the commits: step by step, each note once."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import trio
from octavo_rules.identity import WorkspaceId

from octavo.actors.jobs.indexing import index_some
from octavo.features.links.sql.link_index import LINKS, remove_some_links
from octavo.features.links.sql.link_queries import unresolved_links
from octavo.features.search.sql.fulltext_index import (
    WORDS,
    erase_removed_words,
    remove_some_notes,
    remove_some_words,
    request_erasure,
)
from octavo.store import Transaction
from octavo.store.queries.index_backlog import (
    SLICE_BYTES,
    FileIndex,
    commit_step,
    next_step,
    workspaces_to_index,
)
from octavo.store.queries.sweeping import rows_of
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite

VAULT = WorkspaceId("vault")
OTHER = WorkspaceId("other")


class CatchingUp:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def notebook(self, opened: Opened) -> AsyncIterator[Notebook]:
        async with opened() as store:
            yield await Notebook(store, VAULT).open()

    async def test_backlog_is_indexed_step_by_step(self, notebook: Notebook) -> None:
        for number in range(450):
            change = notebook.change(
                f"f{number:03}", "created", path=f"{number}.md", text="[[1]] red"
            )
            await notebook.keep(change)
        await notebook.write("f001", "blue")
        await notebook.delete("f002")
        assert await notebook.catch_up() == await notebook.index_links() == 5
        assert not await notebook.is_waiting()
        assert not await notebook.is_waiting(LINKS)
        assert len(await notebook.search("red")) == 448
        assert await notebook.search("blue") == ["f001"]
        assert (await notebook.count("link_index"), await notebook.count("fulltext_notes")) == (
            449,
            449,
        )
        assert await notebook.count("link_sources") == 448

    async def test_links_are_indexed_before_the_words(self, notebook: Notebook) -> None:
        for number in range(250):
            change = notebook.change(f"f{number:03}", "created", path=f"{number}.md", text="[[1]]")
            await notebook.keep(change)
        await notebook.write("f001", "[[2]] [[3]]")
        await notebook.delete("f002")
        assert await notebook.index_links() == 3
        assert (await notebook.count("link_index"), await notebook.count("fulltext_notes")) == (
            249,
            0,
        )
        assert await notebook.count("link_sources") == 250
        assert await notebook.is_waiting()
        assert not await notebook.is_waiting(LINKS)
        await notebook.catch_up()
        assert (await notebook.count("link_sources"), await notebook.count("fulltext_notes")) == (
            250,
            249,
        )

    async def test_words_are_indexed_before_the_links(self, notebook: Notebook) -> None:
        await notebook.write("a", "[[a]]")
        await notebook.catch_up()
        assert (await notebook.is_waiting(), await notebook.is_waiting(LINKS)) == (False, True)
        assert (await notebook.count("fulltext_notes"), await notebook.count("link_index")) == (
            1,
            0,
        )
        await notebook.index_links()
        assert await notebook.count("link_index") == 1

    async def test_links_of_one_commit_of_many_files_are_indexed_step_by_step(
        self, notebook: Notebook
    ) -> None:
        made = [
            notebook.change(f"f{number:03}", "created", path=f"{number}.md", text="[[1]]")
            for number in range(250)
        ]
        await notebook.keep(*made)
        await notebook.step(LINKS)
        assert await notebook.count("link_index") == 100
        await notebook.write("f005", "[[2]]")
        assert await notebook.index_links() == 2
        assert await notebook.count("link_index") == 250

    async def test_links_of_little_text_are_indexed_immediately(self, notebook: Notebook) -> None:
        for number in range(5):
            await notebook.write(f"f{number}", "red " * (SLICE_BYTES // 8 - 10))
        assert await notebook.index_links() == 3

    async def test_attachments_count_as_no_text(self, notebook: Notebook) -> None:
        for number in range(5):
            change = notebook.change(f"i{number}", "created", path=f"attachments/{number}.png")
            await notebook.keep(replace(change, head=replace(change.head, size=SLICE_BYTES)))
        assert await notebook.index_links() == await notebook.catch_up() == 1

    async def test_unknown_workspace_has_nothing_to_index(self, notebook: Notebook) -> None:
        indexes: tuple[FileIndex[Any], ...] = (LINKS, WORDS)
        for index in indexes:
            assert await notebook.store.read(workspaces_to_index(index, [OTHER])) == []
            assert await index_some(notebook.store, index, [OTHER]) == ([], [])

    async def test_failed_step_indexes_nothing_and_leaves_the_cursor(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "[[a]] red")

        links = await notebook.store.read(next_step(LINKS, [VAULT]))
        words = await notebook.store.read(next_step(WORDS, [VAULT]))

        async def fail_late(transaction: Transaction) -> None:
            assert await commit_step(links)(transaction) == ([], [])
            assert await commit_step(words)(transaction) == ([], [])
            raise RuntimeError

        with pytest.raises(RuntimeError):
            await notebook.store.write(fail_late)
        for table in ("link_index", "link_sources", "fulltext_notes", "index_cursors"):
            assert await notebook.count(table) == 0
        assert (await notebook.is_waiting(), await notebook.is_waiting(LINKS)) == (True, True)

    @pytest.mark.parametrize("index", [LINKS, WORDS], ids=["links", "words"])
    async def test_step_that_was_overtaken_stores_nothing(
        self, notebook: Notebook, index: FileIndex[Any]
    ) -> None:
        for number in range(150):
            await notebook.write(f"f{number:03}", "red [[1]]")
        late = await notebook.store.read(next_step(index, [VAULT]))
        assert await notebook.step(index) == [VAULT]
        assert await notebook.store.write(commit_step(late)) == ([VAULT], [])
        await notebook.catch_up(index)
        assert await notebook.store.write(commit_step(late)) == ([VAULT], [])
        table = "link_index" if index is LINKS else "fulltext_notes"
        assert await notebook.count(table) == 150

    async def test_files_that_change_during_a_step_are_indexed_after_it(
        self, notebook: Notebook
    ) -> None:
        for name in "abcde":
            await notebook.write(name, "red [[x]]")
        await notebook.catch_up()
        await notebook.index_links()
        for name in "abcde":
            await notebook.write(name, "blue [[y]]")
        links = await notebook.store.read(next_step(LINKS, [VAULT]))
        words = await notebook.store.read(next_step(WORDS, [VAULT]))
        await notebook.write("a", "green [[z]]")
        await notebook.move("b", "moved.md")
        await notebook.delete("c")
        await notebook.delete("d")
        await notebook.purge("d")
        assert await notebook.store.write(commit_step(links)) == ([], [])
        assert await notebook.store.write(commit_step(words)) == ([], [])
        assert (await notebook.count("link_index"), await notebook.count("fulltext_notes")) == (
            4,
            4,
        )
        await notebook.index_links()
        found = await notebook.store.read(unresolved_links(VAULT, ("", -1), 9))
        assert [(each.path, each.target) for each in found] == [
            ("a.md", "z"),
            ("moved.md", "y"),
            ("e.md", "y"),
        ]
        assert sorted(await notebook.search("blue")) == ["b", "e"]
        assert await notebook.search("green") == ["a"]

    async def test_note_saved_while_its_links_are_indexed_has_those_of_its_new_text(
        self, notebook: Notebook
    ) -> None:
        async def save() -> None:
            for number in range(15):
                await notebook.write("a", f"[[b{number}]]", f"p{number}.md")

        async def index_all() -> None:
            for _ in range(15):
                await notebook.index_links()

        async with trio.open_nursery() as nursery:
            for call in (save, index_all, index_all):
                nursery.start_soon(call)
        await notebook.index_links()
        found = await notebook.store.read(unresolved_links(VAULT, ("", -1), 9))
        assert [(each.path, each.target) for each in found] == [("p14.md", "b14")]
        assert (await notebook.count("link_sources"), await notebook.count("link_targets")) == (
            1,
            4,
        )

    async def test_note_that_was_saved_often_is_indexed_once(self, notebook: Notebook) -> None:
        other = await Notebook(notebook.store, OTHER).open()
        for number in range(3):
            await notebook.write("a", f"red {number}")
        await notebook.write("b", "red")
        assert await notebook.count("fulltext_notes") == 0
        assert await notebook.store.read(workspaces_to_index(WORDS, [VAULT, OTHER])) == [VAULT]
        assert await notebook.store.read(workspaces_to_index(WORDS)) == [VAULT]
        assert await other.catch_up() == await notebook.catch_up() == 1
        assert await notebook.count("fulltext_notes") == 2
        assert await notebook.store.read(workspaces_to_index(WORDS, [VAULT, OTHER])) == []
        assert await notebook.store.read(workspaces_to_index(WORDS)) == []
        assert await notebook.search("red 2") == ["a"]

    async def test_note_saved_while_being_indexed_is_found_by_its_new_text(
        self, notebook: Notebook
    ) -> None:
        async def save() -> None:
            for number in range(15):
                await notebook.write("a", f"red{number}", f"p{number}.md")

        async def index_all() -> None:
            for _ in range(15):
                await notebook.catch_up()

        async with trio.open_nursery() as nursery:
            for call in (save, index_all, index_all):
                nursery.start_soon(call)
        assert await notebook.search("red14 p14") == ["a"]
        for number in range(14):
            assert await notebook.search(f'"red{number}"') == []
        assert (await notebook.count("fulltext_notes"), await notebook.is_waiting()) == (1, False)

    async def test_one_commit_of_many_files_is_indexed_step_by_step(
        self, notebook: Notebook
    ) -> None:
        made = [
            notebook.change(f"f{number:03}", "created", path=f"{number}.md", text="red")
            for number in range(250)
        ]
        await notebook.keep(*made)
        assert await notebook.step(WORDS) == [VAULT]
        assert await notebook.count("fulltext_notes") == 100
        await notebook.write("f005", "blue")
        assert await notebook.catch_up() == 2
        assert len(await notebook.search("red")) == 249
        assert await notebook.search("blue") == ["f005"]

    async def test_workspaces_are_indexed_together_within_the_limits_of_a_step(
        self, notebook: Notebook
    ) -> None:
        names = [WorkspaceId(f"w{number}") for number in range(5)]
        for name in names:
            each = await Notebook(notebook.store, name).open()
            for number in range(30):
                await each.write(f"f{number}", "red")
        asked = [WorkspaceId("nowhere"), VAULT, *names]
        # A part of the fourth one was indexed: it is the last in the next step.
        left = [names[4], names[3]]
        assert await index_some(notebook.store, WORDS, asked) == (left, [])
        assert await index_some(notebook.store, WORDS, left) == ([], [])
        assert await notebook.store.read(workspaces_to_index(WORDS)) == []

    async def test_little_text_is_indexed_immediately(self, notebook: Notebook) -> None:
        for number in range(20):
            await notebook.write(f"f{number}", "red " * (SLICE_BYTES // 32 - 10))
        assert await notebook.catch_up() == 3

    async def test_words_of_a_purged_note_are_removed_in_its_commit(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "red")
        await notebook.catch_up()
        await notebook.delete("a")
        assert await notebook.count("fulltext_notes") == 1
        await notebook.purge("a")
        assert await notebook.count("fulltext_notes") == 0
        assert await notebook.search("red") == []

    async def test_words_to_be_erased_are_erased_step_by_step(self, notebook: Notebook) -> None:
        assert not await notebook.store.write(erase_removed_words())
        for number in range(40):
            await notebook.write(f"f{number}", f"tide w{number} " * 50)
        await notebook.catch_up()
        await notebook.delete("f7")
        await notebook.catch_up()
        await notebook.store.write(request_erasure)
        while await notebook.store.write(erase_removed_words()):
            await notebook.write("more", "tide")
        assert not await notebook.store.write(erase_removed_words())
        assert await notebook.search("w7") == []
        assert await notebook.search("w8 tide") == ["f8"]
        assert len(await notebook.search("tide")) >= 39

    async def test_deleted_workspace_is_removed_in_portions(self, notebook: Notebook) -> None:
        other = await Notebook(notebook.store, OTHER).open()
        for each in (notebook, other):
            for number in range(25):
                await each.write(f"f{number}", "red [[f1]]")
            await each.catch_up()
            await each.index_links()
            await each.write("late", "red")

        async def forget(transaction: Transaction) -> bool:
            row = await transaction.fetch_one(
                "SELECT pk FROM workspaces WHERE id = $1::uuid", VAULT
            )
            assert row is not None
            steps = (remove_some_notes, remove_some_links, rows_of("index_cursors", "name"))
            for step in steps:
                if await step(transaction, row[0]):
                    return True
            return False

        steps = 0
        while await notebook.store.write(forget):
            steps += 1
        # One for the words, the links, and the cursors.
        assert steps == 3
        for table in (
            "link_index",
            "link_targets",
            "link_sources",
            "index_cursors",
            "fulltext_notes",
        ):
            assert await notebook.count(table) == 0
            assert await other.count(table) > 0
        assert len(await other.search("red")) == 26


class TestCatchingUpOnSqlite(CatchingUp):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite

    async def test_erased_words_are_not_in_the_index(self, notebook: Notebook) -> None:
        async def held(transaction: Transaction) -> bool:
            rows = await transaction.fetch_all("SELECT block FROM search_data")
            return any(b"secret" in row[0] for row in rows)

        for number in range(40):
            await notebook.write(f"f{number}", f"secretary{'' if number == 7 else number} " * 50)
            await notebook.catch_up()
        await notebook.write("f7", "xsecretx")
        await notebook.catch_up()
        await notebook.delete("f7")
        for number in range(40):
            if number != 7:
                await notebook.write(f"f{number}", "tide")
        await notebook.catch_up()
        assert await notebook.store.read(held)
        while await notebook.store.write(remove_some_words()):
            pass
        await notebook.store.write(request_erasure)
        while await notebook.store.write(erase_removed_words()):
            await notebook.write("more", "tide")
        assert not await notebook.store.read(held)


class TestCatchingUpOnPostgres(CatchingUp):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

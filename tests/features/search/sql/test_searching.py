"""Full-text search on both engines: matches, and their visibility."""

import random
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from octavo_rules.identity import AccountId, FileId, WorkspaceId

from octavo.features.links.sql.link_index import LINKS
from octavo.features.search.sql import searching
from octavo.features.search.sql.fulltext_index import (
    WORDS,
    erase_removed_words,
    renew_words,
    words_are_worn_out,
)
from octavo.features.search.sql.searching import MAX_FOUND, candidates, workspaces_of
from octavo.model.files.confinement import Confinement
from octavo.model.search.query import MAX_TOKENS, HeadFilter, parse_query
from octavo.model.search.searched_text import PORTION
from octavo.store import TextDamaged, Transaction
from octavo.store.postgres import transaction as postgres_search
from octavo.store.postgres.transaction import MAX_POSITIONS, PIECE, pieces_of
from octavo.store.queries import files, workspaces
from octavo.store.queries.index_backlog import workspaces_to_index
from octavo.store.queries.sweeping import sweep
from octavo.store.sqlite.connection import connect
from octavo.store.sqlite.search import match
from octavo.store.sqlite.transaction import Statement
from octavo.store.transaction import Matching
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_inline, open_postgres
from tests.store.queries.test_changesets import Opened, on_sqlite, rows_of

VAULT = WorkspaceId("vault")
OTHER = WorkspaceId("other")


class Searches:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def notebook(self, opened: Opened) -> AsyncIterator[Notebook]:
        async with opened() as store:
            yield await Notebook(store, VAULT).open()

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("tide", ["a", "b"]),
            ("TIDE", ["a", "b"]),
            ("tid", ["a", "b", "c"]),
            ("tid red", []),
            ("tid* red", ["b", "c"]),
            ("red tide", ["b"]),
            ("tide red", ["b"]),
            ('"red tide"', []),
            ('"tide red"', ["b"]),
            ('"tide re"', []),
            ('"tide re"*', ["b"]),
            ("tidal", ["c"]),
            ("cafe", ["d"]),
            ("CAFÉ", ["d"]),
            ("naive", ["d"]),
            ("東京", ["e"]),
            ("京都", ["e"]),
            ("東", ["e"]),
            ("都", ["e"]),
            ("東京都", ["e"]),
            ("東都", []),
            ("한국", ["f"]),
            ("국어", ["f"]),
            ("カタ", ["f"]),
            ("snake", ["g"]),
            ("case_x", ["g"]),
            ("nothing", []),
            ("tide nothing", []),
        ],
    )
    async def test_words_are_found(self, notebook: Notebook, query: str, found: list[str]) -> None:
        texts = {
            "a": "The tide.",
            "b": "A tide, red.",
            "c": "tidal red",
            "d": "Café nai\u0308ve",
            "e": "私は東京都に住む",
            "f": "한국어 ｶﾀｶﾅ",
            "g": "snake_case_x",
        }
        for file, text in texts.items():
            await notebook.write(file, text, f"{file}{file}.md")
        assert sorted(await notebook.search(query)) == found

    @pytest.mark.parametrize(
        "query",
        [
            "'", "' OR 1=1 --", "tide OR other", "tide AND NOT other", "NEAR(tide other)",
            "name:tide", "{name} : tide", "^tide", "tide + other", "tide | other", "!tide",
            "tide & other", "tide <-> other", "tide:*", "tide:A", "(tide", "tide)", "\\tide\\",
            "'tide'", "$1", "tide -other", "%", "_", "tide'::tsquery", '""tide""', "*tide",
            "tide**", "\x01tide", "tide\u200bother",
        ],
    )  # fmt: skip
    async def test_operators_of_an_engine_are_text(self, notebook: Notebook, query: str) -> None:
        await notebook.write("a", "other")
        try:
            parse_query(query)
        except ValueError:
            return
        assert await notebook.search(query) == []
        await notebook.write("b", query)
        assert await notebook.search(query) == ["b"]

    async def test_name_title_and_text_are_searched_together(self, notebook: Notebook) -> None:
        await notebook.write("a", "# Red\nhigh", "tide/night.md")
        for query in ("tide", "night", "red tide", "red high night", "tide high"):
            assert await notebook.search(query) == ["a"]
        assert await notebook.search("md") == []

    async def test_folder_restricts_the_results(self, notebook: Notebook) -> None:
        for file, path in {"a": "x/a.md", "b": "x/y/b.md", "c": "xy/c.md", "d": "x.md"}.items():
            await notebook.write(file, "tide", path)
        assert sorted(await notebook.search("tide", "x")) == ["a", "b"]
        assert sorted(await notebook.search("tide", "/x/")) == ["a", "b"]
        assert await notebook.search("tide", "x/y") == ["b"]
        assert len(await notebook.search("tide", "/")) == 4
        assert await notebook.search("tide", "z") == []

    async def test_search_within_a_folder_knows_nothing_else(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(searching, "MAX_FOUND", 3)
        monkeypatch.setattr(searching, "_MIN_FOUND", 3)
        within = Confinement("x/y")
        for file, path in {"a": "x/y/a.md", "b": "X/Y/z/b.md", "c": "x/c.md"}.items():
            await notebook.write(file, "tide", path)
        for number in range(5):
            await notebook.write(f"o{number}", "tide", f"tide{number}.md")
        assert sorted(await notebook.search("tide", within=within)) == ["a", "b"]
        assert sorted(await notebook.search("tide", "x", within)) == ["a"]
        assert await notebook.search("tide", "X/Y/z", within) == ["b"]
        assert await notebook.search("tide", "q", within) == []
        script = candidates([VAULT], parse_query("tide"), None, within)
        assert not (await notebook.store.read_much(script)).more
        # The index still has the path within the folder.
        await notebook.move("a", "secret.md")
        script = candidates([VAULT], parse_query("tide"), None, within)
        found = await notebook.store.read_much(script)
        assert [each.path for each in found.candidates] == ["X/Y/z/b.md"]

    async def test_last_change_restricts_the_results(self, notebook: Notebook) -> None:
        await notebook.write("a", "tide")
        await notebook.write("b", "tide", "x/b.md")
        notebook.author = "ben"
        await notebook.write("c", "tide", "x/c.md")
        await notebook.move("a", "x/a.md")
        times = {file: head.created_at for file, head in notebook.heads.items()}
        ann, ben = AccountId("ann"), AccountId("ben")
        for heads, found in (
            (HeadFilter(), ["a", "b", "c"]),
            (HeadFilter(author=ann), ["b"]),
            (HeadFilter(author=ben), ["a", "c"]),
            (HeadFilter(author=AccountId("nobody")), []),
            (HeadFilter(since=times["b"]), ["a", "b", "c"]),
            (HeadFilter(since=times["c"]), ["a", "c"]),
            (HeadFilter(since=times["a"] + 1), []),
            (HeadFilter(before=times["c"]), ["b"]),
            (HeadFilter(times["c"], times["a"]), ["c"]),
            (HeadFilter(times["c"], times["a"], ann), []),
        ):
            assert sorted(await notebook.search("tide", heads=heads)) == found, heads
            assert sorted(await notebook.search("tide", "x", Confinement("x"), heads)) == found

    async def test_older_matches_of_the_author_are_found_beyond_the_limit(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(searching, "MAX_FOUND", 3)
        monkeypatch.setattr(searching, "_MIN_FOUND", 3)
        await notebook.write("a", "tide")
        await notebook.write("b", "of the tide", "tide.md")
        notebook.author = "ben"
        for number in range(5):
            await notebook.write(f"c{number}", "tide", f"tide{number}.md")
        asked, heads = parse_query("tide"), HeadFilter(author=AccountId("ann"))
        found = await notebook.store.read_much(candidates([VAULT], asked, None, None, heads))
        assert not found.more
        # The name counts for more.
        assert await notebook.search("tide", heads=heads) == ["b", "a"]
        newer = HeadFilter(since=notebook.heads["c1"].created_at)
        found = await notebook.store.read_much(candidates([VAULT], asked, None, None, newer))
        assert (found.more, len(found.candidates)) == (True, 3)

    async def test_each_commit_is_found_immediately(self, notebook: Notebook) -> None:
        await notebook.write("a", "red", "one.md")
        await notebook.write("a", "blue")
        assert (await notebook.search("red"), await notebook.search("blue")) == ([], ["a"])
        await notebook.move("a", "two.md")
        assert (await notebook.search("one"), await notebook.search("two blue")) == ([], ["a"])
        await notebook.delete("a")
        assert (await notebook.search("two"), await notebook.search("blue")) == ([], [])
        await notebook.restore("a")
        assert await notebook.search("two blue") == ["a"]
        await notebook.delete("a")
        await notebook.purge("a")
        assert await notebook.search("blue") == []
        assert await notebook.count("link_index") == 0

    async def test_title_is_still_found_after_a_move(self, notebook: Notebook) -> None:
        await notebook.write("a", "# Tide\ntext", "one.md")
        assert await notebook.search("tide one") == ["a"]
        await notebook.move("a", "two.md")
        await notebook.catch_up()
        asked = parse_query("tide two")
        found = await notebook.store.read_much(candidates([VAULT], asked, None))
        assert [each.path for each in found.candidates] == ["two.md"]
        assert await notebook.search("one") == []

    async def test_many_changes_of_a_commit_count_as_the_last(self, notebook: Notebook) -> None:
        await notebook.keep(
            notebook.change("a", "created", path="a.md", text="red"),
            notebook.change("b", "created", path="b.md", text="red"),
            notebook.change("a", "updated", text="blue"),
            notebook.change("a", "updated", path="c.md"),
            notebook.change("b", "deleted"),
        )
        assert await notebook.search("red") == []
        assert await notebook.search("c blue") == ["a"]

    async def test_image_is_not_found(self, notebook: Notebook) -> None:
        await notebook.keep(notebook.change("i", "created", path="attachments/tide.png"))
        assert await notebook.search("tide") == []

    async def test_other_workspaces_are_not_found(self, notebook: Notebook) -> None:
        other = await Notebook(notebook.store, OTHER).open()
        await notebook.write("a", "red tide")
        await other.write("b", "red tide")
        assert await notebook.search("red tide") == ["a"]
        assert await other.search("red tide") == ["b"]
        both = await notebook.store.read_much(candidates([VAULT, OTHER], parse_query("tide"), None))
        assert {each.workspace_id for each in both.candidates} == {VAULT, OTHER}

    async def test_score_does_not_depend_on_other_workspaces(self, notebook: Notebook) -> None:
        async def scores() -> list[object]:
            found = await notebook.store.read_much(candidates([VAULT], parse_query("tide"), None))
            return list(found.candidates)

        await notebook.write("a", "red tide")
        await notebook.catch_up()
        before = await scores()
        assert len(before) == 1
        other = await Notebook(notebook.store, OTHER).open()
        for number in range(5):
            await other.write(f"b{number}", "tide " * 100)
        await other.catch_up()
        assert await scores() == before

    async def test_account_searches_its_workspaces(self, notebook: Notebook) -> None:
        await Notebook(notebook.store, OTHER).open()
        await notebook.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, 'ann', '', '', 'member', 'enabled', 0, 0)",
            "ann",
        )
        await notebook.execute(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'reader', 0)",
            "vault",
            "ann",
        )
        assert await notebook.store.read(workspaces_of(AccountId("ann"))) == [VAULT]
        assert await notebook.store.read(workspaces_of(AccountId("bob"))) == []

    @pytest.mark.parametrize("at", [PIECE - 40, PIECE - 33, PIECE - 2, PIECE, 2 * PIECE - 50])
    async def test_phrase_is_found_across_the_pieces_of_a_text(
        self, notebook: Notebook, at: int
    ) -> None:
        words = [f"w{number}" for number in range(3 * PIECE)]
        await notebook.write("a", " ".join(words))
        phrase = " ".join(words[at : at + MAX_TOKENS])
        assert await notebook.search(f'"{phrase}"') == ["a"]
        assert await notebook.search(f"{words[1]} {words[-1]} {words[PIECE]}") == ["a"]
        assert await notebook.search(f'"{words[1]} {words[-1]}"') == []

    async def test_very_frequent_word_is_found_at_the_end_of_a_phrase(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "tide " * 5000 + "red")
        assert await notebook.search('"tide tide red"') == ["a"]

    async def test_large_text_of_different_words_is_accepted(self, notebook: Notebook) -> None:
        await notebook.write("a", " ".join(f"word{number}x" for number in range(60_000)))
        assert await notebook.search("word59999x word1x") == ["a"]
        await notebook.write("a", "short")
        assert await notebook.search("word59999x") == []

    async def test_matches_over_the_limit_are_reported(self, notebook: Notebook) -> None:
        made = [
            notebook.change(f"f{n:04}", "created", path=f"{n}.md", text="tide")
            for n in range(MAX_FOUND + 1)
        ]
        await notebook.keep(*made)
        await notebook.catch_up()
        found = await notebook.store.read_much(candidates([VAULT], parse_query("tide"), None))
        assert found.more
        assert len(found.candidates) == MAX_FOUND
        assert "f0000" not in {each.file_id for each in found.candidates}
        narrow = await notebook.store.read_much(candidates([VAULT], parse_query("tide 7"), None))
        assert not narrow.more

    @pytest.mark.parametrize("order", [[VAULT, OTHER], [OTHER, VAULT]])
    async def test_matches_over_the_limit_are_reported_in_any_workspace(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch, order: list[WorkspaceId]
    ) -> None:
        monkeypatch.setattr(searching, "MAX_FOUND", 1)
        other = await Notebook(notebook.store, OTHER).open()
        await other.write("few", "tide")
        await other.catch_up()
        texts = {f"f{n}": "tide" for n in range(60)}
        made = [
            notebook.change(file, "created", path=f"{file}.md", text=text)
            for file, text in texts.items()
        ]
        await notebook.keep(*made)
        await notebook.catch_up()
        found = await notebook.store.read_much(candidates(order, parse_query("tide"), None))
        assert found.more
        named = await notebook.store.read_much(candidates(order, parse_query("tide f7"), None))
        assert not named.more

    async def test_workspaces_over_the_limit_are_left_out_and_reported(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(searching, "MAX_WORKSPACES", 1)
        other = await Notebook(notebook.store, OTHER).open()
        await notebook.write("a", "tide")
        await other.write("b", "tide")
        await notebook.catch_up()
        await other.catch_up()
        script = candidates([VAULT, OTHER], parse_query("tide"), None)
        found = await notebook.store.read_much(script)
        assert ([each.file_id for each in found.candidates], found.more) == (["a"], True)

    async def test_match_by_name_is_found_after_many_newer_ones(self, notebook: Notebook) -> None:
        await notebook.write("old", "text", "tide.md")
        made = [
            notebook.change(f"f{n:04}", "created", path=f"{n}.md", text="tide")
            for n in range(MAX_FOUND + 1)
        ]
        await notebook.keep(*made)
        assert (await notebook.search("tide"))[0] == "old"

    async def test_damaged_text_keeps_no_other_from_being_found(self, notebook: Notebook) -> None:
        for file in "abc":
            await notebook.write(file, "tide")
        await notebook.damage("a")
        await notebook.catch_up()
        await notebook.damage("b")
        await notebook.write("d", "tide")
        # The words of one that was indexed before are still there.
        assert sorted(await notebook.search("tide")) == ["b", "c", "d"]
        await notebook.move("b", "moved.md")
        await notebook.catch_up()
        for file in "ab":
            with pytest.raises(TextDamaged, match=file):
                await notebook.store.read(files.file(VAULT, FileId(file)))
            await notebook.delete(file)
            await notebook.purge(file)
            found = await notebook.store.read(files.file(VAULT, FileId(file)))
            assert found is not None
            assert found.text is None
        assert sorted(await notebook.search("tide")) == ["c", "d"]
        while await notebook.store.write(sweep()):
            pass
        assert not await notebook.store.write(erase_removed_words())

    async def test_words_are_found_after_the_index_was_emptied(self, notebook: Notebook) -> None:
        for file in "abc":
            await notebook.write(file, f"tide {file}")
        await notebook.write("long", "tide " * PORTION)
        await notebook.catch_up()
        await notebook.write("b", "ebb")
        await notebook.delete("c")
        await notebook.purge("c")
        await notebook.catch_up(LINKS)
        assert not await notebook.store.read(words_are_worn_out)
        await notebook.store.write(renew_words)
        for table in ("fulltext_notes", "fulltext_removals", "fulltext_beginnings"):
            assert await rows_of(notebook.store, table, "1") == set()
        assert await notebook.store.read(workspaces_to_index(WORDS)) == [VAULT]
        assert await notebook.store.read(workspaces_to_index(LINKS)) == []
        assert sorted(await notebook.search("tide")) == ["a", "long"]
        assert await notebook.search("ebb") == ["b"]

    async def test_deleted_workspace_with_a_damaged_text_is_removed(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "tide")
        await notebook.catch_up()
        await notebook.damage("a")
        await notebook.store.write(workspaces.delete(VAULT))
        while await notebook.store.write(sweep()):
            pass
        for table in ("files", "contents", "fulltext_notes", "deleted_workspaces"):
            assert await rows_of(notebook.store, table, "1") == set()


class TestSearchingOnSqlite(Searches):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite

    async def test_search_takes_no_more_steps_for_other_workspaces(self, tmp_path: Path) -> None:
        store = open_inline(tmp_path / "octavo.db")
        try:
            notebook = await Notebook(store, VAULT).open()
            for number in range(50):
                await notebook.write(f"f{number}", f"tide word{number} tidal")
            await notebook.catch_up()
            alone = _steps(tmp_path)
            assert alone > 0
            other = await Notebook(store, OTHER).open()
            for number in range(1000):
                await other.write(f"g{number}", f"tide word{number} tidal")
            await other.catch_up()
            assert _steps(tmp_path) < 2 * alone
        finally:
            store.close()


def _steps(folder: Path) -> int:
    """How many hundred steps of SQLite's virtual machine some searches take."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(connect(folder / "octavo.db", reading=True)) as connection:
        connection.set_progress_handler(count, 100)
        for query in ("tide", "ti", '"tide word7"', "tide tid"):
            clauses = parse_query(query).clauses
            sql, arguments = match(VAULT, Matching(clauses, False, None, 500))
            statement = Statement(sql)
            connection.execute(statement.sql, statement.bind(arguments)).fetchall()
    return steps


class TestSearchingOnPostgres(Searches):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

    async def test_words_are_looked_up_in_the_index(self, notebook: Notebook) -> None:
        for number in range(30):
            await notebook.write(f"f{number}", f"tide word{number}")
        await notebook.catch_up()
        clauses = parse_query('tide "tide word7" wor').clauses

        async def plan(transaction: Transaction) -> str:
            await transaction.fetch_one(postgres_search.BY_INDEX)
            heads = HeadFilter(1, 2, AccountId("ann"))
            matching = Matching(clauses, False, ("a", "b"), 9, heads)
            sql, arguments = postgres_search.match(VAULT, matching)
            rows = await transaction.fetch_all(f"EXPLAIN {sql}", *arguments)
            return "\n".join(row[0] for row in rows)

        plan_lines = await notebook.store.read(plan)
        assert plan_lines.count("Index Scan on search_by_tokens") == 3
        assert "Seq Scan" not in plan_lines
        assert "search_pkey" not in plan_lines


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 5 * PIECE + 7])
def test_every_phrase_is_within_one_piece(size: int) -> None:
    tokens = [str(number) for number in range(size)]
    pieces = [list(piece) for piece in pieces_of(tokens)]
    assert all(len(piece) <= PIECE for piece in pieces)
    found = {tuple(piece[at : at + MAX_TOKENS]) for piece in pieces for at in range(len(piece))}
    assert {tuple(tokens[at : at + MAX_TOKENS]) for at in range(size)} <= found


def test_piece_holds_no_token_more_often_than_a_vector_can() -> None:
    for piece in pieces_of(["a"] * 3000):
        assert len(piece) <= MAX_POSITIONS

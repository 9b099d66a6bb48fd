"""Links on both engines: queries agree with resolving each link again, indexed or not."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from octavo_rules.identity import FileId, WorkspaceId

from octavo.features.links.reading import read_links
from octavo.features.links.sql import link_index, link_queries
from octavo.features.links.sql.link_index import (
    LINKS,
    LinksOutdated,
    hashed,
    links_in,
    sources_of,
    targets_of,
    unpacked,
)
from octavo.features.links.sql.link_queries import FIRST, OutgoingLink
from octavo.model.files.confinement import Confinement
from octavo.model.links.extraction import links_of
from octavo.model.links.resolution import paths_by_key, resolve
from octavo.store import Script, Store, TextDamaged, Transaction
from octavo.store.compression import decompressed
from octavo.store.queries import index_backlog
from tests.fakes.notebook import Notebook
from tests.fakes.stores import open_inline, open_postgres
from tests.store.queries.test_changesets import on_sqlite

Opened = Callable[[], AbstractAsyncContextManager[Store]]
VAULT = WorkspaceId("vault")
OTHER = WorkspaceId("other")


def outgoing_links(
    workspace_id: WorkspaceId, file_id: FileId, within: Confinement | None = None
) -> Script[list[OutgoingLink] | None]:
    """The links of a note alone."""

    async def read_outgoing(transaction: Transaction) -> list[OutgoingLink] | None:
        found = await link_queries.links_of_file(workspace_id, file_id, 1, within)(transaction)
        return None if found is None else found.outgoing

    return read_outgoing


async def outgoing(
    notebook: Notebook, file: str, within: Confinement | None = None
) -> list[tuple[str, str | None]]:
    """Target and path of each link."""
    script = outgoing_links(notebook.workspace_id, FileId(file), within)
    found = await read_links(notebook.store, notebook.workspace_id, script)
    assert found is not None
    return [(link.target, link.path) for link in found]


async def incoming(
    notebook: Notebook, file: str, limit: int = 100, within: Confinement | None = None
) -> list[tuple[str, str]]:
    """Note and target of each link that leads to a file, page by page."""
    links: list[tuple[str, str]] = []
    after = FIRST
    while True:
        script = link_queries.back_links(notebook.workspace_id, FileId(file), after, limit, within)
        page = await read_links(notebook.store, notebook.workspace_id, script)
        assert page is not None
        if not page:
            return links
        links += [(link.file_id, link.target) for link in page]
        after = (page[-1].file_id, page[-1].number)


async def unresolved(
    notebook: Notebook, limit: int = 100, within: Confinement | None = None
) -> list[tuple[str, str]]:
    """Note and target of each broken link, page by page."""
    links: list[tuple[str, str]] = []
    after = FIRST
    while page := await read_links(
        notebook.store,
        notebook.workspace_id,
        link_queries.unresolved_links(notebook.workspace_id, after, limit, within),
    ):
        links += [(link.file_id, link.target) for link in page]
        after = (page[-1].file_id, page[-1].number)
    return links


async def concerned(notebook: Notebook, *files: str, to: str = "") -> list[str]:
    """The notes that may link to files, or to a path, page by page."""
    notes: list[str] = []
    after: FileId | None = FileId("")
    while after is not None:
        script = link_queries.linking_to(
            notebook.workspace_id, [FileId(each) for each in files], [to] if to else [], after, 10
        )
        page, after = await read_links(notebook.store, notebook.workspace_id, script)
        notes += [note.file_id for note in page]
    return notes


class Links:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture(params=[True, False], ids=["indexed", "unindexed"])
    async def notebook(
        self, opened: Opened, request: pytest.FixtureRequest
    ) -> AsyncIterator[Notebook]:
        async with opened() as store:
            yield await Notebook(store, VAULT, linking=request.param).open()

    async def test_links_lead_to_files_by_path_and_by_name(self, notebook: Notebook) -> None:
        await notebook.write("a", "# A", "x/a.md")
        await notebook.write("b", "[1](a.md) [2](../c) [[a]] [[x/a|3]] [[none]] [[#h]]", "x/b.md")
        assert await outgoing(notebook, "b") == [
            ("a.md", "x/a.md"),
            ("../c", None),
            ("a", "x/a.md"),
            ("x/a", "x/a.md"),
            ("none", None),
            ("", "x/b.md"),
        ]
        assert await incoming(notebook, "a") == [("b", "a.md"), ("b", "a"), ("b", "x/a")]
        assert await incoming(notebook, "b") == []
        assert await unresolved(notebook) == [("b", "../c"), ("b", "none")]

    async def test_within_a_folder_links_are_those_without_other_files(
        self, notebook: Notebook
    ) -> None:
        within = Confinement("x")
        await notebook.write("a", "[[b]] [[c]] [o](/o.md) [[none]]", "x/a.md")
        await notebook.write("b", "[[a]]", "x/y/b.md")
        await notebook.write("o", "[[a]] [[nowhere]]", "o.md")
        await notebook.write("c", "", "c.md")
        await notebook.write("b2", "[[a]]", "b.md")
        assert await outgoing(notebook, "a") == [
            ("b", "b.md"), ("c", "c.md"), ("/o.md", "o.md"), ("none", None),
        ]  # fmt: skip
        assert await outgoing(notebook, "a", within) == [
            ("b", "x/y/b.md"), ("c", None), ("/o.md", None), ("none", None),
        ]  # fmt: skip
        assert await incoming(notebook, "a", within=within) == [("b", "a")]
        assert await incoming(notebook, "b", within=within) == [("a", "b")]
        assert await incoming(notebook, "b") == []
        lost = [("a", "c"), ("a", "/o.md"), ("a", "none")]
        assert await unresolved(notebook, within=within) == lost
        assert await unresolved(notebook, 1, within) == lost
        script = link_queries.unresolved_links(VAULT, ("o", 0), 10, within)
        assert await read_links(notebook.store, VAULT, script) == []
        for file in ("o", "none"):
            forwards = outgoing_links(VAULT, FileId(file), within)
            assert await read_links(notebook.store, VAULT, forwards) is None
            backwards = link_queries.back_links(VAULT, FileId(file), FIRST, 10, within)
            assert await read_links(notebook.store, VAULT, backwards) is None

    async def test_links_follow_files_that_come_and_go(self, notebook: Notebook) -> None:
        await notebook.write("b", "[[a]]", "b.md")
        assert await unresolved(notebook) == [("b", "a")]
        await notebook.write("a", "", "x/a.md")
        assert await incoming(notebook, "a") == [("b", "a")]
        await notebook.write("c", "", "a.md")
        assert await outgoing(notebook, "b") == [("a", "a.md")]
        assert (await incoming(notebook, "a"), await incoming(notebook, "c")) == ([], [("b", "a")])
        await notebook.move("c", "d.md")
        assert await outgoing(notebook, "b") == [("a", "x/a.md")]
        await notebook.delete("a")
        assert await outgoing(notebook, "b") == [("a", None)]
        await notebook.restore("a")
        assert await outgoing(notebook, "b") == [("a", "x/a.md")]
        await notebook.delete("a")
        await notebook.purge("a")
        assert await unresolved(notebook) == [("b", "a")]

    async def test_links_of_a_note_come_and_go_with_it(self, notebook: Notebook) -> None:
        await notebook.write("a", "")
        await notebook.write("b", "[[a]] [[none]]")
        await notebook.delete("b")
        assert (await incoming(notebook, "a"), await unresolved(notebook)) == ([], [])
        await notebook.index_links()
        assert await notebook.count("link_sources") == 0
        await notebook.restore("b")
        assert (await incoming(notebook, "a"), await unresolved(notebook)) == (
            [("b", "a")],
            [("b", "none")],
        )
        await notebook.delete("b")
        await notebook.purge("b")
        await notebook.index_links()
        assert await notebook.count("link_sources") == await notebook.count("link_targets") - 4 == 0

    async def test_keys_of_a_purged_note_are_removed_in_its_commit(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "[[b]]")
        await notebook.index_links()
        await notebook.delete("a")
        await notebook.store.write(notebook.keeping(notebook.change("a", "purged")))
        for table in ("link_index", "link_sources", "link_targets"):
            assert await notebook.count(table) == 0

    async def test_relative_links_of_a_moved_note_are_resolved_again(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "", "a.md")
        await notebook.write("b", "", "x/a.md")
        await notebook.write("c", "[1](a.md)", "c.md")
        await notebook.move("c", "x/c.md")
        assert (await incoming(notebook, "a"), await incoming(notebook, "b")) == (
            [],
            [("c", "a.md")],
        )
        await notebook.move("c", "x/d.md")
        assert await incoming(notebook, "b") == [("c", "a.md")]

    async def test_two_files_that_swap_their_paths_swap_their_links(
        self, notebook: Notebook
    ) -> None:
        await notebook.write("a", "", "one.md")
        await notebook.write("b", "", "two.md")
        await notebook.write("c", "[[one]]", "c.md")
        await notebook.keep(
            notebook.change("a", "updated", path="two.md"),
            notebook.change("b", "updated", path="one.md"),
        )
        assert (await incoming(notebook, "a"), await incoming(notebook, "b")) == (
            [],
            [("c", "one")],
        )

    async def test_many_changes_of_a_commit_count_as_the_last(self, notebook: Notebook) -> None:
        await notebook.keep(
            notebook.change("a", "created", path="a.md", text="[[b]]"),
            notebook.change("a", "updated", text="[[c]]"),
            notebook.change("a", "updated", path="d.md"),
            notebook.change("b", "created", path="b.md", text="[[d]]"),
        )
        assert await outgoing(notebook, "a") == [("c", None)]
        assert await incoming(notebook, "a") == [("b", "d")]

    @pytest.mark.parametrize(
        ("link", "found"),
        [
            ("[[a#One two]]", True),
            ("[1](a.md#one-two)", True),
            ("[[a#Three]]", False),
            ("[[a]]", None),
            ("[[none#One]]", None),
            ("![[i.png#One]]", None),
            ("[[#own]]", True),
        ],
    )
    async def test_heading_of_a_link_is_looked_up(
        self, notebook: Notebook, link: str, found: bool | None
    ) -> None:
        await notebook.write("a", "# One two")
        await notebook.keep(notebook.change("i", "created", path="attachments/i.png"))
        await notebook.write("b", f"# Own\n{link}")
        links = await notebook.store.read_much(outgoing_links(VAULT, FileId("b")))
        assert links is not None
        assert [each.heading_found for each in links] == [found]

    async def test_headings_over_the_byte_limit_are_unknown(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(link_queries, "MAX_HEADING_BYTES", 10)
        await notebook.write("a", "# One")
        await notebook.write("b", "# Two more")
        # A note counts once, however many links lead to its headings.
        await notebook.write("c", "[[a#one]] [[a#two]] [[b#two more]]")
        links = await notebook.store.read_much(outgoing_links(VAULT, FileId("c")))
        assert links is not None
        assert [each.heading_found for each in links] == [True, False, None]
        monkeypatch.setattr(link_queries, "MAX_HEADING_BYTES", 15)
        links = await notebook.store.read_much(outgoing_links(VAULT, FileId("c")))
        assert links is not None
        assert [each.heading_found for each in links] == [True, False, True]

    async def test_headings_over_the_line_limit_are_unknown(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(link_queries, "MAX_HEADING_LINES", 3)
        await notebook.write("a", "# One\n# Two")
        await notebook.write("b", "# Three\n# Four")
        await notebook.write("c", "[[a#two]] [[b#three]]")
        links = await notebook.store.read_much(outgoing_links(VAULT, FileId("c")))
        assert links is not None
        assert [each.heading_found for each in links] == [True, None]

    async def test_lists_are_paged(self, notebook: Notebook) -> None:
        await notebook.write("a", "")
        for number in range(3):
            await notebook.write(f"b{number}", "[[a]] [1](a.md) [[x]] [[y]]")
        expected = [(f"b{n}", target) for n in range(3) for target in ("a", "a.md")]
        for limit in (1, 2, 5, 100):
            assert await incoming(notebook, "a", limit) == expected
            assert len(await unresolved(notebook, limit)) == 6

    async def test_missing_file_is_reported(self, notebook: Notebook) -> None:
        await notebook.write("a", "")
        await notebook.delete("a")
        for file in ("a", "none"):
            assert await notebook.store.read(outgoing_links(VAULT, FileId(file))) is None
            script = link_queries.back_links(VAULT, FileId(file), FIRST, 9)
            assert await notebook.store.read(script) is None

    @pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_BYTES"])
    async def test_query_is_refused_when_many_files_are_unindexed(
        self, notebook: Notebook, limit: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        notebook.linking = False
        monkeypatch.setattr(link_index, limit, 2)
        await notebook.write("a", "[[c]]")
        await notebook.write("b", "[[c]]")
        await notebook.write("c", "[[a]]")
        for script in (
            outgoing_links(VAULT, FileId("a")),
            link_queries.back_links(VAULT, FileId("a"), FIRST, 9),
            link_queries.unresolved_links(VAULT, FIRST, 9),
            link_queries.linking_to(VAULT, [FileId("a")], [], FileId(""), 1000),
        ):
            with pytest.raises(LinksOutdated):
                await notebook.store.read_much(script)
        assert await incoming(notebook, "a") == [("c", "a")]
        assert not await notebook.is_waiting(LINKS)

    async def test_query_is_refused_while_a_long_text_is_unindexed(
        self, notebook: Notebook
    ) -> None:
        notebook.linking = False
        await notebook.write("a", "[[a]] " + "word " * (link_index.MAX_BYTES // 5))
        with pytest.raises(LinksOutdated):
            await notebook.store.read_much(outgoing_links(VAULT, FileId("a")))
        assert await outgoing(notebook, "a") == [("a", "a.md")]

    async def test_file_of_a_popular_name_that_moved_away_is_not_meant(
        self, notebook: Notebook
    ) -> None:
        for number in range(30):
            await notebook.write(f"f{number:02}", "", f"{number:02}/a.md")
        await notebook.write("z", "[[a]]")
        await notebook.index_links()
        for number in range(10):
            await notebook.move(f"f{number:02}", f"b{number}.md")
        assert await outgoing(notebook, "z") == [("a", "10/a.md")]
        assert await incoming(notebook, "f10") == [("z", "a")]
        assert await incoming(notebook, "f09") == []

    async def test_workspaces_are_isolated(self, notebook: Notebook) -> None:
        other = await Notebook(notebook.store, OTHER).open()
        await notebook.write("a", "")
        await other.write("b", "[[a]]")
        assert await incoming(notebook, "a") == []
        assert await unresolved(notebook) == []
        assert await unresolved(other) == [("b", "a")]
        assert await concerned(notebook, "a", to="a.md") == []

    async def test_notes_affected_by_a_move_are_found(self, notebook: Notebook) -> None:
        await notebook.write("a", "", "x/a.md")
        await notebook.write("b", "[[a]]", "b.md")
        await notebook.write("c", "[1](x/a)", "c.md")
        await notebook.write("d", "[[z]]", "d.md")
        await notebook.write("e", "[[y/a]]", "y/e.md")
        await notebook.write("f", "[[d]]", "f.md")
        assert await concerned(notebook, "a") == ["b", "c"]
        assert await concerned(notebook, "a", to="q/z.md") == ["b", "c", "d"]
        assert await concerned(notebook, "a", to="y/y/a.md") == ["b", "c", "e"]
        assert await concerned(notebook) == []
        await notebook.delete("b")
        assert await concerned(notebook, "a") == ["c"]
        [note], _ = await notebook.store.read_much(
            link_queries.linking_to(VAULT, [FileId("d")], [], FileId(""), 1000)
        )
        assert (note.path, note.text, note.revision_id) == (
            "f.md",
            "[[d]]",
            notebook.heads["f"].revision_id,
        )

    async def test_damaged_text_keeps_no_other_from_being_linked(self, notebook: Notebook) -> None:
        await notebook.write("a", "[[c]]")
        await notebook.write("b", "[[c]] [[none]]")
        await notebook.write("c", "# C")
        await notebook.damage("a")
        assert await incoming(notebook, "c") == [("b", "c")]
        assert await unresolved(notebook) == [("b", "none")]
        assert await concerned(notebook, "c") == ["b"]
        with pytest.raises(TextDamaged, match="a"):
            await outgoing(notebook, "a")

    async def test_hostile_links_are_bounded(self, notebook: Notebook) -> None:
        long, marks = "x" * 3000, "a" + "\u0300\u0316" * 500
        text = f"[[{long}]] [[{long[:2000]}]] [[a#{long}]] [1](%00) [2](%ff) [[\ufeff]] [[{marks}]]"
        await notebook.write("a", text)
        assert await outgoing(notebook, "a") == [
            (long[:2000], None),
            ("a", "a.md"),
            ("\ufffd", None),
            ("\ufeff", None),
            (marks, None),
        ]

    @pytest.mark.parametrize(
        "before",
        [
            pytest.param(" ".join(f"[[{number}]]" for number in range(2500)), id="many links"),
            pytest.param("word " * 250_000, id="much text"),
            pytest.param("[[other]]", id="another link"),
        ],
    )
    async def test_last_link_of_a_note_is_followed_whatever_precedes_it(
        self, notebook: Notebook, before: str
    ) -> None:
        await notebook.write("a", "")
        await notebook.write("b", f"{before} [1](a.md#%00)")
        assert await incoming(notebook, "a") == [("b", "a.md")]
        assert (await outgoing(notebook, "b"))[-1] == ("a.md", "a.md")
        assert await concerned(notebook, "a") == ["b"]

    async def test_longest_paths_are_found(self, notebook: Notebook) -> None:
        path = "/".join(["ü" * 120] * 4) + ".md"
        await notebook.write("a", "", path)
        await notebook.write("b", f"[[{path}]] [[{'ü' * 120}]]")
        assert await incoming(notebook, "a") == [("b", path), ("b", "ü" * 120)]


class TestLinksOnSqlite(Links):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.data())
    async def test_queries_agree_with_resolving_again(self, data: st.DataObject) -> None:
        store = open_inline()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(index_backlog, "_MAX_FILES", data.draw(st.integers(1, 3)))
            patch.setattr(link_index, "MAX_FILES", data.draw(st.sampled_from([0, 1, 100])))
            try:
                notebook = await Notebook(store, VAULT).open()
                await _act(notebook, data)
                await _compare(notebook)
                await notebook.index_links()
                assert await _stored(notebook) == await _computed(notebook)
                await _compare(notebook)
            finally:
                store.close()


class TestLinksOnPostgres(Links):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)


NAMES = st.sampled_from(["a", "A", "b", "é", "a.b"])
FOLDERS = st.lists(st.sampled_from(["x", "y"]), max_size=2)
TARGETS = [
    *("[[a]]", "[[x/a]]", "[1](a)", "[1](../b.md)", "[[b]]", "[1](/x/E\u0301)", "[[../a]]"),
    *("![[i.png]]", "[[a.b]]", "[[a.md]]", "[[i]]"),
]
TEXTS = st.lists(st.sampled_from(TARGETS), max_size=4).map(" ".join)


async def _act(notebook: Notebook, data: st.DataObject) -> None:
    """Some commits and steps of indexing; paths are valid because each file has its own name."""
    for number in range(data.draw(st.integers(1, 8))):
        for _ in range(data.draw(st.integers(0, 2))):
            await notebook.step(LINKS)
        file = data.draw(st.sampled_from(["f", "g", "h", "i"]))
        head = notebook.heads.get(file)
        taken = {h.path.casefold() for h in notebook.heads.values() if h.state == "live"}
        path = "/".join([*data.draw(FOLDERS), f"{data.draw(NAMES)}.md"])
        if file == "i":
            path = f"attachments/{'i.png' if number % 2 else 'i'}"
        if path.casefold() in taken or (head is not None and head.state == "purged"):
            continue
        text = None if file == "i" else data.draw(TEXTS)
        if head is None:
            await notebook.keep(notebook.change(file, "created", path=path, text=text))
        elif head.state == "deleted":
            await notebook.keep(notebook.change(file, "restored", path=path))
        else:
            kind = data.draw(st.sampled_from(["move", "write", "both", "delete", "purge"]))
            if kind in ("delete", "purge"):
                await notebook.delete(file)
                if kind == "purge":
                    await notebook.purge(file)
            else:
                moved = None if kind == "write" else path
                written = None if kind == "move" else text
                await notebook.keep(notebook.change(file, "updated", path=moved, text=written))
            if data.draw(st.booleans()):
                await _compare(notebook)
                await _compare(notebook, Confinement("X"))


async def _compare(notebook: Notebook, within: Confinement | None = None) -> None:
    live = {
        file: head
        for file, head in notebook.heads.items()
        if head.state == "live" and (within is None or within.covers(head.path))
    }
    find = paths_by_key(head.path for head in live.values()).get
    led: list[tuple[str, str, str | None]] = []
    for file, head in sorted(live.items()):
        text = await _text(notebook, head.content_id)
        links = dict.fromkeys((link.kind, link.embed, link.target) for link in links_of(text))
        expected = [(target, resolve(kind, target, head.path, find)) for kind, _, target in links]
        assert await outgoing(notebook, file, within) == expected
        led += [(file, target, path) for target, path in expected]
    broken = [(file, target) for file, target, to in led if to is None]
    assert await unresolved(notebook, within=within) == broken
    for file, head in live.items():
        assert await incoming(notebook, file, within=within) == [
            (source, target) for source, target, to in led if to == head.path and source != file
        ]


async def _stored(notebook: Notebook) -> set[tuple[str, str, int]]:
    """The rows of the index."""

    async def read_rows(transaction: Transaction) -> set[tuple[str, str, int]]:
        rows: set[tuple[str, str, int]] = set()
        for table in ("targets", "sources"):
            keys = await transaction.fetch_all(
                f"SELECT file_id, key FROM link_{table} AS keys JOIN files"
                " ON files.workspace = keys.workspace AND files.pk = keys.file"
            )
            packed = await transaction.fetch_all(
                f"SELECT file_id, {table} FROM link_index JOIN files"
                " ON files.workspace = link_index.workspace AND files.pk = link_index.file"
            )
            found = {(table, row[0], row[1]) for row in keys}
            assert found == {(table, row[0], key) for row in packed for key in unpacked(row[1])}
            rows |= found
        return rows

    return await notebook.store.read(read_rows)


async def _computed(notebook: Notebook) -> set[tuple[str, str, int]]:
    """The rows that the index of the present files has."""
    rows: set[tuple[str, str, int]] = set()
    for file, head in notebook.heads.items():
        if head.state == "live":
            links = links_in(await _text(notebook, head.content_id), head.path)
            rows |= {("targets", file, key) for key in targets_of(head.path)}
            rows |= {("sources", file, key) for key in sources_of(links)}
    return rows


async def _text(notebook: Notebook, content_id: str) -> str:
    async def script(transaction: Transaction) -> str:
        row = await transaction.fetch_one(
            "SELECT compressed FROM files JOIN contents ON contents.pk = files.content"
            " WHERE COALESCE(content_revision_id, revision_id) = $1::uuid",
            content_id,
        )
        return "" if row is None else decompressed(row[0], content_id)

    return await notebook.store.read(script)


def test_key_of_any_length_is_stored_as_a_signed_integer_of_48_bits() -> None:
    assert hashed("/a") == hashed("/a") != hashed("a")
    assert hashed("x" * 300) == hashed("x" * 300) != hashed("x" * 301)
    assert all(-(2**47) <= hashed(f"{number}") < 2**47 for number in range(100))
    assert {hashed(f"{number}") < 0 for number in range(100)} == {True, False}

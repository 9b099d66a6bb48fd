"""The scripts of files on both engines: their results, and their number of statements."""

import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.documents.document import ChangedDocument, TextDocument, initial
from octavo_rules.identity import (
    START,
    Cursor,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)

from octavo.actors.jobs.indexing import index_some
from octavo.features.links.sql.link_index import LINKS
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.confinement import Confinement
from octavo.model.files.plan import Plan, Receipt, plan
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.model.refusal import TooManyFiles
from octavo.store import Row, Script, Store, StoreUnavailable, Transaction, Value
from octavo.store.compression import compressed
from octavo.store.queries import feed, files, workspaces
from octavo.store.queries.changesets import (
    HeadReplaced,
    PositionMoved,
    Repeated,
    WorkspaceGone,
    commit_changesets,
    receipts,
    store_documents,
)
from octavo.store.queries.expiry import expire_receipts
from octavo.store.queries.feed import Since, all_heads
from octavo.store.queries.marks import cursor_of
from octavo.store.queries.revision_rows import select_in
from octavo.store.queries.sweeping import sweep
from octavo.store.transaction import (
    IndexedNote,
    Listeners,
    MatchedNote,
    Matching,
    NewNote,
    SingleStatement,
    T,
    TextSaves,
    set_shortcut,
    shortcut_of,
)
from tests.fakes.plain_documents import PlainDocuments
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace, serving

GONE, OTHER = WorkspaceId("gone"), WorkspaceId("other")
ROOMY = 1 << 30


class Counting:
    """Counts statements; each is a round trip to a remote database."""

    shortcuts = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self.statements = 0

    async def read(self, script: Script[T]) -> T:
        return await self._store.read(self._counted(script))

    async def read_much(self, script: Script[T]) -> T:
        return await self._store.read_much(self._counted(script))

    async def write(self, script: Script[T]) -> T:
        return await self._store.write(self._counted(script))

    def _counted(self, script: Script[T]) -> Script[T]:
        async def run(transaction: Transaction) -> T:
            self.statements = 0
            return await script(_Counted(transaction, self))

        async def run_shortcut(statement: SingleStatement) -> T:
            assert shortcut is not None
            self.statements = 0
            return await shortcut(_Counted(statement, self))  # type: ignore[arg-type]  # wraps both

        shortcut = shortcut_of(script) if self.shortcuts else None
        if shortcut is not None:
            set_shortcut(run, run_shortcut)
        return run


class _Counted:
    def __init__(self, transaction: Transaction, counting: Counting) -> None:
        self._transaction = transaction
        self._counting = counting

    async def fetch_one(self, sql: str, *arguments: Value) -> Row | None:
        self._counting.statements += 1
        return await self._transaction.fetch_one(sql, *arguments)

    async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
        self._counting.statements += 1
        return await self._transaction.fetch_all(sql, *arguments)

    async def execute(self, sql: str, *arguments: Value) -> int:
        self._counting.statements += 1
        return await self._transaction.execute(sql, *arguments)

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        self._counting.statements += 1
        await self._transaction.execute_many(sql, rows)

    async def notify(self, channel: str, payload: str) -> None:
        self._counting.statements += 1
        await self._transaction.notify(channel, payload)

    async def save_texts(self, saves: TextSaves) -> None:
        self._counting.statements += 1
        await self._transaction.save_texts(saves)  # type: ignore[attr-defined]  # of a shortcut

    async def new_contents(self, count: int) -> Sequence[int]:
        self._counting.statements += 1
        return await self._transaction.new_contents(count)

    async def put_words(self, workspace_id: str, notes: Sequence[NewNote]) -> Sequence[int]:
        self._counting.statements += 1
        return await self._transaction.put_words(workspace_id, notes)

    async def rename_words(
        self, workspace_id: str, notes: Sequence[tuple[IndexedNote, str]]
    ) -> None:
        self._counting.statements += 1
        await self._transaction.rename_words(workspace_id, notes)

    @property
    def listeners(self) -> Listeners:
        return self._transaction.listeners

    async def new_words(self) -> int:
        self._counting.statements += 1
        return await self._transaction.new_words()

    async def put_portion(
        self, workspace_id: str, number: int, portion: int, tokens: Sequence[str]
    ) -> None:
        self._counting.statements += 1
        await self._transaction.put_portion(workspace_id, number, portion, tokens)

    async def put_name(self, workspace_id: str, number: int, path: str, title: str) -> None:
        self._counting.statements += 1
        await self._transaction.put_name(workspace_id, number, path, title)

    async def remove_words(
        self, workspace_id: str, note: IndexedNote, text: str, portion: int
    ) -> int | None:
        self._counting.statements += 1
        return await self._transaction.remove_words(workspace_id, note, text, portion)

    async def merge_words(self, *, begin: bool) -> bool:
        self._counting.statements += 1
        return await self._transaction.merge_words(begin=begin)

    async def settle_words(self) -> None:
        await self._transaction.settle_words()

    async def words_are_worn_out(self) -> bool:
        return await self._transaction.words_are_worn_out()

    async def clear_words(self) -> None:
        await self._transaction.clear_words()

    async def match_words(self, workspace_id: str, matching: Matching) -> Sequence[MatchedNote]:
        self._counting.statements += 1
        return await self._transaction.match_words(workspace_id, matching)


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[Store]:
    store = open_inline()
    try:
        yield store
    finally:
        store.close()


Opened = Callable[[], AbstractAsyncContextManager[Store]]


def creates(count: int, text: str = "text", name: str = "") -> list[CreateFile]:
    return [
        CreateFile(FileId(f"{name or 'f'}{n:04}"), f"{name}{n}.md", note_text(f"{text} {n}"))
        for n in range(count)
    ]


def update(head: Revision, path: str) -> UpdateFile:
    return UpdateFile(head.file_id, frozenset({head.revision_id}), path=path)


def rewritten(head: Revision) -> UpdateFile:
    return UpdateFile(head.file_id, frozenset({head.revision_id}), note_text("rewritten"))


def delete(head: Revision) -> DeleteFile:
    return DeleteFile(head.file_id, frozenset({head.revision_id}))


async def rows_of(store: Store, table: str, name: str = "workspace") -> set[Value]:
    """The values in a column of a table."""

    async def script(transaction: Transaction) -> set[Value]:
        return {row[0] for row in await transaction.fetch_all(f"SELECT {name} FROM {table}")}

    return await store.read(script)


def planned(
    tree: Tree, after: Cursor, name: str, *operations: ChangeOperation, repeatable: bool = True
) -> Plan:
    numbers = iter(range(1000))
    changeset = Changeset(
        MutationId(name), fingerprint(operations), ANN, operations, repeatable=repeatable
    )
    made = plan(
        tree,
        after,
        changeset,
        0,
        lambda: f"{name}.{next(numbers)}",
        PlainDocuments(),
    )
    for change in made.changed:
        tree.put(change.head)
    return made


def one_each(tree: Tree, operations: Iterable[ChangeOperation]) -> list[Plan]:
    """A changeset for each operation, from the beginning on."""
    plans: list[Plan] = []
    for number, each in enumerate(operations):
        plans.append(planned(tree, plans[-1].cursor if plans else START, f"m{number}", each))
    return plans


class Scripts:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    SAVING = 7
    """The statements of a save."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Counting]:
        """A store with a workspace in it."""
        async with opened() as engine:
            counting = Counting(engine)
            await create_workspace(counting)
            yield counting

    async def test_five_hundred_files_are_committed_and_read_with_few_statements(
        self, store: Counting
    ) -> None:
        made = planned(Tree(), START, "m", *creates(500))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        assert store.statements == 6
        file_ids = [change.head.file_id for change in made.changes]
        revision_ids = [change.head.revision_id for change in made.changes]
        heads, revisions = await store.read_much(files.files(VAULT, file_ids, revision_ids, ROOMY))
        assert store.statements == 20
        assert [each.revision for each in heads] == [change.head for change in made.changes]
        assert [each.text for each in revisions] == [f"text {n}" for n in range(500)]
        found = await store.read_much(receipts(VAULT, [MutationId("m")]))
        assert store.statements == 6
        assert [each.head for each in found[MutationId("m")].outcomes] == [
            change.head for change in made.changes
        ]

    async def test_many_changesets_are_committed_with_few_statements(self, store: Counting) -> None:
        tree = Tree()
        plans = one_each(tree, creates(60))
        await store.write(commit_changesets(VAULT, START, plans, 7))
        assert store.statements == 7
        names = [MutationId(f"m{n}") for n in range(60)]
        found = await store.read_much(receipts(VAULT, [*names, MutationId("none")]))
        assert store.statements == 2
        assert [found[name].position for name in names] == list(range(1, 61))
        assert len(found) == 60

    async def test_receipt_expires_without_that_of_the_same_mutation_elsewhere(
        self, store: Counting
    ) -> None:
        await create_workspace(store, OTHER)
        for workspace_id, now in ((VAULT, 7), (OTHER, 8)):
            made = planned(Tree(), START, "m", *creates(1))
            await store.write(commit_changesets(workspace_id, START, [made], now))
        assert await store.write(expire_receipts(8)) is False
        name = MutationId("m")
        assert await store.read(receipts(VAULT, [name])) == {}
        assert [*await store.read(receipts(OTHER, [name]))] == [name]

    @pytest.mark.parametrize("text", ["text", "[[0]] [[f0001]] [x](y.md)"])
    async def test_save_takes_few_statements_whatever_its_links(
        self, store: Counting, text: str
    ) -> None:
        tree = Tree()
        made = planned(tree, START, "made", *creates(1))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        head = made.changes[0].head
        save = UpdateFile(head.file_id, frozenset({head.revision_id}), note_text(text))
        saved = planned(tree, made.cursor, "saved", save)
        await store.write(commit_changesets(VAULT, made.cursor, [saved], 7))
        assert store.statements == self.SAVING
        found = await store.read(files.file(VAULT, head.file_id))
        assert found is not None
        assert (found.revision, found.text) == (saved.changes[0].head, text)
        following = replace(save, if_match=frozenset({"saved.0"}))
        again = [planned(tree, saved.cursor, "next", following), saved]
        with pytest.raises(Repeated) as repeated:
            await store.write(commit_changesets(VAULT, saved.cursor, again[1:], 7))
        assert repeated.value.mutation_ids == ("saved",)
        with pytest.raises(PositionMoved):
            await store.write(commit_changesets(VAULT, made.cursor, again[:1], 7))
        with pytest.raises(WorkspaceGone):
            await store.write(commit_changesets(GONE, made.cursor, again[:1], 7))
        assert await store.read(files.file(VAULT, head.file_id)) == found

    async def test_many_files_are_purged_with_few_statements(self, store: Counting) -> None:
        tree = Tree()
        made = planned(tree, START, "made", *creates(100))
        gone = [
            DeleteFile(each.head.file_id, frozenset({each.head.revision_id}))
            for each in made.changes
        ]
        deleted = planned(tree, made.cursor, "deleted", *gone)
        purges = [PurgeFile(each.head.file_id) for each in made.changes]
        purged = planned(tree, deleted.cursor, "purged", *purges)
        await store.write(commit_changesets(VAULT, START, [made, deleted], 7))
        await store.write(commit_changesets(VAULT, deleted.cursor, [purged], 7))
        assert store.statements == 15
        file_ids = [each.head.file_id for each in made.changes]
        revision_ids = [each.head.revision_id for each in made.changes]
        assert await store.read_much(files.files(VAULT, file_ids, revision_ids, ROOMY)) == ([], [])
        found = await store.read(files.file(VAULT, file_ids[0]))
        assert found is not None
        assert (found.revision.state, found.text) == ("purged", None)
        listed = await store.read_much(files.revisions_of(VAULT, file_ids[0], Position(9), 9))
        assert [(each.position, each.path, each.digest) for each in listed] == [
            (3, "", ""),
            (2, "", ""),
            (1, "", ""),
        ]

    @pytest.mark.parametrize("count", [1, 3])
    async def test_changesets_committed_before_are_reported_and_nothing_is_committed(
        self, store: Counting, count: int
    ) -> None:
        tree = Tree()
        plans = one_each(tree, creates(count))
        await store.write(commit_changesets(VAULT, START, plans[:1], 7))
        again = [planned(Tree(), plans[0].cursor, "m0", *creates(1)), *plans[1:]]
        with pytest.raises(Repeated) as repeated:
            await store.write(commit_changesets(VAULT, plans[0].cursor, again, 7))
        assert repeated.value.mutation_ids == ("m0",)
        heads = await store.read_much(all_heads(VAULT))
        assert heads is not None
        assert (heads.cursor, len(heads.heads)) == (plans[0].cursor, 1)

    async def test_moved_position_and_deleted_workspace_are_reported(self, store: Counting) -> None:
        made = planned(Tree(), START, "m", *creates(1))
        for moved in (Cursor(Position(3), START.mark), Cursor(Position(0), made.cursor.mark)):
            with pytest.raises(PositionMoved):
                await store.write(commit_changesets(VAULT, moved, [made], 7))
        with pytest.raises(WorkspaceGone):
            await store.write(commit_changesets(GONE, START, [made], 7))
        with pytest.raises(WorkspaceGone):
            await store.read_much(feed.live_at(GONE, Position(0), FileId(""), 10, ROOMY))
        assert await store.read_much(feed.feed(GONE, Since(Position(0)), 1, 1, texts=True)) is None
        assert await store.read(cursor_of(GONE)) is None

    @pytest.mark.parametrize("change", ["text", "texts", "path", "deletion"])
    async def test_head_that_was_not_planned_on_is_not_replaced(
        self, store: Counting, change: str
    ) -> None:
        tree = Tree()
        made = planned(tree, START, "made", *creates(3))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        heads = [each.head for each in made.changes]
        operations: dict[str, list[ChangeOperation]] = {
            "text": [rewritten(heads[0])],
            "texts": [rewritten(each) for each in heads],
            "path": [update(heads[0], "moved.md")],
            "deletion": [delete(heads[0])],
        }
        following = planned(tree, made.cursor, "following", *operations[change])

        async def replace_head(transaction: Transaction) -> None:
            # As if another history had the same cursor.
            changed = await transaction.execute(
                "UPDATE files SET revision_id = $1::uuid WHERE file_id = $2::uuid",
                "other",
                heads[0].file_id,
            )
            assert changed == 1

        await store.write(replace_head)
        found = await store.read(feed.all_heads(VAULT))
        with pytest.raises(HeadReplaced):
            await store.write(commit_changesets(VAULT, made.cursor, [following], 7))
        assert await store.read(feed.all_heads(VAULT)) == found
        assert await rows_of(store, "revisions") == set()

    async def test_changeset_larger_than_a_page_of_the_feed_is_complete_and_without_texts(
        self, store: Counting
    ) -> None:
        tree = Tree()
        small = planned(tree, START, "small", *creates(1, "x"))
        large = planned(tree, small.cursor, "large", *creates(5, "x" * 100, "l"))
        last = planned(tree, large.cursor, "last", *creates(1, "x", "z"))
        await store.write(commit_changesets(VAULT, START, [small, large, last], 7))
        pages = []
        at = START
        while at != last.cursor:
            page = await store.read_much(feed.feed(VAULT, Since(*at), 1, 400, texts=True))
            assert page is not None
            with_text = [each.text is not None for each in page.entries]
            assert with_text == [page.texts] * len(page.entries)
            pages.append((len(page.entries), page.texts))
            at = page.following
        assert pages == [(1, True), (5, False), (1, True)]
        whole = await store.read_much(feed.feed(VAULT, Since(*small.cursor), 1, 600, texts=True))
        assert whole is not None
        assert (len(whole.entries), whole.texts) == (5, True)
        assert whole.following.position == large.position
        # One for the mark of the position where the page ends.
        assert store.statements == 4

    async def test_page_of_the_feed_takes_three_statements_and_one_at_its_end(
        self, store: Counting
    ) -> None:
        made = planned(Tree(), START, "made", *creates(5, "x" * 100))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        since = Since(Position(0))
        for max_bytes, texts in ((600, True), (400, False)):
            page = await store.read_much(feed.feed(VAULT, since, 10, max_bytes, texts=True))
            assert page is not None
            assert (len(page.entries), page.texts, page.following) == (5, texts, made.cursor)
            assert store.statements == 3
        end = await store.read_much(feed.feed(VAULT, Since(*made.cursor), 10, 600, texts=True))
        assert end == feed.FeedSlice([], True, made.cursor, made.cursor)
        assert store.statements == 1

    async def test_deleted_workspace_is_gone_immediately_and_its_content_step_by_step(
        self, store: Counting
    ) -> None:
        other = WorkspaceId("other")
        await store.write(workspaces.create(other, "Other", ANN, 7))
        made = planned(Tree(), START, "m", *creates(45))
        for each in (VAULT, other):
            await store.write(commit_changesets(each, START, [made], 7))
            await index_some(store, LINKS, [each])
        assert not await store.write(sweep())
        assert await store.write(workspaces.delete(VAULT))
        assert not await store.write(workspaces.delete(VAULT))
        assert await store.read(workspaces.access_to([VAULT, other], ANN)) == {
            other: (made.cursor, True)
        }
        assert await store.read_much(all_heads(VAULT)) is None
        steps = 0
        while await store.write(sweep()):
            steps += 1
        # One for the links, one for the cursor, one for revisions and texts, one for the receipts,
        # and the last.
        assert steps == 5
        for table in ("files", "receipts", "link_index", "index_cursors"):
            assert await rows_of(store, table) == {2}
        assert await rows_of(store, "contents", "pk") == set(range(46, 91))
        assert await rows_of(store, "members", "workspace_id") == {other}
        assert await rows_of(store, "revisions") == set()
        assert await rows_of(store, "deleted_workspaces", "id") == set()

    async def test_texts_of_purged_files_are_removed_in_portions(self, store: Counting) -> None:
        tree = Tree()
        made = planned(tree, START, "made", *creates(5, "x" * 1_000_000))
        kept = planned(tree, made.cursor, "kept", *creates(1, "x", "k"))
        moved = planned(
            tree,
            kept.cursor,
            "moved",
            *(update(each.head, path=f"m{each.head.path}") for each in made.changes),
        )
        gone = planned(tree, moved.cursor, "gone", *(delete(each.head) for each in moved.changes))
        purged = planned(
            tree, gone.cursor, "purged", *(PurgeFile(each.head.file_id) for each in gone.changes)
        )
        await store.write(commit_changesets(VAULT, START, [made, kept, moved, gone, purged], 7))
        assert await store.read_much(
            files.files(
                VAULT,
                [],
                [
                    RevisionId(each.head.revision_id)
                    for plan in (made, moved)
                    for each in plan.changes
                ],
                ROOMY,
            )
        ) == ([], [])
        left = []
        while await store.write(sweep()):
            left.append(len(await rows_of(store, "contents", "compressed")))
        assert left == [4, 2, 1]
        assert await rows_of(store, "contents", "compressed") == {compressed("x 0")}
        assert await rows_of(store, "purged_contents", "content") == set()

    async def test_text_over_the_limit_is_refused_before_it_is_read(self, store: Counting) -> None:
        made = planned(Tree(), START, "m", *creates(3, "x" * 100))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        file_ids = [change.head.file_id for change in made.changes]
        heads, _ = await store.read_much(files.files(VAULT, file_ids, [], 306))
        assert len(heads) == 3
        with pytest.raises(TooManyFiles):
            await store.read_much(files.files(VAULT, file_ids, [], 305))
        assert store.statements == 1
        revision_ids = [RevisionId("m.0")]
        with pytest.raises(TooManyFiles):
            await store.read_much(files.files(VAULT, file_ids, revision_ids, 306))
        with pytest.raises(TooManyFiles):
            await store.read_much(files.files(VAULT, file_ids[:1] * 2, [], 203))

    async def test_documents_count_like_texts_and_with_the_size_of_a_text_they_lack(
        self, store: Counting
    ) -> None:
        tree = Tree()
        made = planned(tree, START, "m", *creates(1))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        head = made.changes[0].head
        document = TextDocument(initial(head.content_id, "text 0"), head.content_id)
        kept = ChangedDocument(head.file_id, document, None, ())
        await store.write(store_documents(VAULT, made.cursor, [kept]))

        async def check_size(size: int) -> None:
            asked = files.text_size(VAULT, [head.file_id], documents=True)
            assert await store.read(asked) == size
            read = partial(files.whole_files, VAULT, [head.file_id], [])
            assert len((await store.read_much(read(size, None)))[0]) == 1
            with pytest.raises(TooManyFiles):
                await store.read_much(read(size - 1, None))

        await check_size(len("text 0") + len(document.document.state))
        following = planned(tree, made.cursor, "n", rewritten(head))
        await store.write(commit_changesets(VAULT, made.cursor, [following], 7))
        await check_size(2 * len("rewritten"))

    async def test_revision_is_visible_where_it_was_and_its_file_is(self, store: Counting) -> None:
        tree, file_id = Tree(), FileId("f")
        plans = one_each(tree, [CreateFile(file_id, "tea/0.md", note_text("text 0"))])

        def change(operation: ChangeOperation) -> None:
            plans.append(planned(tree, plans[-1].cursor, f"m{len(plans)}", operation))

        change(update(tree.heads[file_id], "0.md"))
        change(rewritten(tree.heads[file_id]))
        await store.write(commit_changesets(VAULT, START, plans, 7))
        names = [plan.changes[0].head.revision_id for plan in plans]

        async def visible(folder: str) -> list[str]:
            read = files.files(VAULT, [], names, ROOMY, Confinement(folder))
            return [each.revision.revision_id for each in (await store.read_much(read))[1]]

        assert await visible("tea") == []
        change(update(tree.heads[file_id], "tea/1.md"))
        await store.write(commit_changesets(VAULT, plans[2].cursor, plans[3:], 7))
        assert await visible("tea") == names[:1]
        # A move brings no content.
        brought = files.earlier_contents(VAULT, file_id, Position(4), 9)
        assert [each.text for each in await store.read_much(brought)] == ["rewritten", "text 0"]

    async def test_first_changeset_of_a_page_has_texts_up_to_the_limit(
        self, store: Counting
    ) -> None:
        made = planned(Tree(), START, "m", *creates(3))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        for limit, texts in ((18, True), (17, False)):
            page = await store.read_much(
                feed.feed(VAULT, Since(START.position), 9, limit, texts=True)
            )
            assert page is not None
            assert (len(page.entries), page.texts) == (3, texts)

    async def test_paths_are_listed_in_code_point_order_and_by_prefix(
        self, store: Counting
    ) -> None:
        paths = [
            "Z.md",
            "a.md",
            "a/é.md",
            "b.md",
            "é.md",
            "\ud7ff.md",
            "\ue000.md",
            "\U0010ffff.md",
        ]
        operations = [
            CreateFile(FileId(f"f{number}"), path, note_text(""))
            for number, path in enumerate(paths)
        ]
        await store.write(
            commit_changesets(VAULT, START, [planned(Tree(), START, "m", *operations)], 7)
        )

        async def listed(prefix: str, limit: int) -> list[str]:
            found: list[str] = []
            after = ("", "")
            while page := await store.read_much(files.list_of(VAULT, "live", prefix, after, limit)):
                found += [head.path for head in page]
                after = (page[-1].path, page[-1].file_id)
            return found

        for limit in (1, 3, 100):
            assert await listed("", limit) == paths
        for prefix in ("a", "a/", "\ud7ff", "\ue000", "\U0010ffff", "é.md", "x"):
            expected = [path for path in paths if path.startswith(prefix)]
            assert await listed(prefix, 1) == expected

    async def test_workspace_is_served_on_the_engine(self, store: Counting) -> None:
        async with serving(store, shared=True) as rig:
            first = await rig.push(*creates(3), mutation="once")
            again: Receipt = await rig.push(*creates(3), mutation="once")
            assert again == first
            head = first.outcomes[0].head
            await rig.push(DeleteFile(head.file_id, frozenset({head.revision_id})))
            page = await store.read_much(feed.feed(VAULT, Since(Position(0)), 10, 10, texts=True))
            assert page is not None
            assert [each.revision.state for each in page.entries] == ["live", "live"]
            found, end = await store.read_much(
                feed.live_at(VAULT, Position(1), FileId(""), 10, ROOMY)
            )
            assert ([each.text for each in found], end) == (["text 0", "text 1", "text 2"], None)
            found, _ = await store.read_much(feed.live_at(VAULT, Position(2), FileId(""), 9, ROOMY))
            assert [each.text for each in found] == ["text 1", "text 2"]


class TestSqlite(Scripts):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class OneByOne(Counting):
    """Executes the whole scripts."""

    shortcuts = False


TABLES = ("workspaces", "files", "revisions", "contents", "receipts", "documents")


def some_batches(random: random.Random) -> list[list[Plan]]:
    """Batches of changesets, most of them new texts of notes, from position 0 on."""
    tree = Tree()
    batches = [[planned(tree, START, "made", *creates(12))]]
    cursor = batches[0][0].cursor
    for batch in range(8):
        batches.append([])
        for number in range(random.choice([1, 1, 2, 4])):
            name = f"m{batch}.{number}"
            operations: list[ChangeOperation] = []
            for file_id in random.sample([f"f{n:04}" for n in range(12)], random.choice([1, 1, 3])):
                head = tree.heads[FileId(file_id)]
                path = f"{name}.{file_id}.md" if random.random() < 0.05 else None
                text = note_text(random.choice(["same", name]))
                match = frozenset({head.revision_id})
                operations.append(UpdateFile(head.file_id, match, text, path))
            made = planned(tree, cursor, name, *operations, repeatable=random.random() < 0.5)
            cursor = made.cursor
            batches[-1].append(made)
    return batches


class TestPostgres(Scripts):
    SAVING = 1

    async def test_of_saves_at_the_same_time_one_is_accepted_and_the_others_are_told(
        self, store: Counting
    ) -> None:
        made = planned(Tree(), START, "made", *creates(1))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        moved = 0

        async def save(name: str) -> None:
            nonlocal moved
            operation = UpdateFile(FileId("f0000"), frozenset({"made.0"}), note_text(name))
            saved = planned(Tree([made.changes[0].head]), made.cursor, name, operation)
            try:
                await store.write(commit_changesets(VAULT, made.cursor, [saved], 7))
            except PositionMoved:
                moved += 1

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(save, str(number))
        assert moved == 7
        listed = await store.read_much(files.revisions_of(VAULT, FileId("f0000"), Position(9), 9))
        assert len(listed) == 2

    async def test_save_of_which_the_server_is_lost_may_have_been_committed(
        self, store: Counting
    ) -> None:
        made = planned(Tree(), START, "made", *creates(1))
        await store.write(commit_changesets(VAULT, START, [made], 7))
        operation = UpdateFile(FileId("f0000"), frozenset({"made.0"}), note_text("lost"))
        saved = planned(Tree([made.changes[0].head]), made.cursor, "saved", operation)
        await store.write(_delay_contents)
        caught: list[StoreUnavailable] = []

        async def save() -> None:
            with pytest.raises(StoreUnavailable) as raised:
                await store.write(commit_changesets(VAULT, made.cursor, [saved], 7))
            caught.append(raised.value)

        try:
            with trio.fail_after(20):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(save)
                    while not await store.read(_kill_saves):
                        await trio.lowlevel.checkpoint()
        finally:
            await store.write(_delay_no_more)
        assert [error.outcome_unknown for error in caught] == [True]

    @pytest.mark.parametrize("seed", range(8))
    async def test_one_statement_for_saves_does_what_many_do(
        self, store: Counting, seed: int
    ) -> None:
        batches = some_batches(random.Random(seed))
        combined = 0
        dumps = []
        for engine in (store, OneByOne(store)):
            await store.write(_empty)
            await create_workspace(engine)
            cursor = START
            for number, batch in enumerate(batches):
                if number == seed % 8:
                    await store.write(_read_documents)
                await engine.write(commit_changesets(VAULT, cursor, batch, 7))
                combined += engine is store and store.statements == 1
                cursor = batch[-1].cursor
            dumps.append(
                [sorted(await store.read(partial(_dump, table)), key=repr) for table in TABLES]
            )
        assert dumps[0] == dumps[1]
        assert combined > 2

    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)


async def _delay_contents(transaction: Transaction) -> None:
    """Let each new text take a minute."""
    await transaction.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'"
    )
    await transaction.execute(
        "CREATE TRIGGER slow AFTER INSERT ON contents FOR EACH ROW EXECUTE FUNCTION slow()"
    )


async def _delay_no_more(transaction: Transaction) -> None:
    await transaction.execute("DROP FUNCTION slow CASCADE")


async def _kill_saves(transaction: Transaction) -> bool:
    """End the connections that save; return whether there are any."""
    rows = await transaction.fetch_all(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        " AND datname = current_database()"
    )
    return bool(rows)


async def _empty(transaction: Transaction) -> None:
    for table in TABLES:
        await transaction.execute(f"TRUNCATE {table} RESTART IDENTITY CASCADE")
    await transaction.execute("ALTER SEQUENCE content_numbers RESTART")


async def _read_documents(transaction: Transaction) -> None:
    await transaction.execute("UPDATE workspaces SET documents_were_read = 1")


async def _dump(table: str, transaction: Transaction) -> Sequence[Row]:
    return await transaction.fetch_all(f"SELECT * FROM {table}")


@given(count=st.integers(0, 350), repeated=st.booleans())
async def test_each_name_is_found_once_whatever_their_number(count: int, repeated: bool) -> None:
    class Echo:
        async def fetch_all(self, sql: str, *arguments: Value) -> Sequence[Row]:
            scope, *names = arguments
            places = sql.removeprefix("IN (").removesuffix(")").split(", ")
            assert scope == "scope"
            assert places == [f"${number}::uuid" for number in range(2, len(names) + 2)]
            assert len(names) in (1, 3, 10, 30, 100)
            return [(name,) for name in set(names)]

    names = [str(number) for number in range(count)]
    asked = names * 2 if repeated else names
    found = await select_in(Echo(), "IN ($ids)", "scope", asked)  # type: ignore[arg-type]
    assert sorted(row[0] for row in found) == sorted(names)

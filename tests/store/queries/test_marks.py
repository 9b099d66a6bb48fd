"""Which cursors are known, on both engines: those of the history, and no others."""

import random
from collections.abc import AsyncIterator
from itertools import count

import pytest
from octavo_rules.changes import PurgeFile
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import (
    NO_MARK,
    START,
    Cursor,
    FileId,
    MutationId,
    Position,
    RevisionId,
    WorkspaceId,
)

from octavo.documents import merged
from octavo.features.history.rules.retention import Retention
from octavo.features.history.sql.history_pruning import FileKey, prune_file
from octavo.features.publishing.sql.site_changes import changed_since, place_of
from octavo.features.sync.sql import folder_feed
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.confinement import Confinement
from octavo.model.files.plan import Plan, plan
from octavo.model.files.tree import Tree
from octavo.store import Script, Store, Transaction
from octavo.store.queries import expiry
from octavo.store.queries.changesets import PositionMoved, commit_changesets, store_documents
from octavo.store.queries.expiry import expire_marks
from octavo.store.queries.feed import FeedSlice, Since, all_heads, feed, heads_after
from octavo.store.queries.marks import CursorUnknown, checked_cursor, cursor_of
from octavo.store.queries.sweeping import sweep
from octavo.store.queries.workspaces import delete
from tests.fakes.plain_documents import PlainDocuments
from tests.fakes.stores import open_postgres
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace
from tests.store.queries.test_changesets import Opened, on_sqlite

COPY = WorkspaceId("copy")
GONE = WorkspaceId("gone")
TEA = Confinement("tea")
NOW = 1_000_000
ROOMY = 1 << 30
_numbers = count()


class History:
    """A workspace, and the cursors that it had: one for each revision."""

    def __init__(self, store: Store, workspace_id: WorkspaceId = VAULT) -> None:
        self.store = store
        self.workspace_id = workspace_id
        self.tree = Tree()
        self.cursor = START
        self.cursors: list[Cursor] = []
        self.plans: list[Plan] = []

    async def push(self, *operations: ChangeOperation) -> list[Cursor]:
        """Commit a changeset; return the cursors of its revisions."""
        number, revisions = next(_numbers), count()
        name = MutationId(f"m{number}")
        # A receipt would hold its revisions.
        changeset = Changeset(name, fingerprint(operations), ANN, operations, repeatable=False)
        made = plan(
            self.tree,
            self.cursor,
            changeset,
            0,
            lambda: f"r{number}.{next(revisions)}",
            PlainDocuments(),
        )
        return await self.commit(made)

    async def commit(self, made: Plan) -> list[Cursor]:
        await self.store.write(commit_changesets(self.workspace_id, self.cursor, [made], 0))
        for change in made.changed:
            self.tree.put(change.head)
        self.plans.append(made)
        self.cursor = made.cursor
        found = [Cursor(made.position, each.head.revision_id) for each in made.changed]
        self.cursors += found
        return found

    async def copied(self, workspace_id: WorkspaceId) -> "History":
        """The same history in another workspace."""
        await create_workspace(self.store, workspace_id)
        copy = History(self.store, workspace_id)
        for each in self.plans:
            await copy.commit(each)
        return copy

    def write(self, file: str, path: str | None = None) -> ChangeOperation:
        """Give a note another text."""
        text = note_text(f"text {next(_numbers)}")
        head = self.tree.heads.get(FileId(file))
        if head is None:
            return CreateFile(FileId(file), path or f"{file}.md", text)
        return UpdateFile(FileId(file), frozenset({head.revision_id}), text, path)

    def tag(self, file: str) -> frozenset[str]:
        return frozenset({self.tree.heads[FileId(file)].revision_id})

    async def knows(self, cursor: Cursor) -> bool:
        """Whether the history has a cursor; everybody who asks must be told the same."""
        place = await self.store.read(place_of(self.workspace_id))
        checked = await self.store.read(checked_cursor(self.workspace_id, cursor))
        later = await self.store.read(heads_after(self.workspace_id, cursor))
        heads = await self.store.read_much(all_heads(self.workspace_id, cursor))
        assert place is not None
        assert checked is not None
        assert later is not None
        assert heads is not None
        assert place[1] == checked[0] == later.cursor == heads.cursor == self.cursor
        assert {each.file_id for each in heads.heads} == {*self.tree.heads}
        changed = await self.store.read_much(changed_since(place[0], cursor))
        answers = {checked[1], later.known, heads.known, changed is not None}
        since = Since(*cursor)
        for script in (
            feed(self.workspace_id, since, 1, ROOMY, texts=False),
            folder_feed(self.workspace_id, since, 1, ROOMY, TEA, texts=False),
        ):
            try:
                assert await self.store.read_much(script) is not None
                answers.add(True)
            except CursorUnknown as unknown:
                answers.add(unknown.cursor != self.cursor)
        [answer] = answers
        return answer

    async def known(self, *cursors: Cursor) -> set[Cursor]:
        """Which of the cursors the history has."""
        return {each for each in cursors if await self.knows(each)}

    async def prune(self) -> None:
        """Remove every revision that is not a head."""
        place = await self.store.read(place_of(self.workspace_id))
        assert place is not None
        for file in range(1, len(self.tree.heads) + 1):
            after: Position | None = Position(0)
            while after is not None:
                key = FileKey(place[0], file)
                step = prune_file(key, after, Retention(0, 0, 1), NOW, merged)
                after = await self.store.write(step)

    async def removed(self) -> int:
        """The number of marks of removed revisions."""

        async def script(transaction: Transaction) -> int:
            row = await transaction.fetch_one("SELECT COUNT(*) FROM removed_marks")
            assert row is not None
            return int(row[0])

        return await self.store.read(script)


def others(cursor: Cursor) -> list[Cursor]:
    """Cursors like this one, which no history has that has this one."""
    position, mark = cursor
    beside = [Cursor(Position(position + step), mark) for step in (1, 1000)]
    beside += [Cursor(position, NO_MARK), Cursor(position, RevisionId("other"))]
    return [each for each in beside if each.position]


async def some_changes(history: History) -> None:
    """Change notes in every way."""
    await history.push(history.write("a"), history.write("b", "tea/b.md"), history.write("c"))
    await history.push(history.write("a"))
    await history.push(history.write("a"), history.write("b"))
    await history.push(UpdateFile(FileId("b"), history.tag("b"), path="b.md"))
    await history.push(DeleteFile(FileId("b"), history.tag("b")), history.write("c", "tea/c.md"))
    await history.push(RestoreFile(FileId("b"), history.tag("b")))
    await history.push(DeleteFile(FileId("b"), history.tag("b")))
    await history.push(PurgeFile(FileId("b")), history.write("a"))
    await history.push(history.write("d", "tea/d.md"))


class Marks:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def history(self, opened: Opened) -> AsyncIterator[History]:
        async with opened() as store:
            await create_workspace(store)
            yield History(store)

    async def test_every_cursor_of_the_history_is_known_and_no_other(
        self, history: History
    ) -> None:
        assert await history.known(START, *others(Cursor(Position(1), NO_MARK))) == {START}
        await some_changes(history)
        assert len(history.cursors) == 14
        assert history.cursor == history.cursors[-1]
        assert await history.known(*history.cursors) == {*history.cursors}
        assert not await history.known(*(one for each in history.cursors for one in others(each)))
        earlier = {
            Cursor(Position(at), history.cursor.mark) for at in range(history.cursor.position)
        }
        assert await history.known(*earlier) == earlier

    async def test_position_0_is_known_whatever_its_mark(self, history: History) -> None:
        beginnings = {START, Cursor(Position(0), RevisionId("other"))}
        assert await history.known(*beginnings) == beginnings
        await some_changes(history)
        assert await history.known(*beginnings) == beginnings

    async def test_changeset_without_effect_moves_no_cursor(self, history: History) -> None:
        [made] = await history.push(history.write("a"))
        text = history.plans[0].changes[0].content
        assert isinstance(text, NoteText)
        assert await history.push(UpdateFile(FileId("a"), history.tag("a"), text)) == []
        assert await history.store.read(cursor_of(VAULT)) == made
        assert await history.known(made, *others(made)) == {made}

    async def test_workspace_that_is_gone_has_no_cursor(self, history: History) -> None:
        assert await history.store.read(cursor_of(GONE)) is None
        assert await history.store.read(checked_cursor(GONE)) is None
        assert await history.store.read(heads_after(GONE, START)) is None
        assert await history.store.read_much(all_heads(GONE)) is None
        since = Since(Position(1), RevisionId("other"))
        assert await history.store.read_much(feed(GONE, since, 1, 1, texts=True)) is None
        script = folder_feed(GONE, since, 1, 1, TEA, texts=True)
        assert await history.store.read_much(script) is None
        assert await history.store.read_much(
            changed_since(9, Cursor(Position(1), RevisionId("other")))
        ) == (START, [])

    async def test_cursors_of_removed_revisions_are_known_for_a_while(
        self, history: History
    ) -> None:
        await some_changes(history)
        heads = {Cursor(each.position, each.revision_id) for each in history.tree.heads.values()}
        await history.prune()
        assert await history.removed() == len(history.cursors) - len(heads) > 0
        assert await history.known(*history.cursors) == {*history.cursors}
        assert not await history.known(*(one for each in history.cursors for one in others(each)))
        assert await history.store.write(expire_marks(NOW)) is False
        assert await history.known(*history.cursors) == {*history.cursors}
        assert await history.store.write(expire_marks(NOW + 1)) is False
        assert await history.removed() == 0
        assert await history.known(*history.cursors) == heads

    async def test_marks_are_forgotten_in_portions(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await some_changes(history)
        await history.prune()
        monkeypatch.setattr(expiry, "MAX_ROWS", 4)
        left = [await history.removed()]
        while await history.store.write(expire_marks(NOW + 1)):
            left.append(await history.removed())
        assert left == [10, 6, 2]
        assert await history.removed() == 0

    async def test_deleted_workspace_leaves_no_marks(self, history: History) -> None:
        await some_changes(history)
        copy = await history.copied(COPY)
        await history.prune()
        await copy.prune()
        both = await history.removed()
        await history.store.write(delete(VAULT))
        while await history.store.write(sweep()):
            pass
        assert await history.removed() * 2 == both > 0
        assert await copy.known(*copy.cursors) == {*copy.cursors}
        await history.store.write(delete(COPY))
        while await history.store.write(sweep()):
            pass
        assert await history.removed() == 0

    @pytest.mark.parametrize("pruned", [False, True])
    async def test_history_that_was_taken_back_is_told_apart(
        self, history: History, pruned: bool
    ) -> None:
        await some_changes(history)
        copy = await history.copied(COPY)
        common = {*history.cursors}
        for each in (history, copy):
            await some_later_changes(each)
            if pruned:
                await each.prune()
        lost = {*history.cursors} - common
        new = {*copy.cursors} - common
        assert {each.position for each in lost} == {each.position for each in new}
        assert await history.known(*common, *lost, *new) == common | lost
        assert await copy.known(*common, *lost, *new) == common | new

    @pytest.mark.parametrize("kind", range(3))
    async def test_page_is_not_continued_in_a_history_without_the_next_one(
        self, history: History, kind: int
    ) -> None:
        await history.push(history.write("a", "tea/a.md"), history.write("b", "tea/b.md"))
        await history.push(history.write("b"))
        copy = await history.copied(COPY)
        await history.push(history.write("a"))
        page = await history.store.read_much(self._pages(Since(*START), 1)[kind])
        assert page is not None
        assert [each.revision.file_id for each in page.entries] == ["b"]
        # The copy has this position, and an earlier change of the note on the next page.
        assert (page.following.position, copy.cursor.position) == (2, 2)
        assert await history.knows(page.following)
        assert not await copy.knows(page.following)

    async def test_nothing_is_committed_on_top_of_another_history(self, history: History) -> None:
        await some_changes(history)
        copy = await history.copied(COPY)
        for each in (history, copy):
            await each.push(each.write("a"))
        assert history.cursor.position == copy.cursor.position
        following = plan(
            history.tree,
            history.cursor,
            Changeset(
                MutationId("late"),
                fingerprint([]),
                ANN,
                (CreateFile(FileId("late"), "late.md", note_text("")),),
            ),
            0,
            lambda: "late",
            PlainDocuments(),
        )
        for script in (
            commit_changesets(COPY, history.cursor, [following], 0),
            store_documents(COPY, history.cursor, []),
        ):
            with pytest.raises(PositionMoved):
                await history.store.write(script)
        assert await history.store.read(cursor_of(COPY)) == copy.cursor
        assert await copy.knows(copy.cursor)

    async def test_device_without_a_mark_is_served_from_any_position(
        self, history: History
    ) -> None:
        await some_changes(history)
        newest = history.cursor
        for position in range(newest.position + 2):
            since = Since(Position(position))
            for script in self._pages(since, 1000):
                found = await history.store.read_much(script)
                assert found is not None
                assert (found.following, found.cursor) == (newest, newest)
                assert all(each.revision.position > position for each in found.entries)

    @staticmethod
    def _pages(since: Since, limit: int) -> list[Script[FeedSlice | None]]:
        return [
            feed(VAULT, since, limit, ROOMY, texts=True),
            feed(VAULT, since, limit, ROOMY, texts=False),
            folder_feed(VAULT, since, limit, ROOMY, TEA, texts=True),
        ]

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("kind", range(3))
    async def test_cursor_after_each_page_of_a_feed_is_known(
        self, history: History, kind: int, seed: int
    ) -> None:
        chance = random.Random(seed)
        for number in range(30):
            names = chance.sample("abcdefgh", chance.choice([1, 1, 2, 4]))
            places = [None, *(f"{place}{number}" for place in ("", "tea/", "TEA/green/"))]
            await history.push(
                *(
                    history.write(name, place and f"{place}{name}.md")
                    for name in names
                    for place in [chance.choice(places)]
                )
            )
        if seed % 2:
            await history.prune()
        for limit in (1, 2, 5):
            at, pages = START, 0
            entries: dict[FileId, RevisionId] = {}
            while at != history.cursor:
                found = await history.store.read_much(self._pages(Since(*at), limit)[kind])
                assert found is not None
                assert found.cursor == history.cursor
                assert found.following.mark == history.cursor.mark
                assert found.following.position > at.position
                assert await history.knows(found.following)
                at, pages = found.following, pages + 1
                entries |= {
                    each.revision.file_id: each.revision.revision_id for each in found.entries
                }
            assert pages > 1 or limit > 1
            assert (
                entries.items()
                >= {
                    each.file_id: each.revision_id
                    for each in history.tree.heads.values()
                    if kind < 2 or TEA.covers(each.path)
                }.items()
            )


async def some_later_changes(history: History) -> None:
    await history.push(history.write("a"), history.write("c"))
    await history.push(history.write("a"))
    await history.push(DeleteFile(FileId("a"), history.tag("a")), history.write("e"))


class TestSqlite(Marks):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite


class TestPostgres(Marks):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

"""Old rows are removed in portions: revisions, receipts, sessions."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

import pytest
import trio
from octavo_rules.changes import PurgeFile
from octavo_rules.content import note_text
from octavo_rules.documents.document import ChangedDocument, TextDocument, initial
from octavo_rules.identity import START, Epoch, FileId, MutationId, Position, RevisionId
from trio.testing import MockClock

from octavo.actors.jobs.housekeeping import PERIOD_SECONDS, RetentionJob
from octavo.actors.jobs.indexing import index_some
from octavo.documents import merged
from octavo.features.accounts.sql.sessions import expire_sessions
from octavo.features.history.feature import pruning
from octavo.features.history.rules.retention import DAY, HOUR, Retention
from octavo.features.history.sql import history_pruning
from octavo.features.search.sql.fulltext_index import WORDS, erase_removed_words, remove_some_words
from octavo.model.documents.update_log import packed
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.plan import plan
from octavo.model.files.revision import Revision
from octavo.model.files.tree import Tree
from octavo.store import Store
from octavo.store.queries.changesets import commit_changesets, receipts, store_documents
from octavo.store.queries.expiry import expire_receipts
from octavo.store.queries.files import revision, revisions_of, whole_file
from octavo.store.queries.sweeping import sweep
from octavo.store.queries.workspaces import delete
from octavo.store.transaction import Transaction, Value
from tests.fakes.plain_documents import PlainDocuments
from tests.fakes.stores import open_postgres
from tests.fakes.workspace_rig import ANN, VAULT, create_workspace
from tests.fakes.yjs_device import Device
from tests.store.queries.test_changesets import Opened, on_sqlite

NOW = 1000 * DAY
RULE = Retention(all_of=2 * DAY, hourly=10 * DAY, least=2)
_numbers = count()


class History:
    """A workspace whose notes were changed at different times."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tree = Tree()
        self.cursor = START

    async def change(
        self, operation: ChangeOperation, age: int, *, receipt: bool = False
    ) -> Revision:
        number = next(_numbers)
        changeset = Changeset(
            MutationId(f"m{number}"), fingerprint([operation]), ANN, (operation,), receipt
        )
        made = plan(
            self.tree, self.cursor, changeset, NOW - age, lambda: f"r{number}", PlainDocuments()
        )
        await self.store.write(commit_changesets(VAULT, self.cursor, [made], NOW - age))
        self.cursor = made.cursor
        [change] = made.changes
        self.tree.put(change.head)
        return change.head

    async def note(self, file: str, *ages: int, receipt: bool = False) -> list[RevisionId]:
        """Create a note with revisions of these ages; return their ids."""
        head = await self.change(
            CreateFile(FileId(file), f"{file}.md", note_text("")), ages[0], receipt=receipt
        )
        found = [head.revision_id]
        for age in ages[1:]:
            text = note_text(f"{age} old")
            update = UpdateFile(head.file_id, frozenset({head.revision_id}), text)
            head = await self.change(update, age, receipt=receipt)
            found.append(head.revision_id)
        return found

    async def left(self, file: str) -> list[RevisionId]:
        """The revisions of a note, the oldest first, each with its text."""
        script = revisions_of(VAULT, FileId(file), Position(1 << 62), 1000)
        found = [each.revision_id for each in await self.store.read(script)][::-1]
        for each in found:
            stored = await self.store.read(revision(VAULT, FileId(file), each))
            assert stored is not None
            assert stored.text is not None
        return found

    async def count(self, table: str) -> int:
        async def script(transaction: Transaction) -> int:
            row = await transaction.fetch_one(f"SELECT COUNT(*) FROM {table}")
            assert row is not None
            number: int = row[0]
            return number

        return await self.store.read(script)

    async def catch_up(self) -> None:
        """Index all words."""
        left = [VAULT]
        while left:
            left = (await index_some(self.store, WORDS, left)).left

    async def execute(self, sql: str, *arguments: Value) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *arguments)

        await self.store.write(script)

    def keeper(self, rule: Retention = RULE) -> RetentionJob:
        return RetentionJob(self.store, lambda: NOW / 1000, [pruning(rule)])


class Housekeeping:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def history(self, opened: Opened) -> AsyncIterator[History]:
        async with opened() as store:
            await create_workspace(store)
            yield History(store)

    async def test_history_is_pruned_and_the_rest_keeps_its_texts(self, history: History) -> None:
        old = await history.note("old", *(30 * DAY + 6 * HOUR - n for n in range(6)))
        young = await history.note("young", 3 * HOUR, 2 * HOUR, HOUR)
        hourly = await history.note("hourly", 5 * DAY + 2, 5 * DAY + 1, 5 * DAY - HOUR, 3, 2, 1)
        await history.keeper().round()
        assert await history.left("old") == old[-2:]
        assert await history.left("young") == young
        assert await history.left("hourly") == hourly[1:]
        assert await history.count("contents") == 10
        assert await history.count("revisions") + await history.count("files") == 10

    async def test_document_that_has_a_pruned_text_goes_with_it(self, history: History) -> None:
        await history.execute("UPDATE workspaces SET documents_were_read = 1")
        await history.note("a", *(30 * DAY + 5 - number for number in range(5)))
        assert await history.count("documents") == 1
        await history.keeper(Retention(0, 0, 1)).round()
        assert await history.count("documents") == 0
        found = await history.store.read(whole_file(VAULT, FileId("a"), merged))
        assert found is not None
        assert found.document is not None
        assert found.document.epoch == Epoch(found.stored.revision.content_id)

    @pytest.mark.parametrize("pruned", [True, False])
    async def test_updates_that_have_a_pruned_text_are_merged_into_their_document(
        self, history: History, pruned: bool
    ) -> None:
        await history.note("a", *(30 * DAY + 5 - number for number in range(4)))
        head = history.tree.heads[FileId("a")]
        base = initial(head.content_id, "30")
        device = Device.kept(base, 7)
        put = ChangedDocument(FileId("a"), TextDocument(base, head.content_id), None)
        await history.store.write(store_documents(VAULT, history.cursor, [put]))
        for position in (2, 3):
            before = device.vector()
            if position == 2:
                device.insert(2, "secret")
            else:
                device.delete(2, 8)
            row = (position, packed([device.doc.get_update(before)]))
            await history.execute("INSERT INTO document_updates VALUES (1, 1, $1, $2)", *row)
        await history.keeper(Retention(0, 0, 1) if pruned else RULE).round()
        assert len(await history.left("a")) == (1 if pruned else 2)
        assert await history.count("document_updates") == 0
        found = await history.store.read(whole_file(VAULT, FileId("a"), merged))
        assert found is not None
        assert found.document is not None
        assert found.document.epoch == base.epoch
        assert Device.kept(found.document, 8).text == "30"
        assert b"secret" not in found.document.state

    async def test_damaged_document_with_a_pruned_text_is_removed(self, history: History) -> None:
        await history.note("a", *(30 * DAY + 5 - number for number in range(4)))
        await history.execute(
            "INSERT INTO documents"
            " (workspace, file, epoch_id, content_revision_id, base_state, vector)"
            " SELECT 1, 1, revision_id, revision_id, $1, $1 FROM files",
            b"none",
        )
        await history.execute("INSERT INTO document_updates VALUES (1, 1, 2, $1)", b"\1x")
        await history.keeper(Retention(0, 0, 1)).round()
        assert await history.count("document_updates") == await history.count("documents") == 0

    async def test_text_that_a_later_revision_has_stays(self, history: History) -> None:
        made = await history.note("a", 30 * DAY + 3, 30 * DAY + 2)
        moved = await history.change(
            UpdateFile(FileId("a"), frozenset({made[-1]}), path="b.md"), 30 * DAY + 1
        )
        await history.keeper(Retention(0, 0, 1)).round()
        assert await history.left("a") == [made[1], moved.revision_id]

    async def test_revision_in_a_receipt_stays_until_the_receipt_is_removed(
        self, history: History
    ) -> None:
        made = await history.note("a", 30 * DAY + 3, 30 * DAY + 2, 30 * DAY + 1, receipt=True)
        keeper = history.keeper(Retention(0, 0, 1))
        await keeper.round()
        assert await history.left("a") == made
        assert await history.store.write(expire_receipts(NOW - 30 * DAY)) is False
        assert await history.count("receipts") == 0
        await keeper.round()
        assert await history.left("a") == made[-1:]

    async def test_receipt_that_names_a_pruned_revision_has_expired(self, history: History) -> None:
        made = await history.note("a", 30 * DAY + 5, 30 * DAY + 4)
        # A change without effect: its receipt refers to the head of another change.
        text = note_text(f"{30 * DAY + 4} old")
        update = UpdateFile(FileId("a"), frozenset({made[-1]}), text)
        name = MutationId(f"m{next(_numbers)}")
        changeset = Changeset(name, fingerprint([update]), ANN, (update,), True)
        tree, cursor = history.tree, history.cursor
        unchanged = plan(tree, cursor, changeset, NOW, lambda: "none", PlainDocuments())
        assert [each.outcome for each in unchanged.changes] == ["unchanged"]
        await history.store.write(commit_changesets(VAULT, cursor, [unchanged], NOW))
        assert [*await history.store.read_much(receipts(VAULT, [name]))] == [name]
        for age in (3, 2):
            head = history.tree.heads[FileId("a")].revision_id
            later = UpdateFile(FileId("a"), frozenset({head}), note_text(f"{age}"))
            await history.change(later, 30 * DAY + age)
        await history.keeper(Retention(0, 0, 1)).round()
        assert made[-1] not in await history.left("a")
        assert await history.store.read_much(receipts(VAULT, [name])) == {}

    async def test_recent_receipt_is_not_removed(self, history: History) -> None:
        await history.note("a", 2, 1, receipt=True)
        assert await history.store.write(expire_receipts(NOW - 2)) is False
        assert await history.count("receipts") == 2

    async def test_each_step_removes_a_portion(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history_pruning, "MAX_ROWS", 2)
        monkeypatch.setattr(history_pruning, "_LOOKED_AT", 5)
        made = await history.note("a", *(30 * DAY + 20 - n for n in range(9)))
        place = history_pruning.FileKey(1, 1)
        left = []
        after: Position | None = Position(0)
        while after is not None:
            step = history_pruning.prune_file(place, after, Retention(0, 0, 1), NOW, merged)
            after = await history.store.write(step)
            left.append(len(await history.left("a")))
        assert left == [7, 5, 3, 1]
        assert await history.left("a") == made[-1:]

    async def test_kept_revisions_do_not_protect_the_following(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history_pruning, "_LOOKED_AT", 4)
        days = await history.note("a", *(100 * DAY - n * DAY for n in range(10)))
        crowd = [days[-1]]
        for number in range(6):
            head = history.tree.heads[FileId("a")]
            update = UpdateFile(head.file_id, frozenset({head.revision_id}), note_text(f"{number}"))
            crowd.append((await history.change(update, 50 * DAY - number)).revision_id)
        await history.keeper(Retention(0, 0, 1)).round()
        assert await history.left("a") == [*days, crowd[-1]]

    async def test_text_of_a_much_older_revision_stays(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history_pruning, "_LOOKED_AT", 3)
        made = await history.note("a", 50 * DAY + 9, 50 * DAY + 8)
        last = made[-1]
        for number in range(4):
            head = history.tree.heads[FileId("a")]
            move = UpdateFile(head.file_id, frozenset({head.revision_id}), path=f"{number}.md")
            last = (await history.change(move, 50 * DAY - number)).revision_id
        await history.keeper(Retention(0, 0, 1)).round()
        assert await history.left("a") == [made[1], last]

    async def test_text_whose_words_are_indexed_stays_until_a_later_one_is_indexed(
        self, history: History
    ) -> None:
        made = await history.note("a", 30 * DAY + 3, 30 * DAY + 2)
        await history.catch_up()
        head = history.tree.heads[FileId("a")]
        late = UpdateFile(head.file_id, frozenset({head.revision_id}), note_text("late"))
        made.append((await history.change(late, 30 * DAY + 1)).revision_id)
        keeper = history.keeper(Retention(0, 0, 1))
        await keeper.round()
        assert await history.left("a") == made[1:]
        await history.catch_up()
        await keeper.round()
        # The words of the earlier one are not removed yet.
        assert await history.left("a") == made[1:]
        while await history.store.write(remove_some_words()):
            pass
        await keeper.round()
        assert await history.left("a") == made[2:]

    async def test_every_file_has_its_turn(
        self, history: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(history_pruning, "_FILES", 2)
        for name in "abcde":
            await history.note(name, 30 * DAY + 2, 30 * DAY + 1)
        await history.keeper(Retention(0, 0, 1)).round()
        assert [len(await history.left(name)) for name in "abcde"] == [1] * 5

    async def test_pruned_file_is_purged_and_its_workspace_swept_completely(
        self, history: History
    ) -> None:
        made = await history.note("a", *(30 * DAY + 9 - n for n in range(5)))
        await history.note("b", *(30 * DAY + 9 - n for n in range(5)))
        await history.change(UpdateFile(FileId("a"), frozenset({made[-1]}), path="c.md"), 5)
        await history.keeper(Retention(0, 0, 1)).round()
        await history.execute("UPDATE files SET state = 'deleted' WHERE file_id = $1::uuid", "a")
        history.tree.put(replace(history.tree.heads[FileId("a")], state="deleted"))
        await history.change(PurgeFile(FileId("a")), 1)
        while await history.store.write(sweep()):
            pass
        assert await history.count("contents") == 1
        await history.execute("INSERT INTO document_updates VALUES (1, 2, 4, $1)", b"\1x")
        await history.store.write(delete(VAULT))
        while await history.store.write(sweep()):
            pass
        for table in (
            "contents",
            "revisions",
            "files",
            "documents",
            "document_updates",
            "purged_contents",
        ):
            assert await history.count(table) == 0, table

    async def test_ended_sessions_are_removed(self, history: History) -> None:
        for name, created_at, active_at in (("live", 10, 20), ("idle", 10, 14), ("old", 4, 20)):
            await history.execute(
                "INSERT INTO sessions (id, account_id, digest, device, client, created_at,"
                " active_at) VALUES ($1::uuid, $2::uuid, $3, '', '', $4, $5)",
                name,
                ANN,
                name.encode(),
                created_at,
                active_at,
            )
        assert await history.store.write(expire_sessions(15, 5)) is False
        assert await history.count("sessions") == 1


class TestSqlite(Housekeeping):
    @pytest.fixture
    def opened(self) -> Opened:
        return on_sqlite

    async def test_words_of_a_pruned_and_purged_note_are_not_in_the_index(
        self, history: History
    ) -> None:
        async def held(transaction: Transaction) -> bool:
            rows = await transaction.fetch_all("SELECT block FROM search_data")
            return any(b"secret" in row[0] for row in rows)

        made = CreateFile(FileId("a"), "a.md", note_text("xsecretx"))
        head = await history.change(made, 30 * DAY + 2)
        await history.catch_up()
        late = UpdateFile(head.file_id, frozenset({head.revision_id}), note_text("late"))
        head = await history.change(late, 30 * DAY + 1)
        await history.keeper(Retention(0, 0, 1)).round()
        await history.catch_up()
        await history.change(DeleteFile(head.file_id, frozenset({head.revision_id})), 2)
        await history.change(PurgeFile(head.file_id), 1)
        while await history.store.write(sweep()):
            pass
        assert await history.store.read(held)
        while await history.store.write(erase_removed_words()):
            pass
        assert not await history.store.read(held)

    async def test_rounds_continue(self, history: History, autojump_clock: MockClock) -> None:
        made = await history.note("a", 30 * DAY + 2, 30 * DAY + 1)
        keeper = history.keeper(Retention(0, 0, 1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keeper.run)
            await trio.sleep(PERIOD_SECONDS / 2)
            assert await history.left("a") == made[-1:]
            again = await history.note("b", 30 * DAY + 2, 30 * DAY + 1)
            await trio.sleep(PERIOD_SECONDS)
            assert await history.left("b") == again[-1:]
            nursery.cancel_scope.cancel()


class TestPostgres(Housekeeping):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

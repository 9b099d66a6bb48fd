"""The guarantees of a workspace's actor to its callers, with a working or failing store."""

from typing import Any
from unittest.mock import Mock

import pytest
import trio
from greenroom import OutcomeUnknown
from greenroom.testing import Fault, FaultPlan
from octavo_rules.changes import PurgeFile
from octavo_rules.identity import Digest, FileId, Position, WorkspaceId

from octavo.actors.workspace.messages import CommitFailed, HeadOf, NoWorkspace
from octavo.actors.workspace.planning import INLINE_TEXT_BYTES
from octavo.model.files.changeset import AttachImage, DeleteFile, RestoreFile
from octavo.model.files.image import ObjectId, UploadedImage, UploadMissing
from octavo.model.files.plan import Receipt
from octavo.model.refusal import FileMissing, FilePurged, HeadMoved, MutationReused, PathConflict
from octavo.store import Script, StoreUnavailable
from octavo.store.compression import compressed
from octavo.store.queries import changesets
from octavo.store.queries.feed import Since, feed
from octavo.store.queries.files import file
from octavo.store.queries.workspaces import create, delete
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import ANN, VAULT, Rig, create_workspace, edit, note, serving


async def text_of(rig: Rig, name: str) -> str | None:
    found = await rig.store.read(file(VAULT, FileId(name)))
    return None if found is None else found.text


async def test_accepted_changesets_take_the_positions_in_order_and_are_announced() -> None:
    async with serving() as rig:
        first = await rig.push(note("a", "a.md"))
        second = await rig.push(note("b", "b.md"), edit("r0", text="new"))
        assert (first.position, second.position) == (1, 2)
        assert rig.announced == [1, 2]
        assert [each.outcome for each in second.outcomes] == ["created", "updated"]
        assert await text_of(rig, "a") == "new"


async def test_long_texts_are_compressed_before_the_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "word " * INLINE_TEXT_BYTES
    async with serving() as rig:
        await rig.push(note("short", "short.md"))
        with monkeypatch.context() as patch:
            counted = Mock(side_effect=compressed)
            patch.setattr(changesets, "compressed", counted)
            write, inside = rig.store.write, []

            async def observed(script: Script[Any]) -> Any:  # noqa: ANN401
                before = counted.call_count
                try:
                    return await write(script)
                finally:
                    inside.append(counted.call_count - before)

            patch.setattr(rig.store, "write", observed)
            await rig.push(note("a", "a.md", text), note("b", "b.md"))
            await rig.push(note("c", "c.md"))
        assert inside == [0, 1]
        assert [await text_of(rig, name) for name in "abc"] == [text, "text", "text"]


async def test_refused_changeset_has_no_effect() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md"))
        assert isinstance(await rig.refusal(note("b", "b.md"), note("c", "A.md")), PathConflict)
        assert await rig.head("b") is None
        assert await text_of(rig, "b") is None
        assert rig.announced == [1]


async def test_repeated_mutation_gets_the_first_receipt_whatever_the_state_of_the_file() -> None:
    async with serving() as rig:
        first = await rig.push(note("a", "a.md"), mutation="once")
        head = await rig.head("a")
        assert head is not None
        await rig.push(edit(head, text="later"))
        assert await rig.push(note("a", "a.md"), mutation="once") == first
        assert isinstance(await rig.refusal(note("z", "z.md"), mutation="once"), MutationReused)
        assert rig.announced == [1, 2]


async def test_refused_change_that_nobody_can_repeat_is_not_looked_up() -> None:
    store = FaultyStore(open_inline())
    await create_workspace(store.inner)
    async with serving(store) as rig:
        await rig.push(note("a", "a.md"))
        store.reads = 0
        await rig.refusal(note("b", "a.md"))
        assert store.reads == 0
        await rig.refusal(note("b", "a.md"), mutation="named")
        assert store.reads == 1


async def test_mutation_without_effect_is_also_remembered() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "same"))
        first = await rig.push(edit("r0", text="same"), mutation="nothing")
        assert (first.position, first.outcomes[0].outcome) == (1, "unchanged")
        await rig.push(edit("r0", text="other"))
        assert await rig.push(edit("r0", text="same"), mutation="nothing") == first


async def test_receipt_outlives_the_actor() -> None:
    store = open_inline()
    await create_workspace(store)
    async with serving(store) as rig:
        first = await rig.push(note("a", "a.md"), mutation="once")
    async with serving(store) as rig:
        assert await rig.push(note("a", "a.md"), mutation="once") == first
        assert isinstance(await rig.refusal(edit("stale", text="x")), HeadMoved)
    store.close()


async def test_purge_is_told_when_the_actor_fails_after_its_commit() -> None:
    store = open_inline()
    await create_workspace(store)
    async with serving(store) as rig:
        await rig.push(note("a", "a.md"))
        await rig.push(DeleteFile(FileId("a"), frozenset({"r0"})))
    faults = FaultPlan(0, [Fault("crash", "workspace.committed", times=1)])
    async with serving(store, faults=faults) as rig:
        with pytest.raises(OutcomeUnknown):
            await rig.push(PurgeFile(FileId("a")))
        assert rig.purged == ["r"]
    store.close()


async def test_receipt_of_a_purged_file_reveals_nothing_of_its_content() -> None:
    async with serving() as rig:
        await rig.push(note("a", "secret.md", "secret"), mutation="made")
        await rig.push(DeleteFile(FileId("a"), frozenset({"r0"})))
        assert rig.purged == []
        await rig.push(PurgeFile(FileId("a")))
        assert rig.purged == ["r"]
        again = await rig.push(note("a", "secret.md", "secret"), mutation="made")
        [outcome] = again.outcomes
        assert (outcome.outcome, outcome.head.path, outcome.head.digest) == ("created", "", "")
        assert await text_of(rig, "a") is None
        assert isinstance(await rig.refusal(note("a", "b.md")), FilePurged)


async def test_restored_file_has_its_text_again() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "kept"))
        deleted = await rig.push(DeleteFile(FileId("a"), frozenset({"r0"})))
        tag = frozenset({deleted.outcomes[0].head.revision_id})
        await rig.push(RestoreFile(FileId("a"), tag, "b.md"))
        head = await rig.head("a")
        assert head is not None
        assert (head.path, head.state, await text_of(rig, "a")) == ("b.md", "live", "kept")


async def test_concurrent_repetition_of_a_mutation_has_one_effect() -> None:
    async with serving() as rig:
        receipts: list[Receipt] = []

        async def push() -> None:
            receipts.append(await rig.push(note("a", "a.md"), mutation="once"))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(push)
        assert len(receipts) == 5
        assert len(set(receipts)) == 1
        assert rig.announced == [1]


async def test_concurrent_writer_makes_the_actor_plan_again() -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as here, serving(flaky, name="s") as there:
        await here.push(note("a", "a.md"))
        there.ids = here.ids
        assert (await there.head("a")) == (await here.head("a"))

        async def meanwhile() -> None:
            await there.push(note("b", "b.md"))

        flaky.before_write = meanwhile
        receipt = await here.push(note("c", "c.md"))
        assert receipt.position == 3
        assert isinstance(await here.refusal(note("d", "b.md")), PathConflict)
        # Its cache is outdated, and the fence detects that.
        assert isinstance(await there.refusal(note("e", "c.md")), PathConflict)
    engine.close()


async def test_image_whose_upload_is_gone_leaves_its_path_free() -> None:
    image = UploadedImage(ObjectId("o"), Digest("0" * 64), 100, "image/png", 4, 3, 1)
    attach = AttachImage(FileId("i"), "attachments/a.png", image)
    async with serving() as rig:
        assert isinstance(await rig.refusal(attach), UploadMissing)
        assert await rig.head("i") is None
        assert (await rig.push(note("n", "attachments/a.png/n.md"))).position == 1


async def test_shared_workspace_returns_heads_created_by_another_process() -> None:
    store = open_inline()
    await create_workspace(store)
    async with serving(store, shared=True) as here, serving(store, shared=True) as there:
        assert await here.head("a") is None
        await there.push(note("a", "a.md"))
        head = await here.head("a")
        assert head is not None
        assert head.position == 1
    store.close()


@pytest.mark.parametrize("kept", [False, True])
async def test_failing_store_is_read_again_before_any_other_reply(kept: bool) -> None:
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as rig:
        await rig.push(note("a", "a.md"))
        flaky.fail, flaky.commits_anyway = StoreUnavailable("gone", outcome_unknown=True), kept
        with pytest.raises(CommitFailed) as failed:
            await rig.push(edit("r0", text="new"), mutation="doubtful")
        assert failed.value.error.outcome_unknown
        assert rig.announced == [1]
        head = await rig.head("a")
        assert head is not None
        assert head.position == (2 if kept else 1)
        # Sending it again has one effect, whatever the first outcome was.
        receipt = await rig.push(edit("r0", text="new"), mutation="doubtful")
        assert receipt.position == 2
        assert await text_of(rig, "a") == "new"
    engine.close()


async def test_position_committed_without_an_acknowledgement_is_announced_on_the_next_read() -> (
    None
):
    engine = open_inline()
    flaky = FaultyStore(engine)
    await create_workspace(flaky)
    async with serving(flaky) as rig:
        flaky.fail, flaky.commits_anyway = StoreUnavailable("gone", outcome_unknown=True), True
        with pytest.raises(CommitFailed):
            await rig.push(note("a", "a.md"))
        assert rig.announced == []
        await rig.head("a")
        await rig.head("a")
        assert rig.announced == [1]
    engine.close()


async def test_deletion_of_a_workspace_is_reported_and_a_new_one_with_its_id_starts_empty() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md"))
        await rig.store.write(delete(VAULT))
        with pytest.raises(NoWorkspace):
            await rig.push(note("b", "b.md"))
        await rig.store.write(create(VAULT, "Again", ANN, 0))
        assert await rig.head("a") is None
        assert (await rig.push(note("b", "b.md"))).position == 1


async def test_unknown_workspace_is_reported() -> None:
    async with serving() as rig:
        with pytest.raises(NoWorkspace):
            await rig.directory.ask(WorkspaceId("none"), HeadOf(FileId("a")))


async def test_update_of_a_deleted_file_is_missing_and_feed_has_it_once() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md"))
        await rig.push(DeleteFile(FileId("a"), frozenset({"r0"})))
        assert isinstance(await rig.refusal(edit("r1", text="x")), FileMissing)
        page = await rig.store.read(feed(VAULT, Since(Position(0)), 10, 1000, texts=True))
        assert page is not None
        assert [(each.revision.state, each.revision.position) for each in page.entries] == [
            ("deleted", 2)
        ]
        assert page.following == page.cursor == (2, page.entries[0].revision.revision_id)


async def test_asker_that_leaves_before_its_turn_changes_nothing() -> None:
    async with serving() as rig:
        with trio.CancelScope() as scope:
            scope.cancel()
            await rig.push(note("a", "a.md"))
        assert await rig.head("a") is None

"""The indexer: words are indexed soon after a change, in portions, also after a failure."""

from collections.abc import Iterator

import pytest
import trio

from octavo.actors.jobs.indexing import POLL_SECONDS, QUIET, IndexingJob
from octavo.model.identity import WorkspaceId
from octavo.store.scripts.index_backlog import workspaces_to_index
from octavo.store.sqlite import InlineStore, open_inline
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.workspace_rig import VAULT, create_workspace, note, serving


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


async def left(store: InlineStore) -> list[WorkspaceId]:
    """The workspaces with words to index."""
    return await store.read(workspaces_to_index([VAULT]))


async def test_words_are_indexed_soon_after_a_change(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    indexer = IndexingJob(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        nursery.start_soon(indexer.run)
        await trio.sleep(QUIET / 2)
        await rig.push(*(note(f"n{n}", f"{n}.md", "x" * 20_000) for n in range(20)))
        assert await left(engine) == [VAULT]
        indexer.wake(VAULT)
        await trio.sleep(QUIET / 2)
        assert await left(engine) == [VAULT]
        await trio.sleep(QUIET)
        assert await left(engine) == []
        nursery.cancel_scope.cancel()


async def test_unannounced_words_are_indexed_eventually(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        nursery.start_soon(IndexingJob(engine).run)
        await trio.sleep(QUIET / 2)
        await rig.push(note("a", "a.md"))
        await trio.sleep(POLL_SECONDS + 2 * QUIET)
        assert await left(engine) == []
        nursery.cancel_scope.cancel()


async def test_indexer_continues_after_a_failure(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    faulty = FaultyStore(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await rig.push(note("a", "a.md"))
        faulty.failures = 1
        indexer = IndexingJob(faulty)
        nursery.start_soon(indexer.run)
        await trio.sleep(QUIET / 2)
        indexer.wake(VAULT)
        assert await left(engine) == [VAULT]
        await trio.sleep(3 * QUIET)
        assert await left(engine) == []
        nursery.cancel_scope.cancel()

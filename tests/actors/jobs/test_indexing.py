"""Indexing: soon after a change, in portions, also after a failure; and before queries of links."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import trio
from octavo_rules.identity import FileId, WorkspaceId

from octavo.actors.jobs import indexing
from octavo.actors.jobs.indexing import (
    CATCH_UP_SECONDS,
    LONGEST_DELAY,
    OVERTAKEN_PAUSE,
    POLL_SECONDS,
    RETRY_SECONDS,
    SMALL_BYTES,
    StepDone,
    catch_up,
    index_some,
)
from octavo.features.links.reading import read_links
from octavo.features.links.sql import link_index
from octavo.features.links.sql.link_index import LINKS, LinksOutdated
from octavo.features.links.sql.link_queries import FIRST, back_links
from octavo.features.search.sql.fulltext_index import WORDS
from octavo.service.features import indexing_job
from octavo.store import Script, Store, StoreUnavailable, Transaction
from octavo.store.queries.index_backlog import (
    SLICE_BYTES,
    FileIndex,
    next_step,
    workspaces_to_index,
)
from octavo.store.sqlite import InlineStore
from octavo.store.transaction import T
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline
from tests.fakes.workspace_rig import VAULT, Rig, create_workspace, note, serving


@pytest.fixture
def engine() -> Iterator[InlineStore]:
    store = open_inline()
    yield store
    store.close()


async def left(store: InlineStore, index: FileIndex[Any]) -> list[WorkspaceId]:
    """The workspaces with changes to index."""
    return await store.read(workspaces_to_index(index, [VAULT]))


@pytest.mark.parametrize(
    ("index", "quiet"),
    [pytest.param(LINKS, LINKS.quiet, id="links"), pytest.param(WORDS, WORDS.quiet, id="words")],
)
async def test_changes_are_indexed_soon(
    engine: InlineStore, autojump_clock: trio.abc.Clock, index: FileIndex[Any], quiet: float
) -> None:
    await create_workspace(engine)
    indexer = indexing_job(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        nursery.start_soon(indexer.run)
        await trio.sleep(quiet / 2)
        await rig.push(*(note(f"n{n}", f"{n}.md", "x" * 20_000) for n in range(20)))
        assert await left(engine, index) == [VAULT]
        indexer.wake(VAULT)
        await trio.sleep(quiet / 2)
        assert await left(engine, index) == [VAULT]
        await trio.sleep(quiet)
        assert await left(engine, index) == []
        nursery.cancel_scope.cancel()


async def test_changes_that_go_on_are_indexed_when_they_pause(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    indexer = indexing_job(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        nursery.start_soon(indexer.run)
        began = trio.current_time()
        for number in range(10_000):
            await rig.push(note(f"n{number}", f"{number}.md"))
            indexer.wake(VAULT)
            await trio.sleep(LINKS.quiet / 2)
            unindexed = await engine.read(next_step(LINKS, [VAULT]))
            if len(unindexed.parts[0].files) <= number:
                break
        assert LONGEST_DELAY <= trio.current_time() - began < LONGEST_DELAY + 2 * LINKS.quiet
        await trio.sleep(LINKS.quiet * 1.5)
        assert await left(engine, LINKS) == []
        nursery.cancel_scope.cancel()


async def test_steps_are_small_while_others_write(
    engine: InlineStore, autojump_clock: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    async def recording(
        store: Store, index: FileIndex[Any], waiting: Sequence[WorkspaceId], size: int
    ) -> StepDone:
        sizes.append(size)
        return await index_some(store, index, waiting, size)

    monkeypatch.setattr(indexing, "index_some", recording)
    await create_workspace(engine)
    indexer = indexing_job(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await rig.push(note("a", "a.md"))
        nursery.start_soon(indexer.run)
        await trio.sleep(LINKS.quiet * 1.5)
        assert sizes == [SLICE_BYTES]
        await rig.push(note("b", "b.md"))
        indexer.wake(VAULT)
        await trio.sleep(LINKS.quiet * 1.5)
        assert sizes == [SLICE_BYTES, SMALL_BYTES]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "index", [pytest.param(LINKS, id="links"), pytest.param(WORDS, id="words")]
)
async def test_unannounced_changes_are_indexed_eventually(
    engine: InlineStore, autojump_clock: trio.abc.Clock, index: FileIndex[Any]
) -> None:
    await create_workspace(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        nursery.start_soon(indexing_job(engine).run)
        await trio.sleep(WORDS.quiet / 2)
        await rig.push(note("a", "a.md"))
        await trio.sleep(POLL_SECONDS + 2 * WORDS.quiet)
        assert await left(engine, index) == []
        nursery.cancel_scope.cancel()


async def test_indexer_continues_after_a_failure(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    faulty = FaultyStore(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await rig.push(note("a", "a.md"))
        faulty.failures = 1
        indexer = indexing_job(faulty)
        nursery.start_soon(indexer.run)
        await trio.sleep(LINKS.quiet * 2)
        assert faulty.failures == 0
        for index in (LINKS, WORDS):
            assert await left(engine, index) == [VAULT]
        await trio.sleep(RETRY_SECONDS + WORDS.quiet)
        for index in (LINKS, WORDS):
            assert await left(engine, index) == []
        nursery.cancel_scope.cancel()


async def test_links_of_a_new_change_are_indexed_before_the_words_of_earlier_ones(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    indexer = indexing_job(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await rig.push(*(note(f"n{n}", f"{n}.md", "x" * 50_000) for n in range(700)))
        nursery.start_soon(indexer.run)
        await trio.sleep(WORDS.quiet + 0.5)
        assert await left(engine, LINKS) == []
        assert await left(engine, WORDS) == [VAULT]
        await rig.push(note("new", "new.md", "[[1]]"))
        indexer.wake(VAULT)
        while await left(engine, LINKS):
            assert await left(engine, WORDS) == [VAULT]
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()


class SlowStore(FaultyStore):
    """A store whose writes take a second."""

    async def write(self, script: Script[T]) -> T:
        await trio.sleep(1.0)
        return await super().write(script)


@pytest.mark.parametrize("other", [WorkspaceId("another"), WorkspaceId("zoo")])
async def test_small_workspace_is_indexed_during_the_backlog_of_a_large_one(
    engine: InlineStore, autojump_clock: trio.abc.Clock, other: WorkspaceId
) -> None:
    await create_workspace(engine)
    await create_workspace(engine, other)
    indexer = indexing_job(SlowStore(engine))
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await rig.push(*(note(f"n{n}", f"{n}.md", "x" * 50_000) for n in range(200)))
        nursery.start_soon(indexer.run)
        await trio.sleep(WORDS.quiet * 2)
        await rig.push(note("new", "new.md", "[[1]]"), workspace_id=other)
        indexer.wake(other)
        await trio.sleep(LONGEST_DELAY + 5.0)
        assert await engine.read(workspaces_to_index(LINKS, [VAULT, other])) == [VAULT]
        assert await engine.read(workspaces_to_index(WORDS, [VAULT, other])) == [VAULT]
        nursery.cancel_scope.cancel()


async def test_indexer_pauses_while_a_query_indexes_the_same_files(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)
    async with serving(engine) as rig, trio.open_nursery() as nursery:
        await push_many(rig)

        async def index_some_links() -> None:
            await index_some(engine, LINKS, [VAULT])

        store.before_write = index_some_links
        nursery.start_soon(indexing_job(store).run)
        await trio.sleep(LINKS.quiet + OVERTAKEN_PAUSE / 2)
        assert store.writes == 1
        assert await left(engine, LINKS) == [VAULT]
        await trio.sleep(OVERTAKEN_PAUSE)
        assert store.writes == 3
        assert await left(engine, LINKS) == []
        nursery.cancel_scope.cancel()


async def count_links_to_first(store: Store) -> int:
    links = await read_links(store, VAULT, back_links(VAULT, FileId("n000"), FIRST, 1000))
    assert links is not None
    return len(links)


async def push_many(rig: Rig, count: int = 250) -> None:
    """Create notes, all of which link to the first one."""
    await rig.push(*(note(f"n{n:03}", f"{n}.md", "[[0]]") for n in range(count)))


async def test_query_of_links_indexes_many_changed_files_first(engine: InlineStore) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)
    async with serving(engine) as rig:
        await push_many(rig)
        assert await count_links_to_first(store) == 249
        assert store.writes == 3
        assert await left(engine, LINKS) == []
        assert await left(engine, WORDS) == [VAULT]


async def test_query_of_links_writes_nothing_when_few_files_changed(engine: InlineStore) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)
    async with serving(engine) as rig:
        await push_many(rig, link_index.MAX_FILES)
        assert await count_links_to_first(store) == link_index.MAX_FILES - 1
        assert store.writes == 0


async def test_files_that_change_after_the_update_are_seen_by_the_query(
    engine: InlineStore,
) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)
    async with serving(engine) as rig:
        await push_many(rig)

        async def change() -> None:
            assert await catch_up(engine, LINKS, [VAULT])
            await rig.push(*(note(f"m{n:03}", f"m{n}.md", "[[0]]") for n in range(150)))

        store.before_write = change
        assert await count_links_to_first(store) == 399


async def test_query_of_links_is_refused_when_updating_takes_long(
    engine: InlineStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_workspace(engine)
    async with serving(engine) as rig:
        await push_many(rig)
        with monkeypatch.context() as patch:
            patch.setattr(indexing, "CATCH_UP_SECONDS", 0.0)
            with pytest.raises(StoreUnavailable, match="still being indexed"):
                await count_links_to_first(engine)
            assert not await catch_up(engine, WORDS, [VAULT])
        assert await count_links_to_first(engine) == 249
        assert await catch_up(engine, WORDS, [VAULT])


async def test_time_of_the_query_itself_is_not_limited(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)

    async def wait() -> None:
        await trio.sleep(CATCH_UP_SECONDS * 2)

    store.before_read = wait

    async def query(transaction: Transaction) -> str:
        return "done"

    assert await read_links(store, VAULT, query) == "done"


async def test_query_whose_links_are_outdated_again_and_again_is_refused_in_time(
    engine: InlineStore, autojump_clock: trio.abc.Clock
) -> None:
    await create_workspace(engine)
    store = FaultyStore(engine)

    async def wait() -> None:
        await trio.sleep(CATCH_UP_SECONDS / 10)

    async def outdated(transaction: Transaction) -> None:
        store.before_read = wait
        raise LinksOutdated

    with trio.fail_after(CATCH_UP_SECONDS * 2):
        with pytest.raises(StoreUnavailable, match="still being indexed"):
            await read_links(store, VAULT, outdated)

"""What is rendered, kept and shown as it was written."""

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from hashlib import sha256
from typing import Any, ParamSpec, TypeVar

import pytest
import trio
import trio.testing
from octavo_rules.identity import FileId
from trio.testing import MockClock

from octavo.features.publishing.renderings import (
    AGAIN_SECONDS,
    BETWEEN_SECONDS,
    RenderingPostponed,
    Renderings,
    TextGone,
)
from octavo.features.publishing.sql import rendered_notes
from octavo.features.publishing.sql.rendered_notes import TextSource
from octavo.render.rendered_note import VERSION
from octavo.store import Store, Transaction
from octavo.store.compression import compressed, decompressed
from octavo.workers import WorkerFailed, WorkRefused, WorkTooLarge
from tests.fakes.inline_work import run_inline
from tests.fakes.stores import open_inline

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """Workers that count what they do, and fail when they are told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.failure: Exception | None = None
        self.waiting = trio.Event()
        self.waiting.set()

    async def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        self.calls += 1
        await self.waiting.wait()
        if self.failure is not None:
            raise self.failure
        return await run_inline(function, *arguments, **named)


class StubbornWorkers(Workers):
    """Workers that can't be stopped."""

    async def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        with trio.CancelScope(shield=True):
            await self.waiting.wait()
        return function(*arguments, **named)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    inline = open_inline()
    with closing(inline):
        yield inline


@pytest.fixture
def workers() -> Workers:
    return Workers()


def renderings(store: Store, workers: Workers, most_bytes: int = 1_000_000) -> Renderings:
    return Renderings(store, workers.run, now=lambda: 1000.0, most_bytes=most_bytes)


async def execute(store: Store, sql: str, *arguments: Any) -> None:  # noqa: ANN401
    async def script(transaction: Transaction) -> None:
        await transaction.execute(sql, *arguments)

    await store.write(script)


async def text(store: Store, number: int, given: str) -> TextSource:
    """Store a note with a text; return where it is."""
    digest = sha256(given.encode()).digest()
    file_id = FileId(f"01900000-0000-7000-8000-{number:012x}")
    await execute(
        store,
        "INSERT INTO contents (pk, compressed) VALUES ($1, $2)",
        number,
        compressed(given),
    )
    await execute(
        store,
        "INSERT INTO files (workspace, pk, file_id, state, kind, path, revision_id, position,"
        " content, digest, size, author_id, mutation_id, changed_at, origin) VALUES (1, $1,"
        " $2::uuid, 'live', 'note', 'a.md', $2::uuid, 1, $1, $3, 1, $2::uuid, $2::uuid, 0, '')",
        number,
        file_id,
        digest,
    )
    return TextSource(1, file_id, number, digest)


async def purge(store: Store) -> None:
    """Remove every text, and every note."""
    await execute(store, "DELETE FROM files")
    await execute(store, "DELETE FROM contents")


async def html(rendered: Renderings, source: TextSource) -> str | None:
    found = await rendered.get(source)
    return None if found is None else found.html.strip()


async def test_text_is_rendered_once_and_kept_in_memory(store: Store, workers: Workers) -> None:
    rendered = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    for _ in range(3):
        assert await html(rendered, number) == "<p><em>tea</em></p>"
    assert workers.calls == 1


async def test_what_was_not_used_between_two_rounds_is_not_kept_in_memory(
    store: Store, workers: Workers
) -> None:
    rendered = renderings(store, workers)
    first, second = await text(store, 1, "*tea*"), await text(store, 2, "*milk*")
    for number in (first, second):
        await html(rendered, number)
    rendered.drop_unused()
    await html(rendered, first)
    rendered.drop_unused()
    await html(rendered, first)
    assert workers.calls == 2
    await html(rendered, second)
    assert workers.calls == 3
    for _ in range(2):
        rendered.drop_unused()
    await html(rendered, first)
    assert workers.calls == 4


async def test_rendered_note_is_kept_in_the_database(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await html(first, number)
    await first.flush()
    assert await html(renderings(store, workers), number) == "<p><em>tea</em></p>"
    assert workers.calls == 1


async def test_what_is_known_was_rendered_before(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    source = await text(store, 1, "# Tea")
    assert await first.known(source) is None
    assert workers.calls == 0
    await first.get(source)
    await first.flush()
    for rendered in (first, renderings(store, workers)):
        found = await rendered.known(source)
        assert found is not None
        assert found.title == "Tea"
    assert workers.calls == 1


async def test_note_that_several_read_at_once_is_remembered_once(
    store: Store, workers: Workers, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    monkeypatch.setattr("octavo.features.publishing.renderings.MEMORY_BYTES", 10_000)
    sources = [await text(store, number, f"# {number}\n\n{'a' * 1000}") for number in (1, 2, 3)]
    for source in sources:
        await first.get(source)
    await first.flush()
    again = renderings(store, workers)
    async with trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(again.known, sources[0])
    found = await again.known(sources[0])
    # There is room for all three, unless the first one was counted more than once.
    for source in sources[1:]:
        await again.known(source)
    assert await again.known(sources[0]) is found


async def test_text_that_is_shown_as_written_is_not_known(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    source = await text(store, 1, "# Tea")
    workers.failure = WorkTooLarge("SIGXCPU")
    rendered = renderings(store, workers)
    await rendered.get(source)
    await rendered.flush()
    assert await rendered.known(source) is None


async def test_rendered_note_of_another_version_is_made_again(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await html(first, number)
    await first.flush()
    await execute(store, "UPDATE rendered_notes SET version = $1", VERSION + 1)
    await execute(store, "UPDATE rendered_notes SET compressed = $1", compressed("<p>old</p>"))
    second = renderings(store, workers)
    assert await html(second, number) == "<p><em>tea</em></p>"
    assert workers.calls == 2
    await second.flush()
    assert await html(renderings(store, workers), number) == "<p><em>tea</em></p>"
    assert workers.calls == 2


async def test_damaged_row_is_made_again(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await html(first, number)
    await first.flush()
    await execute(store, "UPDATE rendered_notes SET compressed = $1", b"rust")
    assert await html(renderings(store, workers), number) == "<p><em>tea</em></p>"


async def test_readers_of_the_same_text_wait_for_one_worker(store: Store, workers: Workers) -> None:
    rendered = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    workers.waiting = trio.Event()
    found: list[str | None] = []

    async def read() -> None:
        found.append(await html(rendered, number))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        workers.waiting.set()
    assert found == ["<p><em>tea</em></p>"] * 5
    assert workers.calls == 1


async def test_rendering_goes_on_when_its_reader_leaves(
    store: Store, workers: Workers, nursery: trio.Nursery
) -> None:
    rendered = renderings(store, workers)
    nursery.start_soon(rendered.run)
    number = await text(store, 1, "*tea*")
    await trio.testing.wait_all_tasks_blocked()
    workers.waiting = trio.Event()
    with trio.move_on_after(0):
        await rendered.get(number)
    found: list[str | None] = []

    async def stay() -> None:
        found.append(await html(rendered, number))

    async with trio.open_nursery() as readers:
        readers.start_soon(stay)
        await trio.testing.wait_all_tasks_blocked()
        workers.waiting.set()
    assert found == ["<p><em>tea</em></p>"]
    assert workers.calls == 1


async def test_text_is_rendered_while_a_service_that_stops_ends_its_last_rendering(
    store: Store,
) -> None:
    workers = StubbornWorkers()
    rendered = renderings(store, workers)
    first, second = await text(store, 1, "*tea*"), await text(store, 2, "*soup*")
    workers.waiting = trio.Event()
    found: list[str | None] = []

    async def read(source: TextSource) -> None:
        found.append(await html(rendered, source))

    service = trio.CancelScope()

    async def serve() -> None:
        with service:
            await rendered.run()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(read, first)
        await trio.testing.wait_all_tasks_blocked()
        service.cancel()
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(read, second)
        await trio.testing.wait_all_tasks_blocked()
        workers.waiting.set()
    assert sorted(each or "" for each in found) == ["<p><em>soup</em></p>", "<p><em>tea</em></p>"]


async def test_one_note_of_a_workspace_is_rendered_at_a_time(
    store: Store, workers: Workers, nursery: trio.Nursery
) -> None:
    rendered = renderings(store, workers)
    nursery.start_soon(rendered.run)
    await trio.testing.wait_all_tasks_blocked()
    workers.waiting = trio.Event()
    sources = [await text(store, number, f"{number}") for number in range(1, 6)]
    other = (await text(store, 9, "other"))._replace(workspace=2)
    await execute(store, "UPDATE files SET workspace = 2 WHERE pk = 9")
    async with trio.open_nursery() as readers:
        for each in (*sources, other):
            readers.start_soon(rendered.get, each)
        await trio.testing.wait_all_tasks_blocked()
        assert workers.calls == 2
        workers.waiting.set()
    assert workers.calls == 6


async def test_notes_of_a_workspace_are_rendered_at_a_pace_that_others_hardly_feel(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    rendered = renderings(store, workers)
    sources = [await text(store, number, f"*tea {number}*") for number in range(1, 12)]
    elsewhere = sources.pop()._replace(workspace=2)
    await execute(store, "UPDATE files SET workspace = 2 WHERE pk = 11")
    began = trio.current_time()
    ended: list[float] = []

    async def read(source: TextSource) -> None:
        await rendered.get(source)
        if source == elsewhere:
            assert trio.current_time() == began
        else:
            ended.append(trio.current_time() - began)

    async with trio.open_nursery() as nursery:
        for each in (*sources, elsewhere):
            nursery.start_soon(read, each)
    assert ended == pytest.approx([number * BETWEEN_SECONDS for number in range(10)])
    # The turn of the last one is not over when nobody waits.
    more = await text(store, 12, "*tea*")
    await rendered.get(more)
    assert trio.current_time() - began == pytest.approx(10 * BETWEEN_SECONDS)


async def test_rendering_that_nobody_waits_for_is_not_begun(
    store: Store, workers: Workers, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    rendered = renderings(store, workers)
    nursery.start_soon(rendered.run)
    await trio.testing.wait_all_tasks_blocked()
    workers.waiting = trio.Event()
    sources = [await text(store, number, f"*tea {number}*") for number in range(1, 31)]
    async with trio.open_nursery() as readers:
        for each in sources[:-1]:
            readers.start_soon(rendered.get, each)
        await trio.testing.wait_all_tasks_blocked()
        readers.cancel_scope.cancel()
    workers.waiting.set()
    began = trio.current_time()
    assert await html(rendered, sources[-1]) == "<p><em>tea 30</em></p>"
    assert workers.calls == 2
    assert trio.current_time() - began <= 2 * BETWEEN_SECONDS


async def test_reader_does_not_wait_for_the_equal_text_of_another_workspace(
    store: Store, workers: Workers, nursery: trio.Nursery
) -> None:
    rendered = renderings(store, workers)
    nursery.start_soon(rendered.run)
    await trio.testing.wait_all_tasks_blocked()
    here = await text(store, 1, "*tea*")
    there = (await text(store, 2, "*tea*"))._replace(workspace=2)
    await execute(store, "UPDATE files SET workspace = 2 WHERE pk = 2")
    workers.waiting = trio.Event()
    async with trio.open_nursery() as readers:
        readers.start_soon(rendered.get, here)
        readers.start_soon(rendered.get, there)
        await trio.testing.wait_all_tasks_blocked()
        assert workers.calls == 2
        workers.waiting.set()
    # What was rendered for one is not shown to the other, either: its time would tell.
    third = (await text(store, 3, "*tea*"))._replace(workspace=3)
    await execute(store, "UPDATE files SET workspace = 3 WHERE pk = 3")
    assert await html(rendered, third) == "<p><em>tea</em></p>"
    assert workers.calls == 3


async def test_number_that_is_used_again_shows_nothing_of_the_text_before(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    before = await text(store, 1, "A secret.")
    await html(first, before)
    await purge(store)
    after = await text(store, 1, "Public.")
    await first.flush()
    rows = await store.read(rendered_notes.find(before, VERSION))
    assert rows is None
    for rendered in (first, renderings(store, workers)):
        assert await html(rendered, after) == "<p>Public.</p>"
    with pytest.raises(TextGone):
        await renderings(store, workers).get(before)


@pytest.mark.parametrize("failure", [WorkTooLarge("SIGXCPU"), WorkRefused("ValueError", "no")])
async def test_text_that_ends_its_worker_is_shown_as_written_from_then_on(
    store: Store, workers: Workers, failure: Exception, autojump_clock: MockClock
) -> None:
    number = await text(store, 1, "*tea*")
    workers.failure = failure
    first = renderings(store, workers)
    assert await first.get(number) is None
    await first.flush()
    for rendered in (first, renderings(store, workers)):
        assert await rendered.get(number) is None
    assert workers.calls == 1


async def test_worker_that_fails_for_other_reasons_is_tried_again_later(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    number = await text(store, 1, "*tea*")
    workers.failure = WorkerFailed("there is no process")
    rendered = renderings(store, workers)
    for _ in range(2):
        with pytest.raises(RenderingPostponed):
            await rendered.get(number)
    assert workers.calls == 1
    workers.failure = None
    await trio.sleep(AGAIN_SECONDS + 1)
    assert await html(rendered, number) == "<p><em>tea</em></p>"


async def test_purged_text_takes_its_html_along(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    rendered = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await html(rendered, number)
    await rendered.flush()
    await purge(store)
    assert await store.read(rendered_notes.find(number, VERSION)) is None
    with pytest.raises(TextGone):
        await renderings(store, workers).get(number)


async def test_note_that_is_purged_before_it_is_kept_is_not_kept(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    rendered = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await html(rendered, number)
    await purge(store)
    await rendered.flush()
    assert await store.read(rendered_notes.find(number, VERSION)) is None


async def test_what_is_kept_has_a_limit_and_the_oldest_goes_first(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    time = 0.0
    rendered = Renderings(store, workers.run, now=lambda: time, most_bytes=20_000)
    sources: list[TextSource] = []
    for number in range(1, 101):
        time = float(number)
        words = " ".join(str(number * each * 7919) for each in range(200))
        sources.append(await text(store, number, words))
        await rendered.get(sources[-1])
        await rendered.flush()
    assert await store.read(rendered_notes.kept_bytes) <= 20_000 * 33 // 32
    assert await store.read(rendered_notes.find(sources[0], VERSION)) is None
    assert await store.read(rendered_notes.find(sources[-1], VERSION)) is not None


async def test_note_that_was_used_last_is_dropped_last(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    time = 0.0
    rendered = Renderings(store, workers.run, now=lambda: time, most_bytes=1_000_000)
    sources: list[TextSource] = []
    for number in range(1, rendered_notes.MAX_DROPPED + 2):
        time = 1000.0 - number
        sources.append(await text(store, number, f"tea {number}"))
        await rendered.get(sources[-1])
        await rendered.flush()
    await store.write(rendered_notes.drop_oldest)
    left = [await store.read(rendered_notes.find(source, VERSION)) for source in sources]
    assert [found is not None for found in left] == [True, *[False] * (len(sources) - 1)]


async def test_use_is_recorded_now_and_then(
    store: Store, workers: Workers, autojump_clock: MockClock
) -> None:
    first = renderings(store, workers)
    number = await text(store, 1, "*tea*")
    await first.get(number)
    await first.flush()
    later = Renderings(store, workers.run, now=lambda: 10_000_000.0, most_bytes=1_000_000)
    await later.get(number)
    await later.flush()
    found = await store.read(rendered_notes.find(number, VERSION))
    assert found is not None
    assert found[1] == 10_000_000_000


def test_worker_gets_and_returns_compressed_texts() -> None:
    from octavo.features.publishing.render_task import render_stored  # noqa: PLC0415

    made = b64decode(render_stored(b64encode(compressed("# Tea\n\n*green*")).decode()))
    assert json.loads(decompressed(made, ""))["title"] == "Tea"

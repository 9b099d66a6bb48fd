"""Published notes as HTML: rendered once in a worker process, and kept with their texts.

A text is rendered when a reader first requests it. Rendered notes are kept in memory for a while,
and in the database as long as there is room; they are deleted with their texts. Readers of one
workspace who request the same text wait for one rendering. Workspaces share no renderings, even of
equal texts: otherwise response times would reveal what others read.

A text that crashes its worker, or takes too much time or memory, is shown as it was written.
"""

import logging
import math
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

import trio
from octavo_rules.problems import ServerBusy
from pydantic_core import from_json

from octavo.access.ports import Clock, milliseconds
from octavo.features.publishing import render_task
from octavo.features.publishing.sql import rendered_notes
from octavo.features.publishing.sql.rendered_notes import NewRendering, TextSource
from octavo.render.rendered_note import VERSION, RenderedNote
from octavo.store import Store, StoreError, TextDamaged
from octavo.store.compression import compressed, decompressed
from octavo.workers import RunWork, WorkerFailed, WorkerPool, WorkRefused, WorkTooLarge

MAX_MEMORY = 512 * 1024 * 1024
"""The address space of a worker process, in bytes."""
MAX_SECONDS = 8
"""Processor time that rendering one note may take."""
WAIT_SECONDS = 25.0
"""Seconds after which a worker is given up. It runs at low priority; allow for a busy machine."""
BETWEEN_SECONDS = 1 / 60
"""Seconds between the starts of two renderings for one workspace.

Pages for a crawler also take time of the event loop: 60 a second hardly delay saves, 130 a second
do.
"""
MEMORY_BYTES = 16 * 1024 * 1024
"""Bytes of rendered notes that are kept in memory, as estimated by `_size_of`."""
_ENTRY_BYTES = 300
AGAIN_SECONDS = 5.0
"""Seconds after which a text whose worker failed is tried again."""
TOUCH_MILLISECONDS = 3600 * 1000
"""Milliseconds after which the use of a kept note is recorded again."""
INTERVAL_SECONDS = 0.5
"""Seconds between two writes of what was rendered."""
PORTION_BYTES = 32 * 1024
"""Bytes of rendered notes that are written in one transaction, while others wait."""
PAUSE = 0.02
"""Seconds between two such transactions."""
_CHECKS = 32
"""The size of all rendered notes is checked after each such fraction of the maximum."""
MOST_WAITING = 500
"""Maximum number of rendered notes that wait to be written; others are not stored."""

_Key = tuple[int, bytes]
_log = logging.getLogger(__name__)
# Stored in place of the HTML of a text that is shown as it was written.
_PLAIN = "null"


def render_workers() -> WorkerPool:
    """Return the processes that render."""
    return WorkerPool(
        seconds=WAIT_SECONDS,
        preloaded=render_task.PRELOADED,
        max_memory=MAX_MEMORY,
        max_seconds=MAX_SECONDS,
    )


class TextGone(Exception):
    """The note has another text now."""


class RenderingPostponed(ServerBusy):
    """The text could not be rendered for reasons that pass: try again soon."""

    detail = "The page could not be made in time. Try again in some seconds."


class _Making:
    """A rendering in progress: the number of readers that wait, and its result."""

    def __init__(self) -> None:
        self.readers = 0
        self.ended = trio.Event()
        self.note: RenderedNote | None = None
        self.failure: Exception | None = None


class _Turn:
    """Serializes the renderings of a workspace."""

    def __init__(self) -> None:
        self.lock = trio.Lock()
        self.next_start = -math.inf

    @property
    def is_over(self) -> bool:
        """Whether nobody renders or waits, and the next rendering may start."""
        return not self.lock.locked() and self.next_start <= trio.current_time()


class Renderings:
    """Renders notes, and keeps what was rendered.

    Each workspace has one rendering at a time, and a limited number a second, so that many notes
    of one workspace don't delay others.

    Args:
        store: the database.
        run: runs a rendering in a worker process.
        now: the clock.
        most_bytes: of rendered notes in the database, compressed.
    """

    def __init__(self, store: Store, run: RunWork, *, now: Clock, most_bytes: int) -> None:
        self._store = store
        self._run = run
        self._now = now
        self._most_bytes = most_bytes
        self._nursery: trio.Nursery | None = None
        # Everything with a `_Key` is kept by the workspace and the digest of the text.
        self._making: dict[_Key, _Making] = {}
        self._turns: dict[int, _Turn] = {}
        self._kept: OrderedDict[_Key, RenderedNote] = OrderedDict()
        self._size = 0
        # Not used since `drop_unused`.
        self._unused: set[_Key] = set()
        self._failed: OrderedDict[_Key, float] = OrderedDict()
        self._new: dict[_Key, NewRendering] = {}
        self._used: set[int] = set()
        self._added = 0
        self._noted = trio.Event()

    async def get(self, source: TextSource) -> RenderedNote | None:
        """Return a text as HTML; None if it is to be shown as it was written.

        Raises `TextGone`, `RenderingPostponed`, `TextDamaged` and `StoreUnavailable`. If this is
        cancelled while `run` runs, a rendering that has begun continues for other readers. One
        that has not begun is dropped if nobody else waits for it.
        """
        key = _key_of(source)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            self._unused.discard(key)
            return kept
        failed = self._failed.get(key)
        if failed is not None and trio.current_time() < failed:
            raise RenderingPostponed
        making = self._making.get(key)
        is_new = making is None
        if making is None:
            making = self._making[key] = _Making()
        making.readers += 1
        try:
            if is_new and self._nursery is None:
                await self._make(source, making)
            elif is_new and self._nursery is not None:
                self._nursery.start_soon(self._make, source, making)
            await making.ended.wait()
            if making.failure is not None:
                raise making.failure
            return making.note
        finally:
            making.readers -= 1
            del making

    async def known(self, source: TextSource) -> RenderedNote | None:
        """Return a text as HTML if it was rendered before; None otherwise. Render nothing.

        Raises `StoreUnavailable`.
        """
        try:
            return self._kept.get(_key_of(source)) or await self._stored(source)
        except _ShownPlain:
            return None

    async def preview(self, workspace: int, text: str) -> RenderedNote | None:
        """Return a text that is not stored as HTML; None if it is to be shown as it was written.

        It takes its turn with the notes of the workspace, and is not kept. Raises
        `RenderingPostponed`. If cancelled, a rendering that has begun goes on.
        """
        async with self._turn_of(workspace):
            try:
                encoded = b64encode(compressed(text)).decode()
                made = b64decode(await self._run(render_task.render_stored, encoded))
            except (WorkRefused, WorkTooLarge):
                return None
            except WorkerFailed:
                raise RenderingPostponed from None
        html = decompressed(made, "of a preview")
        # Decompressing and parsing a long note take milliseconds each.
        await trio.lowlevel.cancel_shielded_checkpoint()
        return RenderedNote.from_json(from_json(html, cache_strings="keys"))

    async def _make(self, source: TextSource, making: _Making) -> None:
        """Render a text for all who wait for it."""
        making.failure = RenderingPostponed()
        try:
            making.note = await self._stored(source) or await self._rendered(source, making)
            making.failure = None
        except _ShownPlain:
            making.failure = None
        except (StoreError, TextGone, RenderingPostponed) as error:
            making.failure = error
        finally:
            del self._making[_key_of(source)]
            making.ended.set()

    async def _stored(self, source: TextSource) -> RenderedNote | None:
        """Return what the database has; None without it. Raises `_ShownPlain`."""
        try:
            kept = await self._store.read(rendered_notes.find(source, VERSION))
        except TextDamaged:
            # The text can be rendered again.
            return None
        if kept is None:
            return None
        text, used_at = kept
        if milliseconds(self._now()) - used_at > TOUCH_MILLISECONDS:
            self._used.add(source.content)
            self._noted.set()
        return self._adopt(source, text)

    async def _rendered(self, source: TextSource, making: _Making) -> RenderedNote:
        async with self._turn_of(source.workspace, lambda: making.readers > 0):
            return await self._render(source)

    @asynccontextmanager
    async def _turn_of(
        self, workspace: int, is_wanted: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[None]:
        """Wait for the turn of a workspace.

        Raises `RenderingPostponed` if the rendering is not wanted any more by then.
        """
        turn = self._turns.get(workspace)
        if turn is None:
            self._turns = {key: turn for key, turn in self._turns.items() if not turn.is_over}
            turn = self._turns[workspace] = _Turn()
        async with turn.lock:
            if not is_wanted():
                raise RenderingPostponed
            await trio.sleep_until(turn.next_start)
            turn.next_start = trio.current_time() + BETWEEN_SECONDS
            yield

    async def _render(self, source: TextSource) -> RenderedNote:
        data = await self._store.read(rendered_notes.text_to_render(source))
        if data is None:
            raise TextGone
        try:
            encoded = b64encode(data).decode()
            made = b64decode(await self._run(render_task.render_stored, encoded))
        except (WorkRefused, WorkTooLarge) as error:
            _log.warning("the note %s is shown as it was written: %s", source.file_id, error)
            self._keep(source, compressed(_PLAIN))
            raise _ShownPlain from None
        except WorkerFailed:
            # Perhaps not the fault of the text: the machine may be too busy.
            self._failed[_key_of(source)] = trio.current_time() + AGAIN_SECONDS
            if len(self._failed) > MOST_WAITING:
                self._failed.popitem(last=False)
            raise RenderingPostponed from None
        self._keep(source, made)
        html = rendered_notes.read_kept(made, source)
        # As in `preview`.
        await trio.lowlevel.cancel_shielded_checkpoint()
        return self._adopt(source, html)

    def _adopt(self, source: TextSource, text: str) -> RenderedNote:
        """Remember what was rendered. Raises `_ShownPlain`."""
        members = from_json(text, cache_strings="keys")
        if members is None:
            raise _ShownPlain
        key = _key_of(source)
        known = self._kept.get(key)
        if known is not None:
            # Another task has read it meanwhile.
            return known
        note = self._kept[key] = RenderedNote.from_json(members)
        self._size += _size_of(note)
        while self._size > MEMORY_BYTES and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))
        return note

    def drop_unused(self) -> None:
        """Forget the notes that were not used since the previous call: they may be deleted."""
        for key in [*self._unused]:
            self._drop(key)
        self._unused = {*self._kept}

    def _drop(self, key: _Key) -> None:
        self._size -= _size_of(self._kept.pop(key))
        self._unused.discard(key)

    def _keep(self, source: TextSource, data: bytes) -> None:
        if len(self._new) < MOST_WAITING:
            self._new[_key_of(source)] = NewRendering(source, VERSION, data)
            self._noted.set()

    async def run(self) -> None:
        """Render, and write rendered notes to the database, until cancelled.

        Notes that are not written by then, or because the database fails, are rendered again when
        they are needed. Failures are logged.
        """
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                while True:
                    await self._noted.wait()
                    await trio.sleep(INTERVAL_SECONDS)
                    await self.flush()
            finally:
                # From now on, readers render in their own tasks.
                self._nursery = None

    async def flush(self) -> None:
        """Write what was rendered, and what was used, in small transactions."""
        new, used = self._new, self._used
        self._new, self._used, self._noted = {}, set(), trio.Event()
        now = milliseconds(self._now())
        try:
            for some in _portions([*new.values()]):
                await self._store.write(rendered_notes.keep(some, (), now))
                self._added += sum(len(rendering.compressed) for rendering in some)
                await trio.sleep(PAUSE)
            if used:
                await self._store.write(rendered_notes.keep((), [*used], now))
            if self._added >= self._most_bytes // _CHECKS:
                self._added = 0
                await self._trim()
        except StoreError as error:
            _log.warning("rendered notes were not kept: %s", error)

    async def _trim(self) -> None:
        """Drop rendered notes until they fit."""
        kept = await self._store.read_much(rendered_notes.kept_bytes)
        while kept > self._most_bytes:
            dropped = await self._store.write(rendered_notes.drop_oldest)
            if not dropped:
                return
            kept -= dropped
            await trio.sleep(PAUSE)


def _key_of(source: TextSource) -> _Key:
    return source.workspace, source.digest


def _portions(rows: Sequence[NewRendering]) -> Iterator[Sequence[NewRendering]]:
    """Divide rows so that each portion has few bytes, or one row."""
    portion: list[NewRendering] = []
    size = 0
    for row in rows:
        if portion and size + len(row.compressed) > PORTION_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += len(row.compressed)
    if portion:
        yield portion


def _size_of(note: RenderedNote) -> int:
    return len(note.html) + _ENTRY_BYTES * (1 + len(note.references) + len(note.outline))


class _ShownPlain(Exception):
    """The text is to be shown as it was written."""

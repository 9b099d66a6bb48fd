"""A search: what it holds of the texts that it has read, and when it is complete."""

from collections.abc import Callable
from typing import TypeVar

import trio

from octavo.features.search.note_search import FoundNotes, NoteSearch, SearchedTexts, Where
from octavo.model.search.query import parse_query
from octavo.store import StoreUnavailable
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.workspace_rig import VAULT, edit, note, serving

R = TypeVar("R")
WHERE = Where([VAULT])


async def inline(work: Callable[[], R]) -> R:
    await trio.lowlevel.checkpoint()
    return work()


async def tide(search: NoteSearch) -> FoundNotes:
    """The notes that have this word."""
    return await search.find(parse_query("tide"), WHERE, lambda found: found)


async def test_next_search_takes_the_texts_of_the_one_before() -> None:
    texts = SearchedTexts()
    async with serving() as rig:
        await rig.push(note("a", "a.md", "the tide"), note("b", "b.md", "the ebb"))
        search = NoteSearch(rig.store, texts, inline)
        first = await tide(search)
        assert [each.candidate.path for each in first.notes] == ["a.md"]
        assert (first.more, first.complete) == (False, True)
        [held] = texts.contents.values()
        [again] = (await tide(search)).notes
        assert again.text is held
        await rig.push(edit("r0", text="another tide"))
        [changed] = (await tide(search)).notes
        assert changed.text.text == "another tide"


async def test_search_holds_no_text_of_a_purge_that_came_meanwhile() -> None:
    texts = SearchedTexts()

    async def after_a_purge(work: Callable[[], R]) -> R:
        texts.clear()
        return work()

    async with serving() as rig:
        await rig.push(note("a", "a.md", "the tide"))
        assert (await tide(NoteSearch(rig.store, texts, after_a_purge))).notes
        assert not texts.contents


async def test_search_of_an_index_that_can_not_be_updated_is_not_complete() -> None:
    async with serving() as rig:
        await rig.push(note("a", "a.md", "the tide"))
        store = FaultyStore(rig.store)
        search = NoteSearch(store, SearchedTexts(), inline)
        assert (await tide(search)).complete
        await rig.push(note("b", "b.md", "a tide"))
        store.fail = StoreUnavailable("the disk is full")
        found = await tide(search)
        assert ([each.candidate.path for each in found.notes], found.complete) == (["a.md"], False)

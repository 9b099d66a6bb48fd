"""Large work is done in slices, in order, and small work at once."""

import sys
from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract import slices
from octavo.http.contract.call import encoded_json
from octavo.http.contract.contract_model import Model
from octavo.http.contract.slices import SLICE_COUNT, SLICE_SIZE, converted, encoded_in_slices


async def test_converted_gives_way_between_slices_and_keeps_the_order() -> None:
    turns: list[int] = []
    made: list[int] = []

    def convert(item: int) -> int:
        made.append(item)
        return -item

    async def other() -> None:
        while True:
            turns.append(len(made))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        result = await converted(range(5 * SLICE_COUNT), convert)
        nursery.cancel_scope.cancel()
    assert result == [-item for item in range(5 * SLICE_COUNT)]
    # Of the tasks of one round, either may come first.
    assert max(later - before for before, later in pairwise(turns)) <= 2 * SLICE_COUNT


async def test_converted_gives_way_after_each_large_item_and_not_for_small_ones() -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        assert await converted(range(SLICE_COUNT), str) == [str(n) for n in range(SLICE_COUNT)]
        seen: list[int] = []
        await converted(range(3), seen.append, lambda _: SLICE_SIZE)
    assert scope.cancelled_caught
    assert seen == [0]


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


class Leaf(Model):
    long_text: str | None
    count: int


class Tree(Model):
    name: str
    leaves: list[Leaf]
    first: Leaf | None


LEAVES = st.builds(Leaf.model_construct, long_text=st.none() | TEXTS, count=st.integers(0, 9))
TREES = st.builds(
    Tree.model_construct,
    name=TEXTS,
    leaves=st.lists(LEAVES, max_size=4),
    first=st.none() | LEAVES,
)


async def encoded(tree: Tree) -> bytes:
    return await encoded_in_slices(tree, encoded_json)


@given(TREES)
def test_encoding_is_the_same_as_in_one_piece(tree: Tree) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "LONG", 5)
        patch.setattr(slices, "SLICE_SIZE", 3)
        assert trio.run(encoded, tree) == encoded_json(tree)


@pytest.mark.parametrize("name", ["<long 0 0>", "<long 0 7>", "<long 1 0>"])
async def test_text_that_is_a_mark_is_encoded_as_it_is(name: str) -> None:
    leaf = Leaf.model_construct(long_text="x" * 70_000, count=1)
    others = [Leaf.model_construct(long_text=f"<long {n} 0>", count=n) for n in range(3)]
    tree = Tree.model_construct(name=name, leaves=others, first=leaf)
    assert await encoded(tree) == encoded_json(tree)


async def test_nothing_of_a_long_text_stays_in_memory() -> None:
    text = "x" * 70_000
    references = sys.getrefcount(text)
    leaf = Leaf.model_construct(long_text=text, count=1)
    tree = Tree.model_construct(name="", leaves=[leaf], first=leaf)
    await encoded(tree)
    del tree, leaf
    assert sys.getrefcount(text) == references

"""Models with long texts are encoded in pieces, as they would be in one."""

import sys

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract import sliced_json
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.reply import encoded_json
from octavo.http.contract.sliced_json import encoded_in_pieces

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


class Leaf(ContractModel):
    long_text: str | None
    count: int


class Tree(ContractModel):
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
    return await encoded_in_pieces(tree, encoded_json)


@given(TREES)
def test_encoding_is_the_same_as_in_one_piece(tree: Tree) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliced_json, "LONG", 5)
        patch.setattr(sliced_json, "PIECE", 3)
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

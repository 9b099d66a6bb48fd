"""Large work is done in slices, in order, and small work at once."""

from itertools import pairwise

import trio

from octavo.http.contract.slices import SLICE_COUNT, SLICE_SIZE, converted


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

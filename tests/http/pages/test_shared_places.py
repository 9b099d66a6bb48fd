"""Places of which each client may take only a few."""

import trio
import trio.testing

from octavo.http.pages.shared_places import SharedPlaces


async def test_client_that_waits_for_its_own_places_keeps_nobody_from_the_others() -> None:
    places = SharedPlaces(3, 2)
    reached: list[str] = []

    async def stay(client: str) -> None:
        async with places.place(client):
            reached.append(client)
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        for client in ["a"] * 10 + ["b"]:
            nursery.start_soon(stay, client)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(reached) == ["a", "a", "b"]
        nursery.cancel_scope.cancel()
    assert len(places) == 0


async def test_place_that_is_left_is_taken_by_the_next() -> None:
    places = SharedPlaces(1, 1)
    order: list[int] = []

    async def pass_through(number: int) -> None:
        async with places.place("a"):
            order.append(number)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(pass_through, number)
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert len(places) == 0

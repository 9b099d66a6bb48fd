"""Forms that are submitted twice."""

from contextlib import suppress

import pytest
import trio
import trio.testing

from octavo.http.pages.kept_forms import LOOK_SECONDS, REMEMBERED_SECONDS, Resubmissions


class Counted:
    """Counts how often it was performed; each response is that number."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.count = 0
        self.seconds = seconds

    async def perform(self) -> int:
        self.count += 1
        number = self.count
        await trio.sleep(self.seconds)
        return number


def always(_: int) -> bool:
    return True


async def test_second_submission_gets_the_response_of_the_first() -> None:
    submissions, counted = Resubmissions[int](), Counted()
    for _ in range(2):
        assert await submissions.respond("a", counted.perform, keeps=always) == 1
    assert await submissions.respond("b", counted.perform, keeps=always) == 2


async def test_concurrent_submission_waits_for_the_first(autojump_clock: object) -> None:
    submissions, counted = Resubmissions[int](), Counted(seconds=5)
    responses: list[int] = []

    async def submit() -> None:
        responses.append(await submissions.respond("a", counted.perform, keeps=always))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(submit)
    assert (responses, counted.count) == ([1, 1, 1], 1)


async def test_cancelled_submission_is_performed_by_the_next(autojump_clock: object) -> None:
    submissions, counted = Resubmissions[int](), Counted(seconds=5)
    with trio.move_on_after(1):
        await submissions.respond("a", counted.perform, keeps=always)
    assert len(submissions) == 0
    assert await submissions.respond("a", counted.perform, keeps=always) == 2


async def test_failed_submission_is_performed_again() -> None:
    submissions = Resubmissions[int]()

    async def fail() -> int:
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"):
        await submissions.respond("a", fail, keeps=always)
    assert await submissions.respond("a", Counted().perform, keeps=always) == 1


async def test_response_that_is_not_kept_is_performed_again() -> None:
    submissions, counted = Resubmissions[int](), Counted()
    for expected in (1, 2):
        found = await submissions.respond("a", counted.perform, keeps=lambda _: False)
        assert found == expected


async def test_response_is_forgotten_after_a_minute(autojump_clock: object) -> None:
    submissions, counted = Resubmissions[int](), Counted()
    await submissions.respond("a", counted.perform, keeps=always)
    await trio.sleep(REMEMBERED_SECONDS)
    assert await submissions.respond("a", counted.perform, keeps=always) == 2


async def test_old_responses_are_dropped_without_another_page(autojump_clock: object) -> None:
    submissions, counted = Resubmissions[int](), Counted()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(submissions.run)
        await submissions.respond("a", counted.perform, keeps=always)
        await trio.sleep(REMEMBERED_SECONDS - 1)
        assert len(submissions) == 1
        await trio.sleep(1 + LOOK_SECONDS)
        assert len(submissions) == 0
        nursery.cancel_scope.cancel()


async def test_number_of_responses_is_bounded() -> None:
    submissions, counted = Resubmissions[int](maximum=3), Counted()
    for number in range(10):
        await submissions.respond(str(number), counted.perform, keeps=always)
    assert len(submissions) <= 4
    assert await submissions.respond("9", counted.perform, keeps=always) == 10


async def test_oldest_responses_are_dropped_when_all_are_too_large() -> None:
    submissions = Resubmissions[int](most_bytes=25, size_of=lambda _: 10)
    counted = Counted()
    for key in "abc":
        await submissions.respond(key, counted.perform, keeps=always)
    assert len(submissions) == 2
    assert await submissions.respond("c", counted.perform, keeps=always) == 3
    assert await submissions.respond("a", counted.perform, keeps=always) == 4


@pytest.mark.parametrize("fails", [True, False])
async def test_submission_that_ends_after_its_time_leaves_a_later_one_alone(
    autojump_clock: object, fails: bool
) -> None:
    submissions, counted = Resubmissions[str](), Counted()

    async def late() -> str:
        await trio.sleep(REMEMBERED_SECONDS + 10)
        if fails:
            raise ValueError("the reason")
        return "late"

    async def first() -> None:
        with suppress(ValueError):
            await submissions.respond("a", late, keeps=lambda _: False)

    async def later() -> str:
        return f"later {await counted.perform()}"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await trio.sleep(REMEMBERED_SECONDS + 1)
        assert await submissions.respond("a", later, keeps=bool) == "later 1"
    assert await submissions.respond("a", later, keeps=bool) == "later 1"


async def test_submission_that_fails_after_its_time_fails_with_its_reason(
    autojump_clock: object,
) -> None:
    submissions = Resubmissions[int]()

    async def late() -> int:
        await trio.sleep(REMEMBERED_SECONDS + 1)
        await submissions.respond("b", Counted().perform, keeps=always)
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"):
        await submissions.respond("a", late, keeps=always)

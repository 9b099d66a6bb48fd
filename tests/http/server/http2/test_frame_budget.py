"""How much a client may send over HTTP/2 without making progress."""

import pytest

from octavo.http.server.http2.frame_budget import Flooding, FrameBudget


def lasts(budget: FrameBudget, size: int, *, content: int = 0, pause: float = 0.0) -> int:
    """The number of frames of ``size`` bytes, each with this content, accepted; 100,000 for all."""
    now = 0.0
    for count in range(100_000):
        now += pause
        budget.earn_content(content)
        try:
            budget.spend(size, now)
        except Flooding:
            return count
    return 100_000


def test_frames_without_content_exhaust_the_budget_soon() -> None:
    assert lasts(FrameBudget(0.0), 9) < 10_000


def test_occasional_frames_are_free_forever() -> None:
    assert lasts(FrameBudget(0.0), 17, pause=1.0) == 100_000


@pytest.mark.parametrize("content", [100, 1_000, 16_384])
def test_content_covers_its_frames(content: int) -> None:
    assert lasts(FrameBudget(0.0), 9 + content, content=content) == 100_000


def test_content_of_a_byte_per_frame_does_not_cover_them() -> None:
    assert lasts(FrameBudget(0.0), 10, content=1) < 100_000


def test_saved_budget_is_bounded() -> None:
    budget = FrameBudget(0.0)
    budget.earn_content(10**9)
    budget.spend(0, 10**6)
    assert lasts(budget, 9) < 10_000


def test_requests_and_responses_cover_the_frames_around_them() -> None:
    budget = FrameBudget(0.0)
    for _ in range(10_000):
        budget.earn_request()
        budget.earn_sent(16_384 + 9)
        budget.spend(300 + 2 * 13, 0.0)

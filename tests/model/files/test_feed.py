"""Where pages of the feed end."""

from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.revision import page_end

ENTRIES = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 50)), max_size=40).map(sorted)


@given(ENTRIES, st.integers(1, 10), st.integers(0, 200))
def test_pages_have_every_entry_once_and_split_no_position(
    entries: list[tuple[int, int]], limit: int, max_bytes: int
) -> None:
    after, seen = 0, []
    for _ in range(len(entries) + 1):
        rest = [each for each in entries if each[0] > after]
        end = page_end(rest[: limit + 1], limit, max_bytes)
        page = rest if end is None else [each for each in rest if each[0] <= end]
        seen += page
        if len({position for position, _ in page}) > 1:
            assert len(page) <= limit
            assert sum(size for _, size in page) <= max_bytes
        if end is None:
            break
        assert end > after
        after = end
    assert seen == entries


def test_page_that_would_hold_one_more_position_does() -> None:
    assert page_end([(1, 10), (2, 10), (3, 10)], limit=2, max_bytes=100) == 2
    assert page_end([(1, 10), (2, 10)], limit=2, max_bytes=100) is None
    assert page_end([(1, 10), (2, 10)], limit=2, max_bytes=15) == 1

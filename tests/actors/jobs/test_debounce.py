"""Delays until changes pause, against a plain model."""

import math

from hypothesis import given
from hypothesis import strategies as st

from octavo.actors.jobs.indexing import Debounce

QUIET, LONGEST = 2.0, 5.0
STEPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from("abc") | st.none())
)


def test_key_is_due_when_its_changes_pause() -> None:
    debounce: Debounce[str] = Debounce(QUIET, LONGEST)
    assert debounce.due() == math.inf
    debounce.changed("a", 0)
    debounce.changed("a", 1)
    assert debounce.due() == 3
    assert debounce.take(2.9) == set()
    assert debounce.take(3) == {"a"}
    assert debounce.due() == math.inf


def test_key_that_goes_on_changing_is_due_in_the_end() -> None:
    debounce: Debounce[str] = Debounce(QUIET, LONGEST)
    for now in range(5):
        debounce.changed("a", now)
        assert debounce.take(now) == set()
    assert debounce.due() == LONGEST
    assert debounce.take(LONGEST) == {"a"}


@given(STEPS)
def test_what_is_taken_is_what_is_due(steps: list[tuple[float, str | None]]) -> None:
    debounce: Debounce[str] = Debounce(QUIET, LONGEST)
    changes: dict[str, list[float]] = {}
    now = 0.0
    for pause, key in steps:
        now += pause
        if key is not None:
            debounce.changed(key, now)
            changes.setdefault(key, []).append(now)
            continue
        times = {each: min(at[-1] + QUIET, at[0] + LONGEST) for each, at in changes.items()}
        assert debounce.due() == min(times.values(), default=math.inf)
        due = {each for each, time in times.items() if time <= now}
        assert debounce.take(now) == due
        for each in due:
            del changes[each]

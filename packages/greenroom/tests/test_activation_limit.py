"""The limit on active actors is never exceeded, and no key waits forever."""

from __future__ import annotations

from greenroom.directory import ActivationLimit
from hypothesis import given
from hypothesis import strategies as st


@given(
    number=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.sampled_from(["want", "idle", "busy", "gone"]), st.integers(0, 7)),
        max_size=80,
    ),
)
def test_the_limit_is_never_exceeded_and_no_key_is_stranded(
    number: int, steps: list[tuple[str, int]]
) -> None:
    limit: ActivationLimit[int] = ActivationLimit(number)
    awake: set[int] = set()
    leaving: set[int] = set()
    line: list[int] = []
    idle: list[int] = []
    for now, (step, who) in enumerate(steps):
        if step == "want" and who not in awake and who not in line:
            limit.enqueue(who)
            line.append(who)
        elif step == "idle" and who in awake - leaving and who not in idle:
            limit.became_idle(who, now)
            idle.append(who)
        elif step == "busy" and who in idle:
            limit.became_busy(who)
            idle.remove(who)
        elif step == "gone" and who in awake:
            limit.ended(who)
            awake.discard(who)
            leaving.discard(who)
            if who in idle:
                idle.remove(who)
        while (admitted := limit.activate_next()) is not None:
            assert admitted == line.pop(0), "first come, first served"
            awake.add(admitted)
        while (sent := limit.passivate_for_queue()) is not None:
            assert sent in awake
            assert sent not in leaving
            if idle:
                assert sent == idle.pop(0), "the one idle for longest goes first"
            leaving.add(sent)
            assert line, "nobody leaves for nobody"
        assert len(awake) <= number
        assert (limit.active, limit.queued, limit.idle) == (len(awake), len(line), len(idle))
        if line:
            assert len(awake) == number
            assert len(leaving) >= min(len(line), len(awake)) or not idle
            assert not idle or len(leaving) >= len(line)

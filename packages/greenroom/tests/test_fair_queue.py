"""Holders have their turns in rotation, those of one in their order, and nobody is lost."""

from collections import Counter
from itertools import count

from greenroom.fair_queue import FairQueue
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

HOLDERS = "abcd"


class Waiting(RuleBasedStateMachine):
    """Those who wait come, leave, and have their turns in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = FairQueue[int]()
        self.numbers = count()
        self.waiting: dict[str, list[int]] = {}
        # How often others had a turn while a holder waited for its next one.
        self.passed: dict[str, Counter[str]] = {}

    @rule(holder=st.sampled_from(HOLDERS))
    def come(self, holder: str) -> None:
        number = next(self.numbers)
        self.queue.add(holder, number)
        self.waiting.setdefault(holder, []).append(number)
        self.passed.setdefault(holder, Counter())

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        if self.waiting:
            holder = data.draw(st.sampled_from(sorted(self.waiting)))
            number = data.draw(st.sampled_from(self.waiting[holder]))
            self.queue.remove(holder, number)
            self.gone(holder, number)

    @rule()
    def have_the_next_turn(self) -> None:
        for holder, number in self.queue:
            self.take(holder, number)
            return

    @rule(data=st.data())
    def pass_those_who_may_not(self, data: st.DataObject) -> None:
        if self.waiting:
            holder = data.draw(st.sampled_from(sorted(self.waiting)))
            self.take(holder, self.waiting[holder][0])

    def take(self, holder: str, number: int) -> None:
        assert self.queue.take(holder) == number == self.waiting[holder][0]
        for other in self.passed.keys() - {holder}:
            self.passed[other][holder] += 1
        self.passed[holder] = Counter()
        self.gone(holder, number)

    def gone(self, holder: str, number: int) -> None:
        self.waiting[holder].remove(number)
        if not self.waiting[holder]:
            del self.waiting[holder], self.passed[holder]

    @invariant()
    def everybody_waits_who_came_and_has_not_gone(self) -> None:
        assert dict(self.queue) == {holder: each[0] for holder, each in self.waiting.items()}
        assert len(self.queue) == len(self.waiting)
        for holder in HOLDERS:
            assert (holder in self.queue) == (holder in self.waiting)
            waiting = self.waiting.get(holder)
            assert self.queue.last(holder) == (waiting[-1] if waiting else None)

    @invariant()
    def holder_that_was_passed_comes_before_those_who_had_their_turn(self) -> None:
        order = [holder for holder, _ in self.queue]
        for holder, others in self.passed.items():
            assert all(order.index(holder) < order.index(each) for each in others if each in order)


TestWaiting = Waiting.TestCase


def test_holders_have_their_turns_in_rotation() -> None:
    queue = FairQueue[int]()
    for number, holder in enumerate("aaaabbbc"):
        queue.add(holder, number)
    taken = ""
    while queue:
        holder, _ = next(iter(queue))
        queue.take(holder)
        taken += holder
    assert taken == "abcababa"

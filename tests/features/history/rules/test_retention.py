"""Which revisions of a file are kept as it ages."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import ContentId, RevisionId

from octavo.features.history.rules.retention import DAY, HOUR, Aged, Retention, prunable

NOW = 1000 * DAY
RULE = Retention(all_of=2 * DAY, hourly=10 * DAY, least=1)


def revisions(*ages: int, moves: frozenset[int] = frozenset()) -> list[Aged]:
    """Revisions of these ages, the oldest first; those in ``moves`` keep the previous text."""
    made: list[Aged] = []
    for index, age in enumerate(ages):
        name = RevisionId(f"r{index}")
        content = made[-1].content_id if made and index in moves else ContentId(name)
        made.append(Aged(name, content, NOW - age))
    return made


def kept(made: list[Aged], rule: Retention = RULE, now: int = NOW) -> list[str]:
    gone = set(prunable(made, 0, now, rule))
    return [each.revision_id for each in made if each.revision_id not in gone]


@pytest.mark.parametrize(
    ("ages", "left"),
    [
        ([], []),
        ([100 * DAY], ["r0"]),
        # All recent ones.
        ([2, 1, 0], ["r0", "r1", "r2"]),
        ([2 * DAY - 1, 2 * DAY - 2, 0], ["r0", "r1", "r2"]),
        # The last of each hour.
        ([5 * DAY + HOUR // 2, 5 * DAY + HOUR // 3, 5 * DAY, 0], ["r1", "r2", "r3"]),
        # The last of each day.
        ([20 * DAY + 5 * HOUR, 20 * DAY + 2 * HOUR, 20 * DAY, 0], ["r1", "r2", "r3"]),
        ([20 * DAY + 5 * HOUR, 20 * DAY + 2 * HOUR], ["r1"]),
    ],
)
def test_revisions_are_pruned_by_age(ages: list[int], left: list[str]) -> None:
    assert kept(revisions(*ages)) == left


def test_minimum_of_newest_revisions_stays_at_any_age() -> None:
    made = revisions(*(50 * DAY + HOUR - each for each in range(10)))
    assert kept(made) == ["r9"]
    assert kept(made, Retention(0, 0, 4)) == ["r6", "r7", "r8", "r9"]
    # Some of them come after those that are examined.
    assert prunable(made, 3, NOW, Retention(0, 0, 4)) == [f"r{n}" for n in range(8, -1, -1)]


def test_revision_whose_text_a_kept_one_has_stays() -> None:
    made = revisions(50 * DAY + 3, 50 * DAY + 2, 50 * DAY + 1, moves=frozenset({2}))
    assert kept(made) == ["r1", "r2"]


def test_held_revision_stays_with_the_one_that_introduced_its_text() -> None:
    made = revisions(*(50 * DAY + 9 - each for each in range(5)), moves=frozenset({2}))
    made[2] = made[2]._replace(held=True)
    assert kept(made) == ["r1", "r2", "r4"]


AGES = st.lists(st.integers(0, 40 * DAY), max_size=40).map(lambda ages: sorted(ages, reverse=True))
RULES = st.builds(
    lambda all_of, more, least: Retention(all_of, all_of + more, least),
    st.integers(0, 20 * DAY),
    st.integers(0, 20 * DAY),
    st.integers(1, 10),
)
MOVES = st.frozensets(st.integers(1, 39))


@given(ages=AGES, rule=RULES, moves=MOVES)
def test_kept_revisions_keep_head_floor_texts_and_one_of_each_hour_or_day(
    ages: list[int], rule: Retention, moves: frozenset[int]
) -> None:
    made = revisions(*ages, moves=moves)
    left = kept(made, rule)
    floor = [each.revision_id for each in made[-rule.least :]]
    assert left[-len(floor) :] == floor if floor else left == []
    assert {each.content_id for each in made if each.revision_id in left} <= set(left)
    assert {each.revision_id for each in made if NOW - each.created_at < rule.all_of} <= set(left)
    days = {each.created_at // DAY for each in made}
    assert {each.created_at // DAY for each in made if each.revision_id in left} == days


@given(ages=AGES, rule=RULES, moves=MOVES, later=st.integers(0, 30 * DAY))
def test_pruning_again_loses_nothing_more(
    ages: list[int], rule: Retention, moves: frozenset[int], later: int
) -> None:
    made = revisions(*ages, moves=moves)
    left = [each for each in made if each.revision_id in kept(made, rule)]
    assert kept(left, rule) == [each.revision_id for each in left]
    assert set(kept(left, rule, NOW + later)) >= set(kept(made, rule, NOW + later)) & {
        each.revision_id for each in left
    }


@given(ages=AGES, rule=RULES, moves=MOVES)
def test_revisions_pruned_first_are_not_needed_by_later_ones(
    ages: list[int], rule: Retention, moves: frozenset[int]
) -> None:
    made = {each.revision_id: each for each in revisions(*ages, moves=moves)}
    order = prunable([*made.values()], 0, NOW, rule)
    for earlier, later in pairwise(order):
        assert str(made[later].content_id) != earlier

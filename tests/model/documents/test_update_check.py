import random
from functools import partial

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.documents.structs import DocumentFacts, facts_at_sight
from octavo_rules.problems import DocumentDependencyMissing, InvalidContent, Problem

from octavo.model.documents.update_check import UpdateReading, check_update
from tests.yjs.checking import decided
from tests.yjs.devices import PycrdtDevice, Saved, check, history
from tests.yjs.wire import Section, Update, deleted, parsed, skip, text, written

EMPTY = b"\0\0"
FACE = "\N{GRINNING FACE}"
MOUSE, CAT = 5, 6
# The content of the document in the tables below: eight clocks of one client.
STATE = written(MOUSE, 0, text("typed by")).encoded()
HAVE = {MOUSE: 8}

histories = st.builds(
    lambda seed, saves: history(
        [PycrdtDevice(client) for client in (2**53 - 1, 70_000, 3)], random.Random(seed), saves
    ),
    st.integers(0, 2**32),
    st.integers(1, 12),
)


@given(histories)
def test_update_of_a_device_is_accepted_with_the_resulting_state_vector(
    saves: list[Saved],
) -> None:
    for saved in saves:
        after = PycrdtDevice(9, saved.state, saved.update)
        assert check(saved) == read_state_vector(after.state_vector())


@given(histories)
def test_update_of_a_device_reports_whether_it_changes_anything(saves: list[Saved]) -> None:
    for saved in saves:
        after = PycrdtDevice(9, saved.state, saved.update).diff(b"\0")
        if not decided(saved.update, saved.have, saved.state).changes:
            assert PycrdtDevice(9, after).text() == PycrdtDevice(9, saved.state).text()
            assert len(after) == len(saved.state)


@given(histories)
def test_document_after_an_update_is_itself_an_accepted_update(saves: list[Saved]) -> None:
    for saved in saves:
        after = PycrdtDevice(9, saved.state, saved.update)
        whole = decided(after.diff(b"\0"), {}, EMPTY)
        assert whole.state_vector == read_state_vector(after.state_vector())


@given(histories)
def test_carried_facts_hold_all_that_the_document_holds(saves: list[Saved]) -> None:
    facts = facts_at_sight(EMPTY)
    for saved in saves:
        held = UpdateReading(saved.state, {})
        event("breaks are known" if facts.breaks is not None else "breaks are not known")
        assert facts.pairs is not None
        assert facts.ranges is not None
        for client, halves in held.pairs.items():
            assert facts.pairs[client].issuperset(halves)
        covered = {(client, clock) for client, *ends in facts.ranges for clock in range(*ends)}
        for client, *ends in held.ranges:
            assert covered.issuperset((client, clock) for clock in range(*ends))
        if facts.breaks is not None:
            assert {each: [*facts.breaks.get(each, ())] for each in held.breaks} == held.breaks
        facts = check_update(saved.update, saved.have, partial(bytes, saved.state), facts).facts


def test_known_surrogate_pair_is_not_split_and_the_document_not_read() -> None:
    within = written(CAT, 0, text("x", origin=(MOUSE, 1))).encoded()
    behind = written(CAT, 0, text("x", origin=(MOUSE, 2))).encoded()
    facts = DocumentFacts({MOUSE: frozenset({2})})
    assert check_update(behind, {MOUSE: 3}, unread, facts).facts == facts
    with pytest.raises(InvalidContent):
        check_update(within, {MOUSE: 3}, unread, facts)


def unread() -> bytes:
    raise AssertionError("the document was read")


@given(histories)
def test_update_truncated_anywhere_is_refused(saves: list[Saved]) -> None:
    update = saves[-1].update
    for end in range(len(update)):
        with pytest.raises(Problem):
            decided(update[:end], saves[-1].have, saves[-1].state)


@given(histories)
def test_update_is_refused_as_soon_as_one_reference_is_missing(saves: list[Saved]) -> None:
    for saved in saves:
        needed = needs(parsed(saved.update))
        for client, clock in needed.items():
            assert clock <= saved.have[client]
            decided(saved.update, saved.have | {client: clock}, saved.state)
            with pytest.raises(DocumentDependencyMissing, match=f"client {client} "):
                decided(saved.update, saved.have | {client: clock - 1}, saved.state)


def needs(update: Update) -> dict[int, int]:
    """What a document must hold of each client before the update, by reference."""
    named: dict[int, int] = {}
    starts: dict[int, int] = {}
    for section in update.sections:
        starts[section.client] = section.clock
        for struct in section.structs:
            for place in (struct.origin, struct.right):
                if place is not None:
                    named[place[0]] = max(named.get(place[0], 0), place[1] + 1)
    for client, ranges in update.deleted:
        for clock, length in ranges:
            named[client] = max(named.get(client, 0), clock + length)
    # A section includes everything after its start.
    return {client: clock for client, clock in (named | starts).items() if clock}


@pytest.mark.parametrize(
    ("update", "structs", "vector", "changes"),
    [
        (Update(), 0, {}, False),
        (written(CAT, 0, text("new")), 1, {CAT: 3}, True),
        (written(CAT, 0, text("né" + FACE)), 1, {CAT: 4}, True),
        (written(CAT, 0, deleted(7), text("x", (CAT, 6))), 2, {CAT: 8}, True),
        (written(MOUSE, 8, text("more", (MOUSE, 7))), 1, {MOUSE: 12}, True),
        (written(MOUSE, 6, text("by more", (MOUSE, 5))), 1, {MOUSE: 13}, True),
        (written(MOUSE, 0, text("typed")), 1, {}, False),
        (written(MOUSE, 0, skip(8), text("x", (MOUSE, 2), (MOUSE, 3))), 2, {MOUSE: 9}, True),
        (Update(deleted=[(MOUSE, [(0, 8)])]), 0, {}, True),
        (Update(deleted=[(MOUSE, [(0, 2), (2, 1), (5, 3)])]), 0, {}, True),
        (Update(deleted=[(MOUSE, [])]), 0, {}, False),
        (Update([Section(CAT, 0, [text("x")])], [(CAT, [(0, 1)])]), 1, {CAT: 1}, True),
        # The first client waits for the other, which waits for nothing.
        (
            Update([Section(7, 0, [text("x", (CAT, 1))]), Section(CAT, 0, [text("ab")])]),
            2,
            {CAT: 2, 7: 1},
            True,
        ),
        # Typed at the start, then in front of that, then between the two.
        (
            written(CAT, 0, text("b"), text("a", None, (CAT, 0)), text("x", (CAT, 1), (CAT, 0))),
            3,
            {CAT: 3},
            True,
        ),
    ],
)
def test_accepted_update_reports_its_effects(
    update: Update, structs: int, vector: dict[int, int], changes: bool
) -> None:
    decision = decided(update.encoded(), HAVE, STATE)
    assert decision[:3] == (structs, HAVE | vector, changes)

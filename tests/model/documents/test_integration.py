"""Updates that take pycrdt too long are refused; those of editors are accepted."""

import pytest
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.problems import DocumentTooLarge
from pycrdt import Doc, Text

from octavo.model.documents.integration import MAX_STEPS, integration_steps, loading
from octavo.model.documents.update_check import MAX_RANGES, MAX_STRUCTS
from tests.yjs.checking import decided
from tests.yjs.wire import Id, Section, Struct, Update, deleted, text, written

EMPTY = b"\0\0"
MOUSE, CAT, OWL = 5, 6, 7
SOME = 3_000
LENGTH = 4 * SOME
LONG = written(MOUSE, 0, text("a" * LENGTH)).encoded()


def here(count: int) -> list[Struct]:
    """Insertions that all refer to the start of the text, and to nothing after it."""
    return [text("x")] * count


def prepended(client: int, count: int, before: Id | None = None) -> list[Struct]:
    """The update of a device that keeps writing at the start."""
    return [text("x", None, (client, clock - 1) if clock else before) for clock in range(count)]


def appended(client: int, count: int) -> list[Struct]:
    """Key by key, as Yjs merges the updates of keys into one."""
    return [text("x", (client, clock - 1) if clock else None) for clock in range(count)]


def amid(count: int, start: int = 0) -> list[Struct]:
    """Insertions throughout the long text, each between two characters."""
    places = range(start, start + 4 * count, 4)
    return [text("b", (MOUSE, place), (MOUSE, place + 1)) for place in places]


def after(count: int) -> list[Struct]:
    """The same, but without a reference to what follows."""
    return [text("b", (MOUSE, 4 * at)) for at in range(count)]


def both(count: int) -> Update:
    return Update([Section(CAT, 0, here(count)), Section(MOUSE, 0, here(count))])


def waiting(count: int) -> Update:
    """The higher client waits for all that the lower one wrote, however it is encoded."""
    first = text("x", (MOUSE, count - 1))
    return Update([Section(OWL, 0, [first, *here(count)]), Section(MOUSE, 0, here(count))])


@pytest.mark.parametrize(
    ("state", "update"),
    [
        (written(MOUSE, 0, *here(SOME)), written(CAT, 0, *here(SOME))),
        (written(MOUSE, 0, *prepended(MOUSE, SOME)), written(CAT, 0, *prepended(CAT, SOME))),
        (Update(), waiting(SOME)),
        (Update(), written(CAT, 0, *appended(CAT, 4 * SOME))),
    ],
    ids=["same place", "prepended by two", "waiting", "keys"],
)
def test_update_that_takes_too_many_steps_is_refused_with_a_remedy(
    state: Update, update: Update
) -> None:
    have = {section.client: len(section.structs) for section in state.sections}
    with pytest.raises(DocumentTooLarge, match=r"at one position.*Send fewer edits at once"):
        decided(update.encoded(), have, state.encoded())


@pytest.mark.parametrize(
    ("structs", "length"),
    [(after(SOME), LENGTH), ([*reversed(amid(SOME, 30_000))], 42_000)],
    ids=["without a right neighbour", "from behind"],
)
def test_update_that_splits_a_long_text_too_often_is_refused(
    structs: list[Struct], length: int
) -> None:
    state = written(MOUSE, 0, text("a" * length)).encoded()
    with pytest.raises(DocumentTooLarge, match="more than 2000000 steps"):
        decided(written(CAT, 0, *structs).encoded(), {MOUSE: length}, state)


@pytest.mark.parametrize(
    ("update", "have", "state"),
    [
        (written(CAT, 0, *prepended(CAT, 10_000)), {}, EMPTY),
        (written(CAT, 0, *prepended(CAT, 10_000, (MOUSE, 0))), {MOUSE: LENGTH}, LONG),
        (written(CAT, 0, *appended(CAT, 10_000)), {}, EMPTY),
        (written(CAT, 0, *amid(SOME)), {MOUSE: LENGTH}, LONG),
        (written(CAT, 0, *reversed(amid(SOME))), {MOUSE: LENGTH}, LONG),
        (both(1_000), {}, EMPTY),
        (
            written(CAT, 0, *prepended(CAT, 1_000)),
            {MOUSE: 1_000},
            written(MOUSE, 0, *prepended(MOUSE, 1_000)).encoded(),
        ),
    ],
    ids=["prepended", "before a text", "keys", "amid", "from behind", "two", "two that prepend"],
)
def test_update_of_many_edits_as_devices_write_them_is_accepted(
    update: Update, have: dict[int, int], state: bytes
) -> None:
    decision = decided(update.encoded(), have, state)
    assert decision.structs == sum(len(section.structs) for section in update.sections)
    assert decision.pieces >= decision.structs


def test_note_prepended_to_ten_thousand_times_accepts_each_save() -> None:
    state = written(CAT, 0, *prepended(CAT, 10_000)).encoded()
    for clock in range(1, 10_000, 1_000):
        one = written(CAT, clock, text("x", None, (CAT, clock - 1))).encoded()
        assert decided(one, {CAT: clock}, state).state_vector == {CAT: clock + 1}
    assert loading(state).steps == 0


def chain(count: int) -> Update:
    """An insertion of each of many clients after that of the one before."""
    others = range(100 + count - 1, 100, -1)
    waiting = [Section(client, 0, [text("x", (client - 1, 0))]) for client in others]
    return Update([*waiting, Section(100, 0, [text("x")])])


def test_clients_that_each_wait_for_another_are_counted() -> None:
    # The libraries take the highest first: it waits for all others, as they do.
    assert decided(chain(1_000).encoded(), {}, EMPTY).structs == 1_000
    assert 10_000 < loading(chain(1_000).encoded()).steps < 100_000
    with pytest.raises(DocumentTooLarge, match="clients that build on each other"):
        decided(chain(10_000).encoded(), {}, EMPTY)
    # In the other direction, nothing waits.
    rising = Update([Section(9, 0, [text("x")])])
    rising.sections += [Section(8, 0, [text("y", (9, 0))]), Section(7, 0, [text("z", (8, 0))])]
    assert loading(rising.encoded()).steps == 0


def deletions(count: int) -> bytes:
    return Update(deleted=[(MOUSE, [(2 * at, 1) for at in range(count)])]).encoded()


def test_update_of_the_maximum_of_structs_is_accepted_and_of_more_is_refused() -> None:
    have = {CAT: MAX_STRUCTS + 1}
    maximum = written(CAT, 0, *prepended(CAT, MAX_STRUCTS))
    assert not decided(maximum.encoded(), have, EMPTY).changes
    with pytest.raises(DocumentTooLarge, match="structs 50001"):
        decided(written(CAT, 0, *prepended(CAT, MAX_STRUCTS + 1)).encoded(), have, EMPTY)


def test_update_of_the_maximum_of_ranges_is_accepted_and_of_more_is_refused() -> None:
    have = {MOUSE: 2 * MAX_RANGES + 1}
    assert decided(deletions(MAX_RANGES), have, EMPTY).changes
    with pytest.raises(DocumentTooLarge, match="deleted ranges 20001"):
        decided(deletions(MAX_RANGES + 1), have, EMPTY)


def test_deletions_that_split_a_long_text_too_often_are_refused_until_they_are_known() -> None:
    length = 2_000_000
    state = written(MOUSE, 0, text("a" * length)).encoded()
    with pytest.raises(DocumentTooLarge, match=r"split the text too\soften"):
        decided(deletions(MAX_RANGES), {MOUSE: length}, state)
    assert decided(deletions(1_000), {MOUSE: length}, state).pieces == 2_000
    doc: Doc[Text] = Doc()
    doc.apply_update(state)
    doc.apply_update(deletions(MAX_RANGES))
    again = decided(deletions(MAX_RANGES), {MOUSE: length}, doc.get_update())
    assert again.pieces == 0


def test_deleted_text_is_not_split() -> None:
    gone = [deleted(1_000_000), text("b" * 1_000)]
    state = Update([Section(MOUSE, 0, gone)], [(MOUSE, [(0, 1_000_000)])]).encoded()
    update = Update(deleted=[(MOUSE, [(2 * at, 1) for at in range(5_000)])]).encoded()
    assert integration_steps(state, update) == 0
    cut = Update(deleted=[(MOUSE, [(1_000_000 + 2 * at, 1) for at in range(500)])]).encoded()
    assert 0 < integration_steps(state, cut) < 1_000


def test_steps_are_those_of_one_client_after_the_other() -> None:
    state = written(MOUSE, 0, *here(30)).encoded()
    # Each steps over all of the other client's, and before its own.
    assert integration_steps(state, written(CAT, 0, *here(20)).encoded()) == 20 * 30 + 19
    # The higher client is integrated first when the document is loaded.
    assert loading(state, written(CAT, 0, *here(20)).encoded()).steps == 19 + 30 - 1 + 1


def test_steps_end_soon_after_the_maximum() -> None:
    state = written(MOUSE, 0, *here(300)).encoded()
    assert 100 < integration_steps(state, written(CAT, 0, *here(300)).encoded(), maximum=100) <= 101


def test_document_of_many_edits_by_pycrdt_loads_in_few_steps() -> None:
    doc: Doc[Text] = Doc()
    note = doc.get("text", type=Text)
    note.insert(0, "a" * 5_000)
    for at in range(1_000):
        del note[3 * at : 3 * at + 1]
        note.insert(4 * at, "bc")
    state = doc.get_update()
    assert loading(state).steps < MAX_STEPS // 100
    assert decided(state, {}, EMPTY).state_vector == read_state_vector(doc.get_state())

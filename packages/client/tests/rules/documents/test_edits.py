"""Edits: they turn the old text into the new one, are small, and don't touch common text."""

import random
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from octavo_rules import difference
from octavo_rules.difference import is_attached
from octavo_rules.documents.edits import MAX_EDITS, MIN_COMMON, Edit, edits_between
from pycrdt import Doc, Text

# Few letters produce many chance matches; the others take one to four bytes of UTF-8, and two
# are combining marks.
LETTERS = "ab \n\r.é日語🙂\u0301\u200d"
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(st.sampled_from(LETTERS) | CHARACTERS, max_size=80)
PLAIN = st.text(st.sampled_from("ab \n"), max_size=80)


@st.composite
def pairs(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> tuple[str, str]:
    """A text, and the result of a few random edits."""
    old = new = draw(texts)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(new)))
        end = draw(st.integers(at, min(len(new), at + 6)))
        new = new[:at] + draw(st.text(st.sampled_from(LETTERS), max_size=6)) + new[end:]
    return old, new


ANY = st.one_of(st.tuples(TEXTS, TEXTS), st.tuples(PLAIN, PLAIN), pairs(), pairs(PLAIN))


def applied(old: str, edits: list[Edit]) -> str:
    data = old.encode()
    for at, deleted, inserted in reversed(edits):
        data = data[:at] + inserted.encode() + data[at + deleted :]
    return data.decode()


def document(text: str, client: int) -> Doc[Text]:
    doc: Doc[Text] = Doc(client_id=client)
    doc["content"] = Text(text)
    return doc


def twin(doc: Doc[Text], client: int) -> Doc[Text]:
    other: Doc[Text] = Doc(client_id=client)
    other["content"] = Text()
    other.apply_update(doc.get_update())
    return other


def edit(doc: Doc[Text], edits: list[Edit]) -> None:
    text = doc["content"]
    with doc.transaction():
        for at, deleted, inserted in reversed(edits):
            if deleted:
                del text[at : at + deleted]
            if inserted:
                text.insert(at, inserted)


@given(ANY)
@example(("", ""))
@example(("e\u0301", "e\u0300"))
@example(("\r\n", "\n"))
def test_edits_applied_from_the_last_to_the_first_make_the_new_text(pair: tuple[str, str]) -> None:
    old, new = pair
    assert applied(old, edits_between(old, new)) == new


@given(ANY)
def test_edits_applied_to_a_document_make_the_new_text(pair: tuple[str, str]) -> None:
    old, new = pair
    doc = document(old, 1)
    edit(doc, edits_between(old, new))
    assert str(doc["content"]) == new


@given(ANY)
def test_edits_are_in_order_and_disjoint_and_each_has_an_effect(pair: tuple[str, str]) -> None:
    old, new = pair
    edits = edits_between(old, new)
    assert all(each.deleted or each.inserted for each in edits)
    for before, after in pairwise(edits):
        kept = old.encode()[before.at + before.deleted : after.at].decode()
        assert len(kept) >= MIN_COMMON


@given(TEXTS)
def test_equal_texts_have_no_edits(text: str) -> None:
    assert edits_between(text, text) == []


@given(st.text(CHARACTERS, max_size=200), st.data())
def test_change_of_one_character_is_one_edit_of_at_most_its_cluster(
    text: str, data: st.DataObject
) -> None:
    # Nothing that an edit would have to include with the letter before it.
    plain = "".join(
        each
        for each in text
        if not unicodedata.category(each).startswith(("M", "C")) and not is_attached(each)
    )
    at = data.draw(st.integers(0, len(plain)))
    new = plain[:at] + "\ue000" + plain[at + 1 :]
    [only] = edits_between(plain, new)
    assert only == Edit(len(plain[:at].encode()), len(plain[at : at + 1].encode()), "\ue000")


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("", "abc", [Edit(0, 0, "abc")]),
        ("abc", "", [Edit(0, 3, "")]),
        ("- [ ] milk\n", "- [x] milk\n", [Edit(3, 1, "x")]),
        ("one\ntwo\nthree\n", "one\n2\nthree\n", [Edit(4, 3, "2")]),
        ("the colour of it", "the color of it", [Edit(8, 1, "")]),
        ("Überall ist Öl.\n", "Überall war Öl.\n", [Edit(9, 3, "war")]),
        ("日本語の文字", "日本の文字", [Edit(6, 3, "")]),
        ("aaaa", "aaaaa", [Edit(4, 0, "a")]),
        (
            "first line\nmiddle\nlast line\n",
            "First line\nmiddle\nlast lines\n",
            [Edit(0, 1, "F"), Edit(27, 0, "s")],
        ),
        (
            "a\nb\nc\nd\n" * 2,
            "a\r\nb\r\nc\r\nd\r\n" * 2,
            [Edit(1, 14, "\r\nb\r\nc\r\nd\r\na\r\nb\r\nc\r\nd\r")],
        ),
    ],
)
def test_edits_are_as_small_as_the_change(old: str, new: str, edits: list[Edit]) -> None:
    assert edits_between(old, new) == edits


@pytest.mark.parametrize(
    ("old", "new", "edit"),
    [
        ("ne\u0301e", "ne\u0300e", Edit(1, 3, "e\u0300")),
        ("ne\u0301e", "nee", Edit(1, 3, "e")),
        ("nee", "ne\u0301e", Edit(1, 1, "e\u0301")),
        ("no\u0301e", "na\u0301e", Edit(1, 3, "a\u0301")),
        ("👩\u200d👧", "👩\u200d👦", Edit(7, 4, "👦")),
        ("👍🏻", "👍🏿", Edit(0, 8, "👍🏿")),
    ],
)
def test_edit_next_to_a_combining_mark_includes_its_letter(old: str, new: str, edit: Edit) -> None:
    assert edits_between(old, new) == [edit]


def test_two_distant_changes_in_a_long_note_are_two_edits() -> None:
    old = "".join(f"Line {number} of a note.\n" for number in range(3000))
    new = old.replace("Line 7 of", "Line seven of").replace("2990 of a", "2990 of the")
    assert edits_between(old, new) == [
        Edit(old.index("7 of a"), 1, "seven"),
        Edit(old.index("a note", old.index("2990")), 1, "the"),
    ]


def test_change_within_a_very_long_line_is_found_by_words() -> None:
    words = [f"word{number}" for number in range(20_000)]
    old = " ".join(words)
    words[5], words[19_990] = "five", "many"
    assert len(edits_between(old, " ".join(words))) == 2


@given(
    pairs(st.text(st.sampled_from("ab \né日🙂"), min_size=8, max_size=60)),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3)), max_size=3),
)
def test_concurrent_edits_of_another_device_survive(
    pair: tuple[str, str], others: list[tuple[float, int]]
) -> None:
    old, new = pair
    mine = document(old, 1)
    theirs = twin(mine, 2)
    marks = []
    for number, (where, deleted) in enumerate(others):
        # Theirs is inserted between characters, at a byte offset, after what they delete.
        now = str(theirs["content"])
        at = int(where * len(now))
        gone = now[at : at + deleted]
        if any(mark in gone for mark in "⟦⟧0123456789"):
            gone = ""
        if "⟦" in now[:at] and "⟧" not in now[now[:at].rindex("⟦") : at]:
            continue
        start = len(now[:at].encode())
        mark = f"⟦{number}⟧"
        edit(theirs, [Edit(start, len(gone.encode()), mark)])
        marks.append(mark)
    edit(mine, edits_between(old, new))
    to_mine, to_theirs = theirs.get_update(), mine.get_update()
    mine.apply_update(to_mine)
    theirs.apply_update(to_theirs)
    merged = str(mine["content"])
    assert merged == str(theirs["content"])
    assert all(mark in merged for mark in marks)
    if not marks:
        assert merged == new


def test_concurrent_insertion_stays_in_place() -> None:
    old = "# Shopping\n\n- [ ] milk\n- [ ] bread\n\nFor Sunday.\n"
    mine = document(old, 1)
    theirs = twin(mine, 2)
    edit(theirs, [Edit(old.index("bread"), 0, "rye ")])
    edit(mine, edits_between(old, old.replace("# Sh", "# The sh").replace("Sunday", "Monday")))
    mine.apply_update(theirs.get_update())
    assert str(mine["content"]) == (
        "# The shopping\n\n- [ ] milk\n- [ ] rye bread\n\nFor Monday.\n"
    )


@pytest.mark.parametrize("allowed", [0, 1 << 14, 1 << 16, 1 << 18])
def test_edits_over_the_work_budget_are_coarser_and_correct(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(allowed)
    monkeypatch.setattr(difference, "MAX_WORK", allowed)
    old = "".join(chance.choices(LETTERS, k=2000))
    new = "".join(chance.choices(LETTERS, k=2000))
    assert applied(old, edits_between(old, new)) == new


def test_edits_without_a_work_budget_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difference, "MAX_WORK", 0)
    assert edits_between("0 a 1 b 2", "0 A 1 B 2") == [Edit(2, 5, "A 1 B")]


def test_many_edits_are_merged_with_their_neighbours_and_make_the_same_text() -> None:
    old = "".join(f"line {number}\n" for number in range(3 * MAX_EDITS))
    new = old.replace("5\n", "five\n").replace("7\n", "seven\n").replace("line 1", "Line 1")
    edits = edits_between(old, new)
    assert MAX_EDITS // 2 <= len(edits) <= MAX_EDITS
    text = old
    for at, deleted, inserted in reversed(edits):
        text = text[:at] + inserted + text[at + deleted :]
    assert text == new

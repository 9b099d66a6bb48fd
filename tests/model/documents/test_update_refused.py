import pytest
from octavo_rules.problems import (
    DocumentDependencyMissing,
    DocumentMalformed,
    DocumentUnsupported,
    InvalidContent,
)
from pycrdt import Array, Doc, Map, Text

from octavo.model.documents.update_check import CheckedUpdate
from tests.yjs.checking import decided
from tests.yjs.wire import SKIP, STRING, Section, Struct, Update, deleted, gc, skip, text, written

EMPTY = b"\0\0"
FACE = "\N{GRINNING FACE}"
MOUSE, CAT = 5, 6
# The content of the document in the tables below: eight clocks of one client.
STATE = written(MOUSE, 0, text("typed by")).encoded()
FACES = written(MOUSE, 0, text(f"a{FACE}b{FACE}"), deleted(2, (MOUSE, 5))).encoded()
HAVE = {MOUSE: 8}


def checked(update: Update | bytes, state: bytes = STATE) -> CheckedUpdate:
    data = update if isinstance(update, bytes) else update.encoded()
    return decided(data, HAVE, state)


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (b"", "is truncated"),
        (b"\0", "is truncated"),
        (b"\0\0\0", "Bytes follow"),
        (b"\x80\x00\x00", "shortest form"),
        (b"\0\x80\x80\x80\x80\x80\x80\x80\x80\x01", "53 bits"),
        (b"\xff\xff\xff\xff\x0f\x00", "is truncated"),
        (written(2**53, 0, text("x")), "53 bits"),
        (written(CAT, 0), "empty one"),
        (Update([Section(CAT, 0, [text("x")]), Section(CAT, 1, [text("x")])]), "two sections"),
        (Update(deleted=[(MOUSE, [(0, 1)]), (MOUSE, [(2, 1)])]), "two delete sets"),
        (written(CAT, 0, text("")), "empty"),
        (written(CAT, 0, deleted(0)), "empty"),
        (written(MOUSE, 0, skip(0)), "empty"),
        (Update(deleted=[(MOUSE, [(1, 0)])]), "empty"),
        (Update(deleted=[(MOUSE, [(4, 2), (0, 2)])]), "not in order"),
        (Update(deleted=[(MOUSE, [(0, 4), (3, 2)])]), "overlap"),
        (Update(deleted=[(MOUSE, [(1, 1), (1, 1)])]), "overlap"),
        (written(CAT, 0, deleted(2**31)), "exceeds a clock of 31 bits"),
        (written(CAT, 0, deleted(2**31 - 2), text("xy", (CAT, 0))), "exceeds a clock of 31 bits"),
        (Update(deleted=[(MOUSE, [(1, 2**31)])]), "exceeds a clock of 31 bits"),
        (written(CAT, 0, Struct(b"\xff")), "UTF-8"),
        (written(CAT, 0, Struct(b"\xed\xa0\xbd")), "UTF-8"),
        (written(CAT, 0, Struct(b"\xf0\x9f\x98")), "UTF-8"),
        (written(CAT, 0, Struct(b"x", parent=b"\x02\x04text")), "reference is unknown"),
        (written(CAT, 0, Struct(1, kind=11)), "unknown kind"),
        (written(CAT, 0, Struct(1, kind=STRING, flags=0x10)), "unknown kind"),
        (written(CAT, 0, Struct(1, kind=SKIP, flags=0x80)), "unknown kind"),
        (written(CAT, 0, Struct(1, kind=0, flags=0x20)), "unknown kind"),
    ],
)
def test_malformed_update_is_refused_with_the_reason(update: Update | bytes, why: str) -> None:
    with pytest.raises(DocumentMalformed, match=why):
        checked(update)


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (written(CAT, 0, gc(3)), "remains of another"),
        (written(CAT, 0, Struct(1, kind=2)), "JSON"),
        (written(CAT, 0, Struct(1, kind=3)), "binary data"),
        (written(CAT, 0, Struct(1, kind=5)), "an embedded object"),
        (written(CAT, 0, Struct(1, kind=6)), "a format"),
        (written(CAT, 0, Struct(1, kind=7)), "a shared type"),
        (written(CAT, 0, Struct(1, kind=8)), "a value"),
        (written(CAT, 0, Struct(1, kind=9)), "a document"),
        (written(CAT, 0, Struct(b"x", parent=b"\x01\x05other")), "another root"),
        (written(CAT, 0, Struct(b"x", parent=b"\x00\x05\x00")), "type within another"),
        (written(CAT, 0, Struct(b"x", flags=0x20)), "a map entry"),
        (written(CAT, 0, Struct(b"x", (MOUSE, 0), flags=0x20)), "a map entry"),
    ],
)
def test_update_of_more_than_text_is_refused_with_the_reason(update: Update, why: str) -> None:
    with pytest.raises(DocumentUnsupported, match=why):
        checked(update)


def embed() -> bytes:
    doc: Doc[Text] = Doc()
    doc.get("text", type=Text).insert_embed(0, {"image": "x"})
    return doc.get_update()


def format_of_text() -> bytes:
    doc: Doc[Text] = Doc()
    doc.get("text", type=Text).insert(0, "x", {"bold": True})
    return doc.get_update()


def other_root() -> bytes:
    doc: Doc[Text] = Doc()
    doc.get("title", type=Text).insert(0, "x")
    return doc.get_update()


def entry_of_a_map(value: object) -> bytes:
    doc: Doc[Map[object]] = Doc()
    doc.get("text", type=Map)["key"] = value
    return doc.get_update()


def value_of_an_array(value: object) -> bytes:
    doc: Doc[Array[object]] = Doc()
    doc.get("text", type=Array).append(value)
    return doc.get_update()


@pytest.mark.parametrize(
    "update",
    [
        embed(),
        format_of_text(),
        other_root(),
        entry_of_a_map(1),
        entry_of_a_map(Text("x")),
        value_of_an_array(1),
        value_of_an_array(b"x"),
        value_of_an_array(Text("x")),
        value_of_an_array(Doc()),
    ],
    # The library chooses client ids at random; test names have to be stable.
    ids=["embed", "format", "root", "entry", "text entry", "number", "bytes", "text", "document"],
)
def test_document_with_more_than_text_is_refused(update: bytes) -> None:
    with pytest.raises(DocumentUnsupported, match="has only the text"):
        decided(update, {}, EMPTY)


@pytest.mark.parametrize(
    ("update", "what"),
    [
        (written(CAT, 1, text("x")), "client 6 at clock 0"),
        (written(MOUSE, 9, text("x", (MOUSE, 7))), "client 5 at clock 8"),
        (written(MOUSE, 8, skip(1), text("x", (MOUSE, 7))), "client 5 at clock 8"),
        (written(MOUSE, 0, skip(9)), "client 5 at clock 8"),
        (written(CAT, 0, text("x", (MOUSE, 8))), "client 5 at clock 8"),
        (written(CAT, 0, text("x", None, (MOUSE, 8))), "client 5 at clock 8"),
        (written(CAT, 0, text("x", (7, 0))), "client 7 at clock 0"),
        (written(CAT, 0, text("x", (CAT, 0))), "client 6 at clock 0"),
        (written(CAT, 0, text("x", None, (CAT, 1)), text("y")), "client 6 at clock 1"),
        (Update(deleted=[(MOUSE, [(7, 2)])]), "client 5 at clock 8"),
        (Update(deleted=[(CAT, [(0, 1)])]), "client 6 at clock 0"),
        # Each of two waits for the other.
        (
            Update([Section(7, 0, [text("x", (CAT, 0))]), Section(CAT, 0, [text("y", (7, 0))])]),
            "client 7 at clock 0",
        ),
    ],
)
def test_update_with_missing_references_is_refused_and_names_them(
    update: Update, what: str
) -> None:
    with pytest.raises(DocumentDependencyMissing, match=what):
        checked(update)


@pytest.mark.parametrize(
    "update",
    [
        written(CAT, 0, text("x", (MOUSE, 1))),
        written(CAT, 0, text("x", None, (MOUSE, 2))),
        Update(deleted=[(MOUSE, [(2, 1)])]),
        Update(deleted=[(MOUSE, [(0, 5)])]),
        written(CAT, 0, text(FACE), text("x", (CAT, 0))),
        written(CAT, 0, text("a" + FACE), text("x", None, (CAT, 2))),
        Update([Section(CAT, 0, [text(f"x{FACE}")])], [(CAT, [(2, 1)])]),
        # Seven clocks of it are known, and the eighth is the first half of a character.
        written(MOUSE, 7, text(FACE, (MOUSE, 6))),
    ],
)
def test_update_that_splits_a_character_is_refused(update: Update) -> None:
    with pytest.raises(InvalidContent, match="splits a character"):
        checked(update, FACES)


@pytest.mark.parametrize(
    "update",
    [
        written(CAT, 0, text("x", (MOUSE, 0), (MOUSE, 1))),
        written(CAT, 0, text("x", (MOUSE, 2), (MOUSE, 3))),
        written(CAT, 0, text(FACE), text("x", (CAT, 1))),
        Update(deleted=[(MOUSE, [(1, 2)])]),
        Update(deleted=[(MOUSE, [(4, 4)])]),
        # Its text is deleted: no character is left to split.
        written(CAT, 0, text("x", (MOUSE, 6), (MOUSE, 7))),
        # The document's own content is not written again, whatever the update says.
        Update([Section(MOUSE, 0, [text(FACE + FACE)])], [(MOUSE, [(0, 1)])]),
    ],
)
def test_update_that_splits_between_characters_is_accepted(update: Update) -> None:
    assert checked(update, FACES).changes


def test_update_with_nul_is_refused() -> None:
    with pytest.raises(InvalidContent, match="NUL"):
        checked(written(CAT, 0, text("a\0b")))


@pytest.mark.parametrize(
    "update",
    [
        written(CAT, 0, text("x", (MOUSE, 4), (MOUSE, 4))),
        written(CAT, 0, text("x", (MOUSE, 4), (MOUSE, 2))),
        written(CAT, 0, text("abc"), text("x", (CAT, 2), (CAT, 0))),
        written(CAT, 0, text("a"), text("b", (CAT, 0)), text("x", (CAT, 1), (CAT, 0))),
        # Part of it is known: the rest follows that, whatever its origin.
        written(MOUSE, 6, text("by more", (MOUSE, 1), (MOUSE, 2))),
    ],
)
def test_update_with_crossed_origins_is_refused(update: Update) -> None:
    with pytest.raises(DocumentUnsupported, match="which follows it"):
        checked(update)


@pytest.mark.parametrize("size", [1_000, 8_000])
def test_update_that_claims_more_than_it_holds_is_refused_at_its_end(size: int) -> None:
    claims = b"\x01\xff\xff\xff\xff\x0f\x06\x00" + text("x").encoded() * size
    with pytest.raises(DocumentMalformed, match="is truncated"):
        decided(claims, {}, EMPTY)

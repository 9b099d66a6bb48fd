"""One document in memory: created from a text, edited, merged, and isolated when it fails."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.documents.document import NOTHING, StoredDocument, initial, yjs_client_id_of
from octavo_rules.documents.edits import Edit, edits_between
from octavo_rules.identity import ContentId, Epoch
from octavo_rules.problems import DocumentMalformed
from pycrdt import Doc, Text

from octavo.documents import LiveDocument, merged
from tests.yjs.wire import Section, Update, written
from tests.yjs.wire import text as string

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(text=TEXTS)
def test_initial_document_equals_the_one_of_the_library(text: str) -> None:
    doc: Doc[Text] = Doc(client_id=yjs_client_id_of("content"))
    written = doc.get("text", type=Text)
    if text:
        written += text
    kept = initial(ContentId("content"), text)
    assert (kept.state, kept.vector) == (doc.get_update(), doc.get_state())
    assert kept.epoch == "content"


@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_document_follows_every_text_and_is_the_same_when_loaded(texts: list[str]) -> None:
    document = LiveDocument(initial(ContentId("c"), texts[0]), 7)
    for text in texts[1:]:
        before = document.vector_bytes()
        document.edit(edits_between(document.text, text))
        assert document.text == text
        other = LiveDocument(document.stored(), 8)
        assert other.text == text
        assert other.update_since(before) == document.update_since(before)
    assert document.update_since(document.vector_bytes())[:1] == NOTHING[:1]


@pytest.mark.parametrize("identifiers", [("a", "b"), ("", "0"), ("01900000", "01900001")])
def test_clients_of_identifiers_differ_and_are_held_by_javascript(
    identifiers: tuple[str, str],
) -> None:
    one, two = map(yjs_client_id_of, identifiers)
    assert one != two
    assert max(one, two) < 1 << 53


class PanicException(BaseException):
    """Simulates a panic of native code, which is not an Exception."""


PanicException.__module__ = "pyo3_runtime"


def raising(error: BaseException) -> Callable[[object, bytes], None]:
    def apply(self: object, update: bytes) -> None:
        raise error

    return apply


@pytest.mark.parametrize(
    "error", [ValueError("bytes"), RuntimeError("state"), PanicException("index out of range")]
)
def test_failure_of_the_library_is_a_refusal(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = LiveDocument(initial(ContentId("c"), "text"), 7)
    monkeypatch.setattr(Doc, "apply_update", raising(error))
    with pytest.raises(DocumentMalformed) as refused:
        document.apply(b"\1")
    assert refused.value.__cause__ is error


def test_exceptions_that_end_the_program_are_not_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    document = LiveDocument(initial(ContentId("c"), "text"), 7)
    monkeypatch.setattr(Doc, "apply_update", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        document.apply(b"\1")


def test_bytes_that_are_no_update_are_refused() -> None:
    document = LiveDocument(initial(ContentId("c"), "text"), 7)
    with pytest.raises(DocumentMalformed):
        document.apply(b"\xff\xff\xff")


def test_updates_are_merged_into_the_document_in_one() -> None:
    base = initial(ContentId("c"), "start")
    device = LiveDocument(base, 7)
    updates: list[bytes] = []
    for word in (" one", " two"):
        before = device.vector_bytes()
        device.edit([Edit(0, 0, word)])
        updates.append(device.update_since(before))
    found = merged(base, updates)
    assert found.epoch == base.epoch
    assert found.vector == device.vector_bytes()
    assert LiveDocument(found, 8).text == LiveDocument(base, 8, updates).text == " two onestart"
    assert merged(base, ()) is base


def test_updates_whose_text_depends_on_their_order_are_not_merged() -> None:
    state = Update([Section(5, 0, [string("ab")]), Section(3, 0, [string("xy", (5, 0))])]).encoded()
    document = StoredDocument(Epoch("e"), state, b"")
    forged = written(20, 0, string("!", None, (3, 1))).encoded()
    assert LiveDocument(document, 9, [forged]).text == "ax!yb"
    with pytest.raises(DocumentMalformed, match="reads differently"):
        merged(document, [forged])

"""The anchors of headings; `test_note` compares them with those that links lead to."""

from octavo.render.note import add_anchors
from octavo.render.parser import parse


def test_headings_get_anchors_that_the_page_does_not_have() -> None:
    tokens = parse("# Main\n\n## A [b](c) #\n\n## A b\n\nMain 1 #\n---\n")
    anchors = add_anchors(tokens)
    ids = [token.attrs["id"] for token in tokens if token.type == "heading_open"]
    assert ids == ["main-1", "a-b", "a-b-1", "main-1-1"]
    assert anchors == {"main": "main-1", "a-b": "a-b", "a-b-1": "a-b-1", "main-1": "main-1-1"}

"""The texts that searches have looked at: within a limit, and no longer than their files."""

from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.features.search.note_search import SearchedTexts
from octavo.features.search.rules import Candidate, Ranked
from octavo.model.search.searched_text import SearchedText


def found(name: str, text: str | None) -> Ranked:
    """What a search has found, whose text it looked at unless that is None."""
    candidate = Candidate(
        WorkspaceId("w"), FileId(name), RevisionId(f"{name}-1"), f"{name}.md", 0, text
    )
    return Ranked(candidate, 1.0, SearchedText.of(text or ""))


def test_texts_that_were_looked_at_are_known_and_others_are_not() -> None:
    texts = SearchedTexts()
    texts.keep_found([found("a", "# Tide\nred"), found("b", None)], texts.generation)
    assert {name: each.title for name, each in texts.contents.items()} == {"a-1": "Tide"}


def test_texts_that_were_looked_at_longest_ago_make_room() -> None:
    texts = SearchedTexts(max_bytes=2_500)
    for name in ("a", "b"):
        texts.keep_found([found(name, "x" * 200)], texts.generation)
    texts.keep_found([found("a", "x" * 200)], texts.generation)
    assert [*texts.contents] == ["b-1", "a-1"]
    texts.keep_found([found("c", "x" * 600)], texts.generation)
    assert [*texts.contents] == ["a-1", "c-1"]
    texts.keep_found([found("d", "x" * 2_000)], texts.generation)
    assert [*texts.contents] == []


def test_cleared_texts_do_not_come_back_from_a_search_under_way() -> None:
    texts = SearchedTexts()
    begun = texts.generation
    texts.keep_found([found("a", "red")], begun)
    texts.clear()
    texts.keep_found([found("b", "red")], begun)
    assert not texts.contents
    texts.keep_found([found("c", "red")], texts.generation)
    assert [*texts.contents] == ["c-1"]


def test_no_text_is_known_without_room() -> None:
    texts = SearchedTexts(max_bytes=0)
    texts.keep_found([found("a", "")], texts.generation)
    assert not texts.contents

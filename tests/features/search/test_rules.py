"""Ranking of the files that match a query, and their snippets."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import FileId, RevisionId, WorkspaceId

from octavo.features.search.rules import Candidate, Finder, finders_of, ranked, snippets_of
from octavo.model.label import MAX_MARKS
from octavo.model.search.query import InvalidQuery, parse_query
from octavo.model.search.searched_text import SearchedText
from octavo.model.search.tokens import folded, tokens_of
from tests.fakes.normalization import watch

GRAVE, BELOW = "\u0300", "\u0316"
FILLER = "Other words stand here, and go on for a while. " * 10


def candidate(path: str, text: str | None, changed_at: int = 0) -> Candidate:
    return Candidate(WorkspaceId("w"), FileId(path), RevisionId("r"), path, changed_at, text)


def order(query: str, *files: Candidate) -> list[str]:
    return [each.candidate.path for each in ranked(files, finders_of(parse_query(query)))]


def test_title_ranks_before_name_and_name_before_text() -> None:
    files = [
        candidate("text.md", f"{FILLER} tide"),
        candidate("tide.md", FILLER),
        candidate("title.md", f"# Tide\n{FILLER}"),
        candidate("heading.md", f"# A\n## Tide\n{FILLER}"),
    ]
    assert order("tide", *files) == ["title.md", "tide.md", "heading.md", "text.md"]


def test_more_occurrences_in_a_shorter_text_rank_first() -> None:
    files = [
        candidate("long.md", FILLER * 20 + "tide"),
        candidate("short.md", "tide"),
        candidate("often.md", "tide tide tide"),
    ]
    assert order("tide", *files) == ["often.md", "short.md", "long.md"]


def test_words_near_each_other_rank_first() -> None:
    files = [
        candidate("far.md", f"red {FILLER} tide"),
        candidate("near.md", f"red tide {FILLER}"),
    ]
    assert order("red tide", *files) == ["near.md", "far.md"]


def test_newest_of_equals_ranks_first() -> None:
    files = [candidate("old.md", "tide", 1), candidate("new.md", "tide", 2)]
    assert order("tide", *files) == ["new.md", "old.md"]


def test_file_with_an_unread_text_is_ranked_by_its_path() -> None:
    files = [candidate("a.md", None), candidate("tide.md", None)]
    assert order("tide", *files) == ["tide.md", "a.md"]


def shown(text: str, query: str) -> list[str]:
    """The snippets, with [] round the marked words."""
    lines = []
    for snippet in snippets_of(SearchedText.of(text), finders_of(parse_query(query))):
        line, at = "", 0
        for start, end in snippet.marks:
            line += f"{snippet.text[at:start]}[{snippet.text[start:end]}]"
            at = end
        lines.append(line + snippet.text[at:])
    return lines


@pytest.mark.parametrize(
    ("text", "query", "snippets"),
    [
        ("The Tide is high.", "tide", ["The [Tide] is high."]),
        ("tides and riptide", "tid*", ["[tides] and riptide"]),
        ("a\n\n  red,\ntide  b", '"red tide"', ["a [red, tide] b"]),
        ("red tide", "tide red", ["[red] [tide]"]),
        ("Straße und Cafe\u0301", "strasse cafe", ["[Straße] und [Café]"]),
        ("ﬁx it", "fix", ["[ﬁx] it"]),
        ("私は東京都に住む", "東京", ["私は[東京]都に住む"]),
        ("私は東京都に住む", "都", ["私は東京[都]に住む"]),
        ("<b>tide</b>", "tide", ["<b>[tide]</b>"]),
        ("nothing", "tide", []),
        ("x  tide", "tide", ["x [tide]"]),
        (" tide ", "tide", ["[tide]"]),
    ],
)
def test_snippet_shows_the_text_with_its_hits_marked(
    text: str, query: str, snippets: list[str]
) -> None:
    assert shown(text, query) == snippets


def test_snippet_of_a_text_with_long_mark_runs_needs_no_normalization(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = watch(monkeypatch, MAX_MARKS)
    text = "red a" + GRAVE * 40_000 + BELOW * 40_000 + " tide"
    assert shown(text, "red tide") == ["[red] à" + GRAVE * 29 + " [tide]"]
    assert runs.longest == MAX_MARKS


def test_snippets_are_short_disjoint_and_at_most_three() -> None:
    text = "  ".join(f"{FILLER}tide {number} {FILLER}" for number in range(6))
    found = snippets_of(SearchedText.of(text), finders_of(parse_query("tide")))
    assert len(found) == 3
    for snippet in found:
        assert len(snippet.text) <= 200
        assert not snippet.text.startswith("ther")


def test_snippet_with_more_words_together_is_shown_first() -> None:
    text = f"red {FILLER} red {FILLER} red {FILLER} tide {FILLER} red tide {FILLER}"
    assert any("[red] [tide]" in line for line in shown(text, "red tide"))


WORDS = st.lists(
    st.sampled_from(["red", "tide", "tides", "東京都", "京", "é", "GPT模型"]), max_size=6
)


@given(WORDS, WORDS)
def test_finder_agrees_with_the_tokens(text: list[str], phrase: list[str]) -> None:
    whole, asked = " ".join(text), " ".join(phrase)
    try:
        [clause] = parse_query(f'"{asked}"').clauses
    except InvalidQuery:
        return
    tokens = tokens_of(whole)
    wanted = list(clause.tokens)

    def matches(at: int) -> bool:
        some = tokens[at : at + len(wanted)]
        if len(some) < len(wanted) or some[:-1] != wanted[:-1]:
            return False
        return some[-1].startswith(wanted[-1]) if clause.prefix else some[-1] == wanted[-1]

    expected = any(matches(at) for at in range(len(tokens)))
    found = Finder(clause).first(folded(whole)) is not None
    assert found or not expected


@given(st.text(max_size=200), st.text(min_size=1, max_size=20))
def test_marks_are_within_their_snippet(text: str, asked: str) -> None:
    try:
        query = parse_query(asked)
    except InvalidQuery:
        return
    for snippet in snippets_of(SearchedText.of(text), finders_of(query)):
        ends = 0
        for start, end in snippet.marks:
            assert ends <= start < end <= len(snippet.text)
            ends = end


@pytest.mark.parametrize(
    "unit", ["a", "a ", "東", "é", "東a", "\n# ", " ", "\u0300\u0316", "\ufdfa"]
)
def test_large_text_takes_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    query = parse_query('"a a" a東 東京 a*')
    begun = time.process_time()
    tokens_of(text)
    ranked([candidate("a.md", text)], finders_of(query))
    snippets_of(SearchedText.of(text), finders_of(query))
    assert time.process_time() - begun < 20

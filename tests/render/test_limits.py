"""The limits of the grammar: what they refuse, by which name, and what they accept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.clients import corpus
from octavo.model.refusal import UnrenderableNote
from octavo.model.text_bounds import TextBounds
from octavo.render import limits
from octavo.render.limits import LIMITS, MEANINGS, check_changed, check_renderable
from octavo.render.parser import parse
from tests.fakes.pathological_notes import limit_of, nested, readmes, table


@pytest.mark.parametrize(
    ("limit", "maximum", "over"),
    [
        ("length", ("a" * 99 + "\n") * 20_971, ("a" * 99 + "\n") * 20_972),
        ("length", ("é" * 99 + "\n\n") * 10_485, ("é" * 99 + "\n\n") * 10_486),
        ("length", ("🦉" * 24 + "\n") * 21_620, ("🦉" * 24 + "\n") * 21_621),
        ("line_length", "a" * LIMITS["line_length"], "a" * (LIMITS["line_length"] + 1)),
        ("lines", "a\n\n" * LIMITS["lines"], "a\n\n" * (LIMITS["lines"] + 1)),
        ("nesting", ">" * LIMITS["nesting"], ">" * (LIMITS["nesting"] + 1)),
        ("nesting", "- " * LIMITS["nesting"] + "a", "- " * (LIMITS["nesting"] + 1) + "a"),
        ("nesting", nested(LIMITS["nesting"]), nested(LIMITS["nesting"] + 1)),
        ("nesting", "1. > " * 12 + "a", "1. > " * 13 + "a"),
        ("nested_lines", ">" * 20 + "a\n" * 7400, ">" * 20 + "a\n" * 7600),
        ("delimiters", "*a* " * 50_000, "*a* " * 50_001),
        ("delimiters", "~_" * 50_000, "~_" * 50_001),
        ("links", "[a](b) " * LIMITS["links"], "[a](b) " * (LIMITS["links"] + 1)),
        ("links", "![" * LIMITS["links"], "![" * (LIMITS["links"] + 1)),
        (
            "references",
            "[a]: /b\n" * LIMITS["references"],
            "[a]: /b\n" * (LIMITS["references"] + 1),
        ),
        ("table_cells", table(100, 590), table(100, 610)),
        ("markup", "]" * 1_000_000, "]" * 400_000 + "\n" + "]" * 900_000),
        ("markup", "=" * 800_000, ("=" * 450_000 + "\n") * 2),
        ("markup", "<" * 70_000, "<" * 75_000),
    ],
)
def test_note_over_a_limit_is_refused_by_the_name_of_the_limit(
    limit: str, maximum: str, over: str
) -> None:
    assert limit_of(maximum) is None
    assert limit_of(over) == limit


def test_refusal_has_the_limit_its_maximum_and_the_actual_value() -> None:
    with pytest.raises(UnrenderableNote) as refused:
        check_renderable(">" * 30)
    refusal = refused.value
    assert (refusal.limit, refusal.maximum, refusal.found) == ("nesting", LIMITS["nesting"], 30)
    assert refusal.detail == (
        "The note is too complex: it has 30 levels of nested lists and quotes; at most 24 are"
        " allowed. Nest less deeply."
    )
    assert refusal.code == "unrenderable_note"


def test_each_limit_has_a_meaning() -> None:
    assert list(LIMITS) == list(MEANINGS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- [ ] a task of many, and [a link](note.md)\n" * 10_000,
        "| a | b | c | d |\n|---|---|---|---|\n" + "| 1 | 2 | 3 | 4 |\n" * 10_000,
        "![photo](data:image/png;base64," + "QUJD" * 200_000 + ")\n",
        "```json\n" + '{"a": [1, 2, {"b_c": "*"}], "d": [[[]]]},' * 20_000 + "\n```\n",
        "~~~\n" + "> > > > > > " * 20 + "\n" * 200_000 + "*" * 200_000 + "\n~~~\n",
        "* * *\n" + "* " * 60 + "\n" + "- " * 60 + "\n",
        "=" * 80 + "\n" + "-" * 2000 + "\n" + "#" * 200 + "\n",
        "Text of a paragraph,\nwrapped by hand.\n\n" * 20_000,
        "a line of prose in a diary\r\n" * 70_000,
        "- a\n    - b\n        - c\n            - d\n" * 2000,
        "".join(f"[{version}]: https://example.org/{version}\n" for version in range(5000)),
        "日本語の長い段落です。" * 60_000,
    ],
)
def test_ordinary_note_is_accepted_however_long(text: str) -> None:
    check_renderable(text)


def test_readmes_of_the_installed_packages_are_accepted_alone_and_together() -> None:
    texts = list(readmes())
    assert len(texts) > 20
    for text in texts:
        check_renderable(text)
    check_renderable("\n\n".join(texts)[:400_000])


@pytest.mark.parametrize(
    "fence",
    [
        "```\n{}\n```\n",
        "~~~~ python\n{}\n~~~~~\n",
        "````\n```\n{}\n````\n",
        "   \n```\n{}\n   ```  \n",
        "  ```\n{}\n ```\n",
        "- a\n\nb\n   ```\n{}\n```\n",
        "- a\n```\n{}\n```\n",
        "```\n{}",
        "~~~ `a`\n{}\n~~~\n",
    ],
)
def test_signs_in_fenced_code_are_not_counted(fence: str) -> None:
    check_renderable(fence.format("[" * 30_000))


@pytest.mark.parametrize(
    "text",
    [
        "```\n```\n{}\n",
        "``` `a\n{}\n```\n",
        "- a\n  ```\n{}\n  ```\n",
        "   ```\n```\n{}",
        "```\n~~~\n```\n{}\n~~~\n",
        "```\n```\t\n{}",
        "> ```\n{}\n> ```\n",
        "    ```\n{}\n    ```\n",
        "````\n``````\n{}\n",
        "a ```\n{}\n```\n",
    ],
)
def test_signs_outside_of_fenced_code_are_counted(text: str) -> None:
    assert limit_of(text.format("[" * 30_000)) == "links"


@pytest.mark.parametrize(
    "text", ["```\n    ```\n{}", "```\n``` a\n{}", "```\n~~~\n{}", "~~~\n\t~~~\n{}"]
)
def test_line_that_does_not_end_a_fence_leaves_its_code_uncounted(text: str) -> None:
    check_renderable(text.format("[" * 30_000))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_limits_count_equally_with_any_line_ending(ending: str) -> None:
    assert limit_of(nested(LIMITS["nesting"]).replace("\n", ending)) is None
    assert limit_of(nested(LIMITS["nesting"] + 1).replace("\n", ending)) == "nesting"


SIGNS = st.text(st.sampled_from("ab \n\t>-*+1.)[]()|`~_:#=\r&;<!\\"), max_size=200)
LINES = st.sampled_from(
    [
        *("```", "````", "~~~", "   ```", "    ```", "``` a", "``` `", "~~~ `", "\t~~~", "```\t"),
        *("> ```", "- ```", "- a", "> a", "  a", "", " ", ">", "[a]", "[a]: b", "[a]: b 'c", "c'"),
        *("a|b|c", "|-|-|-|", "-|-|-", "  |:-:|-|-|", "> a|b", "> -|-", "- a|b", "  -|-", "* * *"),
        *(
            "1. a",
            "    - b",
            "      > c",
            "- - - a",
            "> - > a",
            "\t- a",
            "  * b",
            "a",
            "===",
            "---",
        ),
    ]
)
NOTES = st.lists(LINES, max_size=30).map("\n".join)


def marked(text: str) -> str:
    """The text in the form that the check's functions take."""
    return "\n" + text.replace("\r", "\n") + "\n"


@given(SIGNS, st.integers(1, 400))
def test_text_cleared_by_the_cheap_counts_exceeds_no_limit(text: str, times: int) -> None:
    whole = marked(text * times)
    bounds = limits._counted(whole)
    if bounds is not None and limits._are_small(bounds, whole):
        found = dict(limits._found(whole))
        assert all(figure <= LIMITS[limit] for limit, figure in found.items())


@given(SIGNS, st.integers(1, 400))
def test_text_that_is_plainly_small_is_cleared_by_the_cheap_counts(text: str, times: int) -> None:
    repeated = text * times
    if limits.is_plainly_small(repeated):
        counted = limits._counted(f"\n{repeated}\n")
        assert counted is not None
        assert limits._are_small(counted, repeated)


@pytest.mark.parametrize(
    ("text", "small"),
    [
        ("", True),
        ("# A\n\n- b\n  - [c](d.md)\n\n| a | b |\n|---|---|\n", True),
        ("\t" * 9 + "- a", True),
        ("\t" * 10 + "- a", False),
        (" " * 40 + "a\n" + "\t" * 40 + "b", True),
        ("a\n" + "> " * 6 + "b", False),
        ("a\r\n", False),
        ("|" * 199 + "\n" * 98, True),
        ("|" * 199 + "\n" * 99, False),
        ("\n" * 1_664, True),
        ("\n" * 1_665, False),
        ("a" * 19_998, True),
        ("a" * 19_999, False),
    ],
)
def test_what_is_plainly_small(text: str, small: bool) -> None:
    assert limits.is_plainly_small(text) is small


def test_most_notes_are_plainly_small() -> None:
    assert all(limits.is_plainly_small(corpus.note(2_000, 10, seed)) for seed in range(50))


@given(NOTES)
def test_only_fenced_code_is_left_out_of_the_count(text: str) -> None:
    counted = limits._without_code(marked(text))
    inline_text = "".join(token.content for token in parse(text) if token.type == "inline")
    assert all(inline_text.count(sign) <= counted.count(sign) for sign in "[abc*|")


@given(NOTES, st.integers(1, 3))
def test_parser_finds_no_more_than_was_counted(text: str, times: int) -> None:
    whole = f"{text}\n" * times
    tokens = parse(whole)
    with pytest.MonkeyPatch.context() as patch:
        # Estimates that hold for few are rougher than those for many.
        patch.setattr(limits, "_FEW", 0)
        found = dict(limits._found(limits._without_code(marked(whole))))
    containers = [token for token in tokens if token.type.startswith(("blockquote", "list_item"))]
    deepest = depth = lines = 0
    for token in containers:
        depth += token.nesting
        deepest = max(deepest, depth)
        lines += token.map[1] - token.map[0] if token.map is not None else 0
    assert deepest <= found["nesting"]
    assert lines <= found["nested_lines"]
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    assert cells <= found["table_cells"]


PIECES = st.sampled_from(["a", "\n", "- ", "> ", "|", "|-|-|\n", "[", "*", "\r\n", "\t", "é"])
MARKUP = st.lists(PIECES, max_size=12).map("".join)


@given(MARKUP, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), MARKUP), max_size=6))
def test_changed_text_is_checked_like_a_whole_one(
    text: str, edits: list[tuple[float, int, str]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "_FEW", 12)
        low = {"nesting": 3, "lines": 12, "links": 12, "delimiters": 12, "nested_lines": 24}
        patch.setattr(limits, "LIMITS", {**LIMITS, **low, "table_cells": 12})
        bounds = None
        if limit_of(text) is None:
            bounds = check_changed(text)
        for place, deleted, inserted in edits:
            at = int(place * len(text))
            changed = text[:at] + inserted + text[at + deleted :]
            if limit_of(changed) is not None:
                with pytest.raises(UnrenderableNote) as refused:
                    check_changed(changed, text, bounds)
                assert refused.value.limit == limit_of(changed)
                continue
            bounds = check_changed(changed, text, bounds)
            text = changed
            whole = check_changed(text)
            if bounds is not None and whole is not None:
                assert all(bound >= count for bound, count in zip(bounds, whole, strict=True))


def test_changed_line_is_counted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "- a line of prose\n" * 5_000
    bounds = check_changed(text)
    assert bounds is not None
    counted: list[int] = []

    def noted(lines: int, *others: int) -> TextBounds:
        counted.append(lines)
        return TextBounds(lines, *others)

    monkeypatch.setattr(limits, "TextBounds", noted)
    changed = f"{text[:50_000]}[more](a.md){text[50_000:]}"
    again = check_changed(changed, text, bounds)
    assert again is not None
    assert again.levels == bounds.levels
    # The line feeds around the line, and around what is counted.
    assert counted == [4]
    with pytest.raises(UnrenderableNote, match="31 levels"):
        check_changed("> " * 30 + changed, changed, again)

"""Formulas: where they begin and end, and that nothing of them is HTML."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.render.allowed import clean
from octavo.render.formulas import LONGEST_FORMULA, MAX_FORMULA_DEPTH, mathml
from octavo.render.note import render_note
from octavo.render.parser import parse
from octavo.render.renderer import MAX_FORMULAS


def formulas(text: str) -> list[str]:
    tokens = [each for token in parse(text) for each in (token, *(token.children or ()))]
    return [token.content for token in tokens if token.type.startswith("formula")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$a$ and $b$", ["a", "b"]),
        ("$$a$$ b", ["a"]),
        ("x $$\na\n$$", ["a"]),
        ("$$\n- a\n+ b\n$$", ["- a\n+ b"]),
        ("- $$\n  a\n  $$\n- b", ["a"]),
        ("$$a\n\nb$$", []),
        ("- $$a\n- b$$", []),
        ("$5 and $6", []),
        ("5$ and 6$", []),
        ("US$5, CA$6", []),
        (r"\$a$", []),
        (r"$a\$b$", [r"a\$b"]),
        ("`$a$`", []),
        ("$ a $", []),
        ("$", []),
        ("$$", []),
        ("$$$$", []),
    ],
)
def test_formulas_are_between_dollars_that_are_not_money(text: str, found: list[str]) -> None:
    assert formulas(text) == found


def test_formula_is_mathml() -> None:
    html = mathml(r"a_1 < \frac{b}{2}", display=True)
    assert html is not None
    assert html.startswith('<math display="block"><mrow><msub><mi>a</mi><mn>1</mn></msub><mo>&lt;')
    assert clean(html) == html.replace("\xa0", "&nbsp;")


@pytest.mark.parametrize(
    "source",
    [
        r"\frac",
        r"\foo{",
        r"\newcommand{\a}{bb}\a",
        r"\def\a{\a\a}\a",
        "a" * (LONGEST_FORMULA + 1),
        "{" * (MAX_FORMULA_DEPTH + 1) + "}" * (MAX_FORMULA_DEPTH + 1),
        "a_1_2",
        r"\frac{1",
        r"\frac{1}",
        r"\sqrt{a}}",
        r"\left( a",
        r"\ce{H2O}",
        r"\begin{unknown}a & b\end{unknown}",
    ],
)
def test_formula_that_is_not_translated_is_shown_as_its_source(source: str) -> None:
    assert mathml(source, display=False) is None
    assert "<math" not in render_note(f"x ${source}$").html


@pytest.mark.parametrize("name", ["aligned", "gathered", "gather", "gather*", "align*", "split"])
def test_lines_of_an_environment_are_lines(name: str) -> None:
    html = mathml(rf"\begin{{{name}}} a = b \\ c = d \end{{{name}}}", display=True)
    assert html is not None
    assert html.count("<mtr>") == 2


def test_ampersand_that_is_meant_is_shown() -> None:
    assert "<mi>&amp;</mi>" in (mathml(r"A \& B", display=False) or "")


@pytest.mark.parametrize(
    "source",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;script&gt;}",
        r"\mbox{<img src=x onerror=a>}",
        r"\color{red\" onclick=\"a}b",
        r"\href{javascript:a}{b}",
        r"\rule{1em\"x}{2em}",
        r"\operatorname{<b>}",
        "<script>a</script>",
        r"\class{a}{b}\style{c}{d}",
    ],
)
def test_formula_never_becomes_html(source: str) -> None:
    html = mathml(source, display=False) or ""
    assert not re.search("<(?:script|img|b)|onclick=|href=", html)
    assert clean(html) == html.replace("\xa0", "&nbsp;")


@given(
    st.lists(
        st.sampled_from(
            [
                *"ab{}_^&<>\"'\\ 1+()[]",
                r"\frac",
                r"\text{",
                r"\left(",
                r"\right",
                r"\begin{matrix}",
                r"\end{matrix}",
                r"\color{",
                r"\sqrt",
                r"\sum",
                r"\\",
                "&lt;",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_formula_is_as_the_sanitiser_leaves_it(source: str) -> None:
    html = mathml(source, display=True) or ""
    assert clean(html) == html.replace("\xa0", "&nbsp;")


def test_a_note_has_a_limited_number_of_translated_formulas() -> None:
    assert render_note("$a$ " * (MAX_FORMULAS + 10)).html.count("<math") == MAX_FORMULAS

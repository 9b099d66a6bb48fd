"""Differences between revisions: unified diffs that apply, and words that lose nothing."""

import shutil
import subprocess
from html.entities import html5
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from octavo_rules import difference
from octavo_rules.difference import words_of

from octavo.features.history.rules import revision_diff
from octavo.features.history.rules.revision_diff import (
    ChangedHunk,
    ChangedLine,
    ChangedPiece,
    ended_alike,
    first_hunks,
    unified,
    unified_text,
    words,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "é", "日本", "", "x\r", "a\rb", "-- a", "\\ b"]))
TEXTS = st.builds(lambda lines, last: "\n".join(lines) + last, LINES, st.sampled_from(["", "\n"]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with lines in common."""
    parts = draw(st.lists(st.tuples(TEXTS, TEXTS, st.booleans()), max_size=4))
    return (
        "".join(first for first, _, _ in parts),
        "".join(first if same else second for first, second, same in parts),
    )


def side(hunk: ChangedHunk, kind: str) -> list[str]:
    return [line.text for line in hunk.lines if line.kind in ("context", kind)]


def patched(old: str, hunks: list[ChangedHunk]) -> str:
    """Apply the hunks by the rules of the format."""
    lines = old.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    done, made = 0, list[str]()
    for hunk in hunks:
        start = hunk.old_start - (hunk.old_lines > 0)
        assert start >= done
        made += lines[done:start]
        assert len(made) == hunk.new_start - (hunk.new_lines > 0)
        assert side(hunk, "removed") == lines[start : start + hunk.old_lines]
        assert len(side(hunk, "added")) == hunk.new_lines
        made += side(hunk, "added")
        done = start + hunk.old_lines
    return "".join(made + lines[done:])


@given(pairs(), st.integers(0, 4))
@example(("a", "a\n"), 3)
@example(("", "a"), 0)
def test_hunks_turn_the_old_text_into_the_new_one(pair: tuple[str, str], context: int) -> None:
    old, new = pair
    assert patched(old, unified(old, new, context=context)) == new


@given(pairs(), st.integers(0, 4))
def test_hunks_are_separate_and_have_no_more_context_than_requested(
    pair: tuple[str, str], context: int
) -> None:
    hunks = unified(*pair, context=context)
    for before, after in pairwise(hunks):
        assert before.old_start + before.old_lines <= after.old_start + (after.old_lines == 0)
    for hunk in hunks:
        kinds = [line.kind == "context" for line in hunk.lines]
        changed = [place for place, same in enumerate(kinds) if not same]
        assert changed[0] <= context
        assert len(kinds) - 1 - changed[-1] <= context


@given(TEXTS)
def test_equal_texts_have_neither_hunks_nor_changed_words(text: str) -> None:
    assert unified(text, text) == []
    assert unified_text([], "a", "b") == ""
    assert words(text, text) == ([ChangedPiece("equal", text)] if text else [])


def test_hunk_has_its_lines_with_their_kinds() -> None:
    old = "".join(f"{number}\n" for number in range(20))
    assert unified(old, old.replace("10\n", "ten\n").replace("12\n", ""), context=2) == [
        ChangedHunk(
            9,
            7,
            9,
            6,
            (
                ChangedLine("context", "8\n"),
                ChangedLine("context", "9\n"),
                ChangedLine("removed", "10\n"),
                ChangedLine("added", "ten\n"),
                ChangedLine("context", "11\n"),
                ChangedLine("removed", "12\n"),
                ChangedLine("context", "13\n"),
                ChangedLine("context", "14\n"),
            ),
        )
    ]


def test_unified_text_has_the_format_of_gnu_diff() -> None:
    text = unified_text(unified("a\nb\nc", "a\nB\nc\n", context=1), "old.md", "new note.md")
    assert text == (
        "--- old.md\n+++ new note.md\t\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n\\ No newline at end of file\n"
        "+B\n+c\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "ranges"),
    [("", "a\n", "-0,0 +1"), ("a\n", "", "-1 +0,0"), ("a\nb\n", "a\nx\nb\n", "-1,0 +2")],
)
def test_unified_text_gives_an_empty_side_the_previous_line_number(
    old: str, new: str, ranges: str
) -> None:
    assert f"@@ {ranges} @@" in unified_text(unified(old, new, context=0), "a", "b")


@pytest.mark.parametrize(
    ("name", "written"),
    [("a.md", "a.md"), ("ä.md", "ä.md"), ("a b", "a b\t"), ("a\nb", '"a\\nb"'), ('"', '"\\""')],
)
def test_unified_text_quotes_a_name_that_would_break_its_line(name: str, written: str) -> None:
    assert unified_text(unified("", "x\n"), name, name).startswith(
        f"--- {written}\n+++ {written}\n"
    )


def test_lines_over_the_limit_are_shown_as_one_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(revision_diff, "MAX_LINES", 2)
    [hunk] = unified("a\n", "a\nb\nc\nd\n")
    assert hunk == ChangedHunk(
        1, 1, 1, 4, (ChangedLine("context", "a\n"), ChangedLine("added", "b\nc\nd\n"))
    )
    assert unified_text([hunk], "a", "b").endswith("\n a\n+b\n+c\n+d\n")


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the program patch")
@settings(max_examples=60)
@given(pairs(), st.integers(0, 3))
def test_unified_text_is_accepted_by_patch(pair: tuple[str, str], context: int) -> None:
    old, new = pair
    with TemporaryDirectory() as folder:
        file = Path(folder, "a note.md")
        file.write_bytes(old.encode())
        text = unified_text(unified(old, new, context=context), "a note.md", "a note.md")
        done = subprocess.run(
            ["patch", "--posix", "--silent", "--no-backup-if-mismatch", file.name],
            input=text.encode(),
            cwd=folder,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, b"") or text == ""
        assert (file.read_bytes() if file.exists() else b"") == new.encode()


@given(pairs())
@example(("a\r\nb\r", "a\nb\r\r\n"))
def test_pieces_concatenate_to_both_texts(pair: tuple[str, str]) -> None:
    old, new = pair
    pieces = words(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == old
    kinds = [piece.kind for piece in pieces]
    assert all(kind != following for kind, following in pairwise(kinds))
    assert ("added", "removed") not in pairwise(kinds)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a red car", "a blue car", "a -red+blue= car"),
        ("one two three", "1 2 three", "-one two+1 2= three"),
        ("Hello, world", "Hello world", "Hello-,= world"),
        ("今日は雨", "今日は晴", "今日は-雨+晴"),
        ("कि की", "कि कु", "कि -की+कु"),
        ("a\nb\n", "a\r\nb\n", "a-\n+\r\n=b\n"),
        ("[a](b%20c.md)", "[a](b%2Fc.md)", "[a](b-%20+%2F=c.md)"),
        ("x &lt; y", "x &gt; y", "x -&lt;+&gt;= y"),
        ("same\n\nnew day\n", "same\n\nold day\n", "same\n\n-new+old= day\n"),
    ],
)
def test_words_are_shown_whole_and_signs_one_by_one(old: str, new: str, expected: str) -> None:
    marks = {"equal": "=", "removed": "-", "added": "+"}
    assert (
        "".join(marks[kind] + text for kind, text in words(old, new)).removeprefix("=") == expected
    )


@given(st.text())
def test_splitting_into_words_loses_nothing(text: str) -> None:
    assert "".join(words_of(text)) == text


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("don't stop", ["don", "'", "t", " ", "stop"]),
        ("e\u0301a  b\r\n\n", ["e\u0301a", "  ", "b", "\r\n", "\n"]),
        ("漢字かな", ["漢", "字", "か", "な"]),
        ("한국", ["한", "국"]),
        ("👩\u200d👧!", ["👩\u200d", "👧", "!"]),
        ("a%20b", ["a", "%20", "b"]),
        ("%C3%A9t%C3%a9", ["%C3%A9", "t", "%C3%a9"]),
        ("%F0%9F%A6%89%20%41", ["%F0%9F%A6%89", "%20", "%41"]),
        ("100%, 5%2", ["100", "%", ",", " ", "5", "%", "2"]),
        ("salt&nbsp;&amp;&#233;&#xE9;", ["salt", "&nbsp;", "&amp;", "&#233;", "&#xE9;"]),
        (
            "R&D; a&b &; &#x; &amp",
            [*"R&D;", " ", *"a&b", " ", *"&;", " ", *"&#x;", " ", "&", "amp"],
        ),
        ("&amp;\u0301", ["&amp;\u0301"]),
    ],
)
def test_words_are_split_as_a_reader_would(text: str, cut: list[str]) -> None:
    assert words_of(text) == cut


ESCAPES = st.one_of(
    st.characters(exclude_categories=["Cs"]).map(
        lambda each: "".join(f"%{byte:02X}" for byte in each.encode())
    ),
    st.sampled_from([*html5]).filter(lambda name: name.endswith(";")).map("&{}".format),
    st.integers(1, 0x10FFFF).map("&#{};".format),
    st.integers(1, 0x10FFFF).map("&#x{:x};".format),
)


@given(ESCAPES, st.text("a.-/ \n", max_size=4), st.text("a.-/ \n", max_size=4))
def test_escape_is_one_word_wherever_it_is(escape: str, before: str, after: str) -> None:
    assert escape in words_of(f"{before}{escape}{after}")


@given(st.lists(ESCAPES | st.text("ab", max_size=2)), st.lists(ESCAPES | st.text("ab", max_size=2)))
def test_no_piece_ends_within_an_escape(old: list[str], new: list[str]) -> None:
    # The spaces keep the escapes apart.
    pieces = words(" ".join(old), " ".join(new))
    for tokens, other in ((old, "added"), (new, "removed")):
        inside, start = set(), 0
        for token in tokens:
            if token.startswith(("%", "&")):
                inside |= {*range(start + 1, start + len(token))}
            start += len(token) + 1
        at = accumulate(len(each.text) for each in pieces if each.kind != other)
        assert inside.isdisjoint(at)


@pytest.mark.parametrize("allowed", [0, 1 << 14, 1 << 16])
@given(pair=pairs())
def test_diffs_over_the_work_budget_are_coarser_and_correct(
    allowed: int, pair: tuple[str, str]
) -> None:
    old, new = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(difference, "MAX_WORK", allowed)
        assert patched(old, unified(old, new)) == new
        pieces = words(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == new


@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=12))
def test_lines_that_differ_in_their_end_alone_are_unchanged(old: str, new: str) -> None:
    given = [line for hunk in unified(old, new, context=100) for line in hunk.lines]
    lines = ended_alike(given)
    # Each text is there, but for the line feed at its end.
    for kind, text in (("removed", old), ("added", new)):
        found = "".join(each.text for each in lines if each.kind in ("context", kind))
        assert not given or found.rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("a", "a\nb", ["context", "added"]),
        ("a\nb", "a", ["context", "removed"]),
        ("a", "a\n", ["context"]),
        ("x\na", "y\na\n", ["removed", "added", "context"]),
        ("a", "b\n", ["removed", "added"]),
    ],
)
def test_line_that_gained_or_lost_its_end_is_context(old: str, new: str, kinds: list[str]) -> None:
    [hunk] = unified(old, new)
    assert [each.kind for each in ended_alike(hunk.lines)] == kinds


@given(st.text("ab\n", max_size=20), st.text("ab\n", max_size=20), st.integers(1, 9))
def test_first_lines_are_as_many_as_asked_for_and_the_first_of_each_kind(
    old: str, new: str, most: int
) -> None:
    every = [line for hunk in unified(old, new, context=1) for line in hunk.lines]
    shown = first_hunks(old, new, most, context=1)
    lines = [line for hunk in shown.hunks for line in hunk.lines]
    assert len(lines) == min(most, len(every))
    assert shown.cut is (len(lines) < len(every))
    for kind in ("context", "removed", "added"):
        of_kind = [line for line in lines if line.kind == kind]
        assert of_kind == [line for line in every if line.kind == kind][: len(of_kind)]


def test_change_that_is_cut_has_lines_of_both_texts() -> None:
    old = "".join(f"old {at}\n" for at in range(100))
    new = "".join(f"new {at}\n" for at in range(100))
    [hunk] = first_hunks(old, new, 10).hunks
    assert [line.kind for line in hunk.lines] == ["removed"] * 5 + ["added"] * 5
    [hunk] = first_hunks(old, "new\n", 10).hunks
    assert [line.kind for line in hunk.lines] == ["removed"] * 9 + ["added"]

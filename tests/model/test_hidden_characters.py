"""Hidden characters: one rule for the names of files and for labels."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.oauth.rules.client import read_metadata
from octavo.model.files.path import check_path, without_hidden_characters
from octavo.model.label import hidden_fault, is_visible, parse_label, without_hidden
from octavo.model.refusal import InvalidPath

STEERING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = f"{STEERING}\u200b\u2060\u3164\ufeff"
KEPT = "\u200c\u200d\ufe0e\ufe0f\U000e0100"
UNSEEN = f"{KEPT} \xa0\xad\u034f\u115f\u1160\u180e\u2800\u3000\uffa0\U000e0041"

NAMES = st.text(
    st.one_of(
        st.characters(exclude_characters="/", exclude_categories=["Cs"]),
        st.sampled_from(HIDDEN + UNSEEN + "aé.\u0301 "),
    ),
    min_size=1,
    max_size=12,
).map(lambda text: unicodedata.normalize("NFC", text))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def accepted(path: str, kept: str = "") -> bool:
    try:
        check_path(path, kept)
    except InvalidPath:
        return False
    return True


@pytest.mark.parametrize("character", HIDDEN, ids=lambda each: f"U+{ord(each):04X}")
def test_hidden_character_is_refused_in_paths_and_labels(character: str) -> None:
    name = f"a{character}b"
    code = f"contains a character that .* \\(U\\+{ord(character):04X}\\): delete "
    for path in (f"{name}.md", f"{name}/c.md", f"c/{name}/d.md"):
        with pytest.raises(InvalidPath, match=f"^The path {code}"):
            check_path(path)
    with pytest.raises(ValueError, match=f"^The text {code}"):
        parse_label(name, 100)


@pytest.mark.parametrize("text", [*UNSEEN, UNSEEN], ids=ascii)
def test_name_in_which_nothing_is_seen_is_refused(text: str) -> None:
    for path in (f"{text}.md", f"{text}.png", f"a/{text}.md"):
        with pytest.raises(InvalidPath, match="without a visible character"):
            check_path(path)
    with pytest.raises(ValueError, match="visible character is required"):
        parse_label(text, 100)
    client = {"redirect_uris": ["https://program.example/"], "client_name": text}
    assert read_metadata(client).name == "A program without a name"


@pytest.mark.parametrize(
    "name",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\U0001f469\u200d\U0001f52c",
        "\u2764\ufe0f",
        "\u8fbb\U000e0100",
        "\U0001fae8",
        "\u0301",
        "-",
    ],
)
def test_joiners_and_variation_selectors_stay(name: str) -> None:
    check_path(f"{name}/{name}.md")
    assert parse_label(name, 100) == name
    assert without_hidden_characters(f"{name}/{name}.md") == f"{name}/{name}.md"


def test_name_of_a_program_has_no_hidden_characters() -> None:
    client = {"redirect_uris": ["https://program.example/"], "client_name": f"A{HIDDEN}b"}
    assert read_metadata(client).name == "Ab"


@given(NAMES)
def test_a_label_has_a_fault_exactly_if_a_path_has(name: str) -> None:
    hidden = hidden_fault(name) is not None
    assert hidden == any(each in HIDDEN for each in name)
    assert hidden_fault(without_hidden(name)) is None
    if hidden or not is_visible(name):
        assert not accepted(f"{name}.md")
        with pytest.raises(ValueError, match=r"."):
            parse_label(name, 100)


@given(PATHS)
def test_cleaned_path_is_accepted_if_the_path_was(path: str) -> None:
    cleaned = without_hidden_characters(path)
    assert without_hidden_characters(cleaned) == cleaned
    if accepted(path, kept=path):
        assert accepted(cleaned)
    if accepted(path):
        assert cleaned == path


@given(NAMES, PATHS)
def test_names_that_a_file_has_can_be_kept(name: str, folder: str) -> None:
    path = f"{name}.md"
    if accepted(path, kept=path) and accepted(folder):
        assert accepted(f"{folder}/{path}", kept=f"old/{path}")


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        ("a\u200b.md", "a.md"),
        ("\u3164.md", "_.md"),
        ("\u3164/\u200d.png", "_/_.png"),
        ("a.\u200b/b.md", "a/b.md"),
        ("a. \u200b/b.md", "a/b.md"),
        ("con\u2060.md", "_.md"),
        ("e\u200b\u0301.md", "\xe9.md"),
        (".git\ufeff/a.md", ".git/a.md"),
        (" /a.md", "_/a.md"),
        ("/a//b.md", "/a//b.md"),
    ],
)
def test_path_is_cleaned_name_by_name(path: str, cleaned: str) -> None:
    assert without_hidden_characters(path) == cleaned

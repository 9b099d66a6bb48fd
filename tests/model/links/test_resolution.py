"""The target of a link."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.path import LONGEST_SEGMENT, check_path
from octavo.model.links.extraction import LinkKind
from octavo.model.links.resolution import (
    LONGEST_TARGET,
    MAX_MARKS_OF_NAME,
    keys_of_link,
    paths_by_key,
    resolve,
)
from tests.fakes.normalization import watch

PLACES = paths_by_key(
    [
        "home.md",
        "Note.md",
        "a/note.md",
        "a/other.md",
        "a/b/deep.md",
        "b/deep.md",
        "c/deep.md",
        "Ä/é.md",
        "attachments/image.png",
        "attachments/plan",
        "attachments/plan.md",
        "v1.2.md",
    ]
)


@pytest.mark.parametrize(
    ("kind", "target", "at", "found"),
    [
        ("standard", "home.md", "x.md", "home.md"),
        ("standard", "home", "x.md", "home.md"),
        ("standard", "home.md", "a/x.md", None),
        ("standard", "../home.md", "a/x.md", "home.md"),
        ("standard", "../../home.md", "a/x.md", None),
        ("standard", "/home.md", "a/x.md", "home.md"),
        ("standard", "./note.md", "a/x.md", "a/note.md"),
        ("standard", "b/./../note", "a/x.md", "a/note.md"),
        ("standard", "NOTE.md", "a/x.md", "a/note.md"),
        ("standard", "deep.md", "x.md", None),
        ("standard", "attachments/plan", "x.md", "attachments/plan"),
        ("standard", "attachments/plan.md", "x.md", "attachments/plan.md"),
        ("standard", "a/", "x.md", None),
        ("standard", "..", "a/x.md", None),
        ("standard", "v1.2", "x.md", "v1.2.md"),
        ("standard", "a\u0308/e\u0301", "x.md", "Ä/é.md"),
        ("standard", "", "a/x.md", "a/x.md"),
        ("wiki", "note", "x.md", "Note.md"),
        ("wiki", "note", "a/x.md", "a/note.md"),
        ("wiki", "note", "b/x.md", "Note.md"),
        ("wiki", "note.md", "b/x.md", "Note.md"),
        ("wiki", "deep", "x.md", "b/deep.md"),
        ("wiki", "deep", "c/x.md", "c/deep.md"),
        ("wiki", "a/b/deep", "c/x.md", "a/b/deep.md"),
        ("wiki", "b/deep", "a/x.md", "b/deep.md"),
        ("wiki", "b/../note", "a/x.md", "Note.md"),
        ("wiki", "./note", "b/x.md", None),
        ("wiki", "../note", "b/x.md", "Note.md"),
        ("wiki", "/note", "a/x.md", "Note.md"),
        ("wiki", "image.png", "a/x.md", "attachments/image.png"),
        ("wiki", "nothing", "x.md", None),
        ("wiki", "É", "x.md", "Ä/é.md"),
    ],
)
def test_link_leads_to_a_file(kind: LinkKind, target: str, at: str, found: str | None) -> None:
    assert resolve(kind, target, at, PLACES.get) == found


def test_name_leads_to_the_file_in_the_fewest_folders() -> None:
    places = paths_by_key(["a/" * 10 + "tea.md", "b/c/tea.md"])
    assert resolve("wiki", "tea", "x.md", places.get) == "b/c/tea.md"


def test_longest_target_leads_to_a_file_and_a_longer_one_nowhere() -> None:
    target = "./" * (LONGEST_TARGET // 2 - 2) + "home"
    assert len(target) == LONGEST_TARGET
    assert resolve("standard", target, "x.md", PLACES.get) == "home.md"
    assert resolve("standard", f"./{target}", "x.md", PLACES.get) is None


GRAVE, BELOW = "\u0300", "\u0316"


@pytest.mark.parametrize("kind", ["standard", "wiki"])
def test_target_with_more_combining_marks_than_any_name_leads_nowhere(
    kind: LinkKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = watch(monkeypatch, MAX_MARKS_OF_NAME)
    piled = "a" + GRAVE * 1000 + BELOW * 1000
    assert len(piled) <= LONGEST_TARGET
    assert keys_of_link(kind, piled, "x.md") == ()
    assert keys_of_link(kind, f"/b/{piled}", "x.md") == ()
    assert keys_of_link(kind, "a" + GRAVE * 100, "x.md")
    assert runs.longest == 100


@pytest.mark.parametrize("letter", ["a", "\u1f82", "\u0390"])
def test_name_with_the_maximum_of_combining_marks_is_found(letter: str) -> None:
    marks = (LONGEST_SEGMENT - len(f"{letter}.md".encode())) // 2
    path = f"{letter}{BELOW * (marks // 2)}{GRAVE * (marks - marks // 2)}.md"
    path = unicodedata.normalize("NFC", path)
    check_path(path)
    spelled = unicodedata.normalize("NFD", path)
    for target in (path, spelled, spelled.removesuffix(".md")):
        assert resolve("standard", target, "x.md", paths_by_key([path]).get) == path


@given(
    name=st.text("aA\u00df\u00e4\u0308\u0338.~\u1100\u1161 %", min_size=1, max_size=12),
    at=st.sampled_from(["a.md", "x/a.md", "X/\u00c4\u00df/a.md"]),
)
def test_name_has_the_key_of_a_path_there_and_the_name(name: str, at: str) -> None:
    here = keys_of_link("standard", name, at)
    from_root = keys_of_link("standard", f"/{name}", at)
    assert keys_of_link("wiki", name, at) == (*here, *(key[1:] for key in from_root))

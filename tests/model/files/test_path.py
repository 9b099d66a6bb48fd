"""Portable paths, and when two of them are the same place."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.publishing.rules import is_below
from octavo.model.files.path import (
    LONGEST_PATH,
    LONGEST_SEGMENT,
    MAX_SEGMENTS,
    check_path,
    folders_of,
    kind_of,
    parse_folder,
    path_key,
    range_below,
)
from octavo.model.refusal import InvalidPath

SEGMENTS = st.text(min_size=1, max_size=12).map(lambda text: unicodedata.normalize("NFC", text))
PATHS = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join)


def is_valid(path: str) -> bool:
    try:
        check_path(path)
    except InvalidPath:
        return False
    return True


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "Bücher/Über uns.md",
        "日本/メモ.md",
        ".hidden.md",
        "a/b/c/d/e.md",
        " leading.md",
        "console.md",
        "com.md",
        "com10.md",
        "nullable/x.md",
        "x" * LONGEST_SEGMENT,
        "/".join(["x" * 204] * 5),
        "👩\u200d👩\u200d👧.md",
    ],
)
def test_portable_path_is_valid(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "empty"),
        ("/a.md", "starts with a slash"),
        ("a//b.md", "a name in the path is empty"),
        ("a/", "a name in the path is empty"),
        ("./a.md", "“.” is not a file name"),
        ("a/../b.md", "“..” is not a file name"),
        ("a\\b.md", "character “\\”"),
        *((f"a{letter}b.md", f"character “{letter}”") for letter in ':*?"<>|'),
        ("a\0b.md", "U+0000"),
        ("a\nb.md", "U+000A"),
        ("a\x7fb.md", "U+007F"),
        ("a\x85b.md", "U+0085"),
        ("a.", "ends with a dot or a space"),
        ("a /b.md", "ends with a dot or a space"),
        ("CON", "a device"),
        ("nul.md", "a device"),
        ("a/Aux.tar.gz", "a device"),
        ("COM1 .md", "a device"),
        ("lpt³.md", "a device"),
        ("conin$", "a device"),
        ("x" * (LONGEST_SEGMENT + 1), "has 256 bytes; at most 255"),
        ("ä" * 128, "has 256 bytes; at most 255"),
        ("/".join(["x" * 204] * 5) + "x", "1,025 bytes; at most 1,024"),
        ("/".join(["ä" * 102] * 5) + "x", "1,025 bytes; at most 1,024"),
        ("u\u0308.md", "NFC"),
        ("\ud800.md", "surrogate"),
    ],
)
def test_nonportable_path_is_refused_with_the_reason(path: str, fault: str) -> None:
    with pytest.raises(InvalidPath) as refusal:
        check_path(path)
    assert fault in refusal.value.detail


@given(PATHS)
def test_valid_path_is_made_of_valid_names_and_folders(path: str) -> None:
    if is_valid(path):
        assert len(path.encode()) <= LONGEST_PATH
        assert all(is_valid(segment) for segment in path.split("/"))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", "note"),
        ("attachments/a.md", "note"),
        ("attachments/a.png", "attachment"),
        ("a.png", None),
        (".md", None),
        ("a/.md", None),
        ("a.MD", None),
        ("Attachments/a.png", None),
    ],
)
def test_kind_follows_from_the_path(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("one", "other"),
    [("A.md", "a.MD"), ("Straße.md", "STRASSE.md"), ("É.md", "é.md"), ("ΣΑΣ.md", "σας.md")],
)
def test_paths_that_differ_only_in_case_are_one_place(one: str, other: str) -> None:
    assert path_key(one) == path_key(other)


@given(PATHS, PATHS)
def test_keys_are_equal_exactly_by_full_case_folding(one: str, other: str) -> None:
    def folded(text: str) -> str:
        text = unicodedata.normalize("NFD", text)
        return unicodedata.normalize("NFD", text.casefold())

    assert (path_key(one) == path_key(other)) == (folded(one) == folded(other))


@given(PATHS)
def test_key_is_the_same_in_any_unicode_composition(path: str) -> None:
    assert path_key(unicodedata.normalize("NFD", path)) == path_key(path)


@given(PATHS)
def test_folders_of_a_path_are_the_keys_of_its_prefixes(path: str) -> None:
    segments = path.split("/")
    beginnings = ["/".join(segments[:count]) for count in range(1, len(segments))]
    assert list(folders_of(path_key(path))) == [path_key(each) for each in beginnings]


def test_path_of_too_many_names_is_refused() -> None:
    check_path("a/" * (MAX_SEGMENTS - 1) + "b.md")
    with pytest.raises(InvalidPath, match="33 names; at most 32"):
        check_path("a/" * MAX_SEGMENTS + "b.md")


NEIGHBOURS = st.lists(
    st.sampled_from(["tea", "tea0", "tea ", "te", "t", "\U0001f375", "\ufffd"]),
    min_size=1,
    max_size=3,
).map("/".join)


@given(NEIGHBOURS, st.just("") | NEIGHBOURS)
def test_range_has_the_paths_below_a_folder_and_no_others(path: str, folder: str) -> None:
    start, end = range_below(folder)
    assert (start <= path < end) == is_below(path, folder)


@given(PATHS.filter(is_valid))
def test_folder_has_no_slashes_around_it(folder: str) -> None:
    assert {parse_folder(text) for text in (folder, f"{folder}/", f"/{folder}//")} == {folder}


def test_only_nothing_stands_for_all_files() -> None:
    assert parse_folder("") == ""
    with pytest.raises(InvalidPath, match="leave it empty for all files"):
        parse_folder("/")
    with pytest.raises(InvalidPath, match="not a file name"):
        parse_folder("keep/..")

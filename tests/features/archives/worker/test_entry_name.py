"""Names of entries as programs write them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.directory import ZipEntry
from octavo.features.archives.worker.entry_reader import name_of, path_of_name
from tests.fakes.zip_files import unicode_extra

UTF_8 = 0x800


def entry(name: bytes, flags: int = 0, extra: bytes | None = None) -> ZipEntry:
    return ZipEntry(name, None if extra is None else extra[4:], 3, 0, flags, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (entry(b"a.md"), "a.md"),
        (entry("\u00fc.md".encode(), UTF_8), "\u00fc.md"),
        (entry("\u00fc.md".encode()), "\u00fc.md"),
        (entry("\u00fc.md".encode("cp437")), "\u00fc.md"),
        (entry("\u00fc.md".encode("cp437"), UTF_8), "\udc81.md"),
        (entry(b"x", 0, unicode_extra("\u65e5", b"x")), "\u65e5"),
        (entry("\u00fc".encode(), 0, unicode_extra("\u65e5", "\u00fc".encode())), "\u65e5"),
        (entry(b"x", UTF_8, unicode_extra("\u65e5", b"x")), "x"),
        (entry(b"x", 0, unicode_extra("\u65e5", b"y")), "x"),
        (entry(b"x", 0, b"uplo\1"), "x"),
        (entry(b"x", 0, b"uplo"), "x"),
        (entry(b"x", 0, unicode_extra("\u65e5", b"x").replace(b"\1", b"\2", 1)), "x"),
    ],
)
def test_name_is_decoded(found: ZipEntry, name: str) -> None:
    assert name_of(found) == name


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_name_in_utf_8_is_that_name(name: str) -> None:
    assert name_of(entry(name.encode(), UTF_8)) == name


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b.md", "a/b.md"),
        ("a\\b.md", "a/b.md"),
        ("a\\b/c.md", "a\\b/c.md"),
        ("./a.md", "a.md"),
        ("././a.md", "a.md"),
        ("./", "./"),
        (".\\a.md", "a.md"),
        ("../a.md", "../a.md"),
        ("/a.md", "/a.md"),
        ("a\u0308.md", "\u00e4.md"),
        ("\u212b.md", "\u00c5.md"),
        ("a" + "\u0301" * 999, "a" + "\u0301" * 999),
        ("a\u0308" * 3000, "a\u0308" * 3000),
    ],
)
def test_path_of_a_name(name: str, path: str) -> None:
    assert path_of_name(name) == path


@given(st.text("a\u0308\u00e4/.\u1100\u1161", max_size=20))
def test_decomposed_names_are_the_same_path(name: str) -> None:
    decomposed = unicodedata.normalize("NFD", name)
    assert path_of_name(decomposed) == path_of_name(unicodedata.normalize("NFC", name))

"""Notes of an archive: every byte is kept but those of links, and what can't be kept is refused."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.checked_files import checked_notes
from octavo.features.archives.worker.note_check import check_notes
from octavo.features.archives.worker.refusal import ArchiveInvalid
from octavo.features.archives.worker.selection import ExportLayout
from tests.fakes.image_files import samples
from tests.fakes.imported_archives import imported
from tests.fakes.zip_files import Crafted, crafted, surveyed, written


def note(folder: Path, data: bytes, *others: Crafted) -> str:
    return imported(folder, crafted(Crafted("a.md", data), *others)).notes["a.md"]


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_text_is_kept_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert note(tmp_path_factory.mktemp("archive"), text.encode()) == text


def test_record_has_digest_and_size_of_the_text(tmp_path: Path) -> None:
    paths = written(tmp_path, crafted(Crafted("a.md", "ü\r\n".encode()), Crafted("b.md", b"")))
    place, result = surveyed(tmp_path, paths)
    first, second = checked_notes([check_notes(paths, place, *result["note_slices"][0])[0]])
    assert (first.size, second.size) == (4, 0)
    assert first.digest == hashlib.sha256("ü\r\n".encode()).hexdigest()
    assert second.digest == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"ab\xff", "a.md: It is not UTF-8: byte 3 is not."),
        ("ä".encode("latin-1"), "byte 1 is not"),
        ("text".encode("utf-16"), "It is not UTF-8"),
        (b"\xed\xa0\x80", "It is not UTF-8"),
        (b"a\0b", "a.md: The text contains the character NUL"),
        (b"> " * 30 + b"x", "a.md: The note is too complex: it has 30 levels of nested lists"),
        (b"[[b]]\n" * 60_000, "a.md: The note is too complex: it has 120,000 links"),
    ],
)
def test_note_that_cannot_be_stored_is_refused(tmp_path: Path, data: bytes, text: str) -> None:
    with pytest.raises(ArchiveInvalid) as refused:
        note(tmp_path, data)
    assert text in str(refused.value)


def test_front_matter_and_line_ends_are_kept(tmp_path: Path) -> None:
    text = '\ufeff---\r\nup: "[[b]]"\r\n---\r\n[[b]]\r\n`[[b]]`\r\n'
    expected = '\ufeff---\r\nup: "[[b]]"\r\n---\r\n[b](b.md)\r\n`[[b]]`\r\n'
    assert note(tmp_path, text.encode(), Crafted("b.md")) == expected


def test_links_lead_to_notes_of_other_slices(tmp_path: Path) -> None:
    entries = [
        Crafted(f"{number}.md", f"[[{(number + 700) % 1200}]]".encode()) for number in range(1200)
    ]
    found = imported(tmp_path, crafted(*entries))
    assert len(found.result["note_slices"]) == 3
    assert found.notes["0.md"] == "[700](700.md)"
    assert found.notes["1199.md"] == "[699](699.md)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![x](img/p.png)", "![x](attachments/img/p.png)"),
        ("![x](img%2Fp%2Ep%6eg)", "![x](attachments/img/p.png)"),
        ("![x](img/p&#46;png)", "![x](attachments/img/p.png)"),
        ("![[p.png]] [[b]]", "![p.png](attachments/img/p.png) [b](b.md)"),
        ("![x](attachments/q.png)", "![x](attachments/q.png)"),
        ("img/p.png", "img/p.png"),
    ],
)
def test_links_follow_images_that_move(tmp_path: Path, text: str, expected: str) -> None:
    png = samples()["png"].data
    others = [Crafted("img/p.png", png), Crafted("attachments/q.png", png), Crafted("b.md")]
    assert note(tmp_path, text.encode(), *others) == expected


HIDDEN = "[[b\u200b]] [b](b%E2%80%8B.md#x) [c](../x\u3164/c.md) ![[p\u200b.png]] [web](https://a.example)"


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (b"", "[b\u200b](b.md) [b](b.md#x) [c](../x/c.md) ![p\u200b.png](../attachments/p.png)"),
        (ExportLayout().comment(), "[[b]] [b](b.md#x) [c](../x/c.md) ![[p.png]]"),
    ],
    ids=["vault", "export"],
)
def test_links_follow_files_whose_paths_are_cleaned(
    tmp_path: Path, comment: bytes, expected: str
) -> None:
    entries = [
        Crafted("n\u200b/a.md", HIDDEN.encode()),
        Crafted("n\u200b/b\u200b.md", b"[a](a.md) [[a]]"),
        Crafted("x\u3164/c.md", "[a](../n\u200b/a.md)".encode()),
        Crafted("attachments/p\u200b.png", samples()["png"].data),
    ]
    found = imported(tmp_path, crafted(*entries, comment=comment))
    assert found.result["cleaned"] == 4
    assert found.notes["n/a.md"] == f"{expected} [web](https://a.example)"


def test_note_that_gets_too_long_by_its_links_is_refused(tmp_path: Path) -> None:
    link, target = b"[[b]]\n", Crafted(f"{'folder/' * 9}b.md")
    data = link * 9000
    filled = data + b"\n" * (2 * 1024 * 1024 - len(data))
    with pytest.raises(ArchiveInvalid, match=r"a\.md: The note is too long: it has 2,.* bytes"):
        note(tmp_path, filled, target)

"""Records of checked files are read back, one at a time."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Digest

from octavo.features.archives.worker.checked_files import (
    CheckedImage,
    CheckedNote,
    checked_images,
    checked_notes,
    image_record,
    note_record,
    take,
)

DIGEST = Digest("0" * 64)


def note(number: int, stored: bytes) -> CheckedNote:
    return CheckedNote(f"\u00fc\u2028{number}.md", DIGEST, number, stored)


def test_notes_are_read_as_they_were_written(tmp_path: Path) -> None:
    notes = [note(0, b""), note(1, b"\n{}\n\0"), note(2, bytes(range(256)) * 99)]
    files = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    files[0].write_bytes(b"".join(map(note_record, notes[:2])))
    files[1].write_bytes(b"")
    files[2].write_bytes(note_record(notes[2]))
    assert list(checked_notes([*map(str, files)])) == notes


def test_images_are_read_as_they_were_written(tmp_path: Path) -> None:
    images = [
        CheckedImage(f"attachments/\u00fc\n{n}.png", "/x", DIGEST, 7, n, "image/png", 3, 2, 1)
        for n in range(3)
    ]
    (tmp_path / "a").write_bytes(b"".join(map(image_record, images)))
    assert list(checked_images([str(tmp_path / "a")])) == images


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.integers(1, 20))
def test_notes_are_taken_in_order_and_within_limits(sizes: list[int], most: int, size: int) -> None:
    notes = [note(number, bytes(each)) for number, each in enumerate(sizes)]
    left = iter(notes)
    found = [*iter(lambda: take(left, most, size), [])]
    assert [each for batch in found for each in batch] == notes
    assert all(len(batch) <= most for batch in found)
    assert all(sum(len(each.stored) for each in batch[:-1]) < size for batch in found)

"""Archives of exports: valid for other programs, and imported byte for byte."""

import io
import shutil
import struct
import subprocess
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Position

from octavo.features.archives.worker.checked_files import checked_notes
from octavo.features.archives.worker.note_check import check_notes
from octavo.features.archives.worker.selection import ExportLayout
from octavo.features.archives.worker.zip_writer import ZipWriter
from octavo.model.files.path import ATTACHMENTS, check_path, kind_of, path_key
from octavo.model.refusal import InvalidPath
from tests.fakes.image_files import samples
from tests.fakes.imported_archives import imported
from tests.fakes.zip_files import surveyed

GIB = 1 << 30
PNG = samples()["png"].data
FILES = {
    "Home.md": b"# Home\n\n[[kept as it is]]\n" * 99,
    "empty.md": b"",
    "folder/\u00fc \u65e5\u672c.md": b"text",
    "attachments/a.png": PNG,
}


def is_image(path: str) -> bool:
    return path.endswith(".png")


def exported(files: dict[str, bytes], layout: ExportLayout | None = None) -> bytes:
    writer = ZipWriter(layout or ExportLayout())
    pieces = []
    for path, data in files.items():
        if is_image(path):
            pieces += [writer.begin_stored(path, len(data), zlib.crc32(data)), data]
        else:
            pieces.append(writer.note(path, data))
    return b"".join((*pieces, writer.end()))


def contents(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_archive_has_the_files_in_their_order() -> None:
    assert list(contents(exported(FILES)).items()) == list(FILES.items())


def test_archive_depends_on_the_files_alone() -> None:
    assert exported(FILES) == exported(FILES)
    with zipfile.ZipFile(io.BytesIO(exported(FILES))) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {each.flag_bits for each in archive.infolist()} == {0x800}
        assert {each.external_attr >> 16 for each in archive.infolist()} == {0o100644}


def test_text_is_stored_if_that_is_smaller() -> None:
    with zipfile.ZipFile(io.BytesIO(exported(FILES))) as archive:
        methods = {each.filename: each.compress_type for each in archive.infolist()}
    assert methods == dict(zip(FILES, (8, 0, 0, 0), strict=True))


@pytest.mark.parametrize("command", [("unzip", "-tq"), ("bsdtar", "-tf"), ("7z", "t")])
def test_other_programs_accept_the_archive(tmp_path: Path, command: tuple[str, str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    path = tmp_path / "export.zip"
    path.write_bytes(exported(FILES))
    run = subprocess.run([*command, str(path)], capture_output=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_unzip_extracts_the_files(tmp_path: Path) -> None:
    if shutil.which("unzip") is None:
        pytest.skip("needs unzip")
    path = tmp_path / "export.zip"
    path.write_bytes(exported(FILES))
    out = tmp_path / "out"
    run = ["unzip", "-q", str(path), "-d", str(out)]
    subprocess.run(run, check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    found = {str(each.relative_to(out)): each for each in out.rglob("*") if each.is_file()}
    assert {name: each.read_bytes() for name, each in found.items()} == FILES


def test_zip64_is_used_only_for_many_files() -> None:
    for count, needed in ((65_534, False), (65_535, True)):
        data = exported({f"{number}.md": b"" for number in range(count)})
        assert (b"PK\6\6" in data) is needed
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert len(archive.namelist()) == count


class Sparse(io.RawIOBase):
    """A file of pieces at positions, with zeros between them."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, bytes]] = []
        self.size = self._at = 0

    def add(self, data: bytes) -> None:
        self._pieces.append((self.size, data))
        self.size += len(data)

    def skip(self, size: int) -> None:
        self.size += size

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, at: int, whence: int = 0) -> int:
        self._at = at + (0, self._at, self.size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        size = self.size - self._at if size < 0 else min(size, self.size - self._at)
        found = bytearray(size)
        for at, data in self._pieces:
            begin, end = max(at, self._at), min(at + len(data), self._at + size)
            if begin < end:
                found[begin - self._at : end - self._at] = data[begin - at : end - at]
        self._at += size
        return bytes(found)


@pytest.mark.parametrize(
    ("sizes", "extras"),
    [
        ((4 * GIB - 2,), (0, 12)),
        ((4 * GIB - 60,), (0, 0)),
        ((4 * GIB - 1,), (20, 12)),
        ((5 * GIB,), (20, 12)),
        ((3 * GIB, 3 * GIB), (0, 0, 12)),
        ((5 * GIB, 5 * GIB), (20, 28, 12)),
    ],
)
def test_sizes_and_offsets_of_64_bits(sizes: tuple[int, ...], extras: tuple[int, ...]) -> None:
    file, writer = Sparse(), ZipWriter(ExportLayout())
    for number, size in enumerate(sizes):
        file.add(writer.begin_stored(f"attachments/{number}.png", size, 7))
        file.skip(size)
    file.add(writer.note("last.md", b"text"))
    file.add(writer.end())
    with zipfile.ZipFile(file) as archive:
        found = archive.infolist()
        assert tuple(each.file_size for each in found) == (*sizes, 4)
        assert tuple(len(each.extra) for each in found) == extras
        assert archive.read("last.md") == b"text"


def test_large_entries_are_valid_for_the_import_reader(tmp_path: Path) -> None:
    path = tmp_path / "part"
    writer = ZipWriter(ExportLayout())
    with path.open("wb") as file:
        # A sparse file takes no room.
        file.write(writer.begin_stored("attachments/a.pdf", 5 * GIB, 7))
        file.seek(5 * GIB, 1)
        file.write(writer.note("last.md", b"text"))
        file.write(writer.end())
    place, result = surveyed(tmp_path, [str(path)])
    (note,) = checked_notes([check_notes([str(path)], place, *result["note_slices"][0])[0]])
    assert (note.path, note.size) == ("last.md", 4)


def is_valid(path: str) -> bool:
    try:
        check_path(path)
    except InvalidPath:
        return False
    return True


SEGMENTS = st.one_of(
    st.text(min_size=1, max_size=8),
    st.sampled_from(
        [
            *(".obsidian", ".trash", "logseq", "bak", ".history", ".history-2", "__MACOSX", "._a"),
            *(
                ".git",
                "attachments",
                "Attachments",
                "\u00e9",
                "\u65e5\u672c",
                "a b",
                "%20",
                ".DS_Store",
            ),
        ]
    ),
)
PATHS = st.builds(
    lambda folders, name, image: (
        f"{ATTACHMENTS * image}{'/'.join([*folders, name])}{'.png' if image else '.md'}"
    ),
    st.lists(SEGMENTS, max_size=3),
    SEGMENTS,
    st.booleans(),
).filter(lambda path: is_valid(path) and kind_of(path) is not None)


def tree_of(paths: list[str]) -> list[str]:
    """The paths that a workspace can have at the same time."""
    kept: dict[str, str] = {}
    folders: set[str] = set()
    for path in paths:
        key = path_key(path)
        above = {key[:at] for at, letter in enumerate(key) if letter == "/"}
        if key not in kept and key not in folders and above.isdisjoint(kept):
            kept[key] = path
            folders |= above
    return list(kept.values())


TEXTS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.sampled_from(
        ["", "\ufeff---\r\na: b\r\n---\r\n", "text\n" * 999, "\r", "[[a b]]", "a\u0301"]
    ),
)


@given(
    paths=st.lists(PATHS, max_size=8).map(tree_of),
    texts=st.lists(TEXTS, min_size=8, max_size=8),
    history=st.booleans(),
    parts=st.integers(1, 4),
)
def test_export_is_imported_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
    texts: list[str],
    history: bool,
    parts: int,
) -> None:
    files = {
        path: PNG if is_image(path) else text.encode()
        for path, text in zip(paths, texts, strict=False)
    }
    layout = ExportLayout.with_history(paths) if history else ExportLayout()
    revisions = (
        {layout.revision_path(Position(3), path): b"old" for path in files if not is_image(path)}
        if history
        else {}
    )
    data = exported({**files, **revisions}, layout)
    assert contents(data) == {**files, **revisions}
    found = imported(tmp_path_factory.mktemp("archive"), data, parts=parts)
    images = {path: Path(image.file).read_bytes() for path, image in found.images.items()}
    assert {path: text.encode() for path, text in found.notes.items()} | images == files
    assert found.result["left_out"] == {"settings": 0, "history": len(revisions), "other": 0}


def test_end_record_has_the_comment_of_the_layout() -> None:
    data = exported({}, ExportLayout(".history"))
    assert data[-len(b"Octavo export with history in .history") :].startswith(b"Octavo")
    assert struct.unpack_from("<H", data, 20) == (38,)

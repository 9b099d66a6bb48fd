"""Folders as archives: what is packed, in which order, and what is reported instead."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from octavo.features.archives.worker import folder_archive
from octavo.features.archives.worker.folder_archive import FolderChanged, list_folder, pack_folder

FILES = {
    "b.md": b"# B\r\n",
    "a/c.md": "ünï".encode(),
    "a.md": b"x" * 3000,
    "a/pictures/p.png": b"\x89PNG" + bytes(700_000),
    "empty.md": b"",
}


def fill(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def packed(root: Path) -> bytes:
    return b"".join(pack_folder(list_folder(root)))


def test_archive_has_notes_and_images_by_path(tmp_path: Path) -> None:
    data = packed(fill(tmp_path, FILES))
    with zipfile.ZipFile(io.BytesIO(data)) as read:
        assert read.testzip() is None
        assert read.namelist() == sorted(FILES)
        assert {name: read.read(name) for name in read.namelist()} == FILES
        assert read.comment == b""


def test_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    first = fill(tmp_path / "1", FILES)
    again = fill(tmp_path / "2", dict(reversed(FILES.items())))
    for path in FILES:
        os.utime(again / path, (0, 0))
    assert packed(first) == packed(again)


def test_size_is_within_its_bound(tmp_path: Path) -> None:
    root = fill(tmp_path, {**FILES, **{f"{'é' * 40}{number}.md": b"" for number in range(20)}})
    assert len(packed(root)) <= list_folder(root).largest_archive


def test_files_that_collide_are_problems(tmp_path: Path) -> None:
    listing = list_folder(fill(tmp_path, {"Tea.md": b"", "tea.md": b"", "a/tea.md": b""}))
    [problem] = listing.problems
    assert problem.startswith((f"{tmp_path}/tea.md: Tea.md has", f"{tmp_path}/Tea.md: tea.md has"))


def test_empty_folder_is_an_empty_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed(tmp_path))) as read:
        assert read.namelist() == []


def test_other_files_are_counted_by_kind(tmp_path: Path) -> None:
    left = {
        ".obsidian/app.json": b"{}",
        ".obsidian/plugins/readme.md": b"",
        ".git/HEAD": b"",
        ".history/17/a.md": b"",
        "plan.pdf": b"",
    }
    listing = list_folder(fill(tmp_path, {**FILES, **left}))
    assert [each.path for each in listing.files] == sorted(FILES)
    assert listing.left_out == {"settings": 3, "history": 1, "other": 1}


def test_links_are_counted_and_not_followed(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", FILES)
    outside = fill(tmp_path / "outside", {"secret.md": b"secret"})
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    (root / "secret.md").symlink_to(outside / "secret.md")
    listing = list_folder(root)
    assert (listing.links, listing.problems) == (3, [])
    assert b"secret" not in packed(root)


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    root = fill(tmp_path, FILES)
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"\xff.md")).write_bytes(b"")
    listing = list_folder(root)
    assert sorted(listing.problems) == [
        f"{root}/pipe.md: not a regular file",
        f"{root}/{os.fsdecode(bytes([255]))}.md: its name is not UTF-8",
    ]


def test_permissions_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the tests may read everything: the system's refusals are simulated."""
    root = fill(tmp_path, {**FILES, "closed/a.md": b"", ".obsidian/closed/a.md": b""})
    scandir, opened = os.scandir, os.open

    def refuse_folder(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def refuse_file(path: Path, flags: int) -> int:
        if path.name == "b.md":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(os, "open", refuse_file)
    assert sorted(list_folder(root).problems) == [
        f"{root}/b.md: Permission denied",
        f"{root}/closed: Permission denied",
    ]


@pytest.mark.parametrize("path", ["b.md", "a/pictures/p.png"])
@pytest.mark.parametrize("change", ["longer", "shorter", "gone", "a link"])
def test_file_that_changes_meanwhile_is_named(path: str, change: str, tmp_path: Path) -> None:
    root = fill(tmp_path, FILES)
    listing = list_folder(root)
    file = root / path
    match change:
        case "longer":
            file.write_bytes(FILES[path] + b"more")
        case "shorter":
            file.write_bytes(FILES[path][:-1])
        case _:
            file.unlink()
    if change == "a link":
        file.symlink_to("/etc/passwd")
    with pytest.raises(FolderChanged, match=f"^{file} "):
        for _ in pack_folder(listing):
            pass


def test_image_that_changes_between_its_two_readings_is_named(tmp_path: Path) -> None:
    root = fill(tmp_path, {"p.png": bytes(700_000)})
    pieces = pack_folder(list_folder(root))
    next(pieces)
    (root / "p.png").write_bytes(b"1" * 700_000)
    with pytest.raises(FolderChanged, match="was changed while it was read"):
        for _ in pieces:
            pass


def test_large_note_is_not_held_in_memory(tmp_path: Path) -> None:
    root = fill(tmp_path, {"large.md": b"x" * 5_000_000})
    assert max(map(len, pack_folder(list_folder(root)))) <= 2 * folder_archive.PIECE

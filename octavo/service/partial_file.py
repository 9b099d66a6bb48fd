"""Files that appear under their name complete, durable and for their owner alone, or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from octavo.access.entropy import new_entropy
from octavo.store.sqlite.backup import COMPANIONS


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Give an empty file in the folder of ``target`` for the block, with mode 0600.

    Missing folders are created with mode 0700. The block calls `publish` when the file is
    complete; otherwise the file and those folders are gone afterwards. Raises `OSError`.
    """
    made = _make_folders(target.parent)
    path = target.parent / f".{target.name}.{new_entropy().hex()[:8]}.partial"
    published = False
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        yield path
        published = not path.exists()
    finally:
        # SQLite may have created files next to a database that it wrote.
        for end in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                os.unlink(f"{path}{end}")
        if not published:
            for folder in reversed(made):
                with suppress(OSError):
                    folder.rmdir()


def publish(path: Path, target: Path) -> int:
    """Make the file ``path`` durable, rename it to ``target``, and return its size in bytes.

    Raises `OSError`.
    """
    size = path.stat().st_size
    sync(path)
    path.replace(target)
    sync(target.parent)
    return size


def sync(path: Path) -> None:
    """Make a file or the entries of a folder durable. Raises `OSError`."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _make_folders(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made = missing[::-1]
    for each in made:
        each.mkdir(mode=0o700)
        sync(each.parent)
    return made

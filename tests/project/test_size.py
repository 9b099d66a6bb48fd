"""What counts as a line of code."""

from pathlib import Path

from tools.size import Size, report, room_of, size_of

MODULE = '''"""A docstring.

Two of its lines.
"""

import os
from os import (
    path,
)


# A comment.
def name() -> str:
    """Say it."""
    return (
        # Another comment.
        os.name + """
        text""" + str(path)
    )


class Empty:
    """Holds nothing."""
'''


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    assert size_of(MODULE) == Size(modules=1, lines=10, imports=4)


def test_feature_is_a_room() -> None:
    assert room_of(Path("store/sqlite/search.py")) == "store"
    assert room_of(Path("features/mail/rules/outbox.py")) == "features/mail"
    assert room_of(Path("log.py")) == ""


def test_packages_are_added_to_the_service(tmp_path: Path) -> None:
    library = tmp_path / "packages" / "shelf" / "src" / "shelf"
    room = tmp_path / "octavo" / "store"
    for folder in (library, room):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("import os\n\nNAME = os.name\n")
    rows = [line.split() for line in report(tmp_path)]
    assert ["shelf", "1", "2", "50.0%"] in rows
    assert ["octavo/store", "1", "2", "50.0%"] in rows
    assert rows[-1] == ["all", "2", "4", "50.0%"]

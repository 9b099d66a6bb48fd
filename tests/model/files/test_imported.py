"""Identifiers and paths of imported files."""

import re

from hypothesis import given
from hypothesis import strategies as st

from octavo.model.files.imported import derived_id, other_path, taken_paths
from octavo.model.files.path import check_path, folders_of, path_key
from octavo.model.identity import uuid7

IMPORTS = st.builds(uuid7, st.integers(0, (1 << 48) - 1), st.binary(min_size=10, max_size=10))
PATHS = st.lists(
    st.sampled_from(["a", "A", "b.md", "B.md", "ä", "a\u0308".encode().decode()]),
    min_size=1,
    max_size=3,
).map("/".join)


@given(IMPORTS, st.integers(0, 100_000))
def test_identifiers_are_valid_and_the_same_again(import_id: str, number: int) -> None:
    made = derived_id(import_id, "file", number)
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made)
    assert made == derived_id(import_id, "file", number)
    assert made[:13] == import_id[:13]
    assert made < derived_id(import_id, "file", number + 1)
    others = {
        derived_id(import_id, "object", number),
        derived_id(import_id, "changeset", number),
        derived_id(import_id, "file", number + 1),
    }
    assert len({made, *others}) == 4


@given(IMPORTS, IMPORTS)
def test_identifiers_of_other_imports_differ(one: str, other: str) -> None:
    assert one == other or derived_id(one, "file", 1) != derived_id(other, "file", 1)


@given(st.lists(PATHS, max_size=4), st.lists(PATHS, max_size=4))
def test_taken_paths_are_those_that_collide(present: list[str], new: list[str]) -> None:
    def collide(one: str, other: str) -> bool:
        first, second = path_key(one), path_key(other)
        return first == second or first in folders_of(second) or second in folders_of(first)

    expected = [each for each in new if any(collide(each, there) for there in present)]
    assert taken_paths(present, new) == expected
    assert taken_paths(present, new, most=1) == expected[:1]


def test_other_path_keeps_folder_and_ending() -> None:
    assert other_path("a/b.md", 1) == "a/b (imported).md"
    assert other_path("b.c.png", 2) == "b.c (imported 2).png"


@given(st.text("aä日", min_size=1, max_size=250), st.integers(1, 99))
def test_other_path_is_valid(name: str, number: int) -> None:
    check_path(other_path(f"folder/{name[:80]}.md", number))

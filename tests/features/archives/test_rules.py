"""Identifiers and paths of imported files."""

import re
from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import Digest, uuid7

from octavo.features.archives.rules import UsedPaths, archive_of, free_path, taken_paths
from octavo.model.files.changeset import derived_id
from octavo.model.files.path import check_path, folders_of, path_key

IMPORTS = st.builds(uuid7, st.integers(0, (1 << 48) - 1), st.binary(min_size=10, max_size=10))
ARCHIVE = archive_of([Digest("1" * 64)])
PATHS = st.lists(
    st.sampled_from(["a", "A", "b.md", "B.md", "ä", "a\u0308".encode().decode()]),
    min_size=1,
    max_size=3,
).map("/".join)


@given(IMPORTS, st.integers(0, 100_000))
def test_identifiers_are_valid_and_the_same_again(import_id: str, number: int) -> None:
    made = derived_id(import_id, ARCHIVE, "file", number)
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made)
    assert made == derived_id(import_id, ARCHIVE, "file", number)
    assert made[:13] == import_id[:13]
    assert made < derived_id(import_id, ARCHIVE, "file", number + 1)
    others = {
        derived_id(import_id, ARCHIVE, "object", number),
        derived_id(import_id, ARCHIVE, "changeset", number),
        derived_id(import_id, ARCHIVE, "file", number + 1),
    }
    assert len({made, *others}) == 4


@given(IMPORTS, IMPORTS)
def test_identifiers_of_other_imports_differ(one: str, other: str) -> None:
    assert one == other or derived_id(one, ARCHIVE, "file", 1) != derived_id(
        other, ARCHIVE, "file", 1
    )


@given(st.lists(PATHS, max_size=4), st.lists(PATHS, max_size=4))
def test_taken_paths_are_those_that_collide(present: list[str], new: list[str]) -> None:
    def collide(one: str, other: str) -> bool:
        first, second = path_key(one), path_key(other)
        return first == second or first in folders_of(second) or second in folders_of(first)

    expected = [each for each in new if any(collide(each, there) for there in present)]
    assert taken_paths(present, new) == expected
    assert taken_paths(present, new, most=1) == expected[:1]


@given(IMPORTS, st.lists(st.sampled_from("12"), max_size=3), st.lists(st.sampled_from("12")))
def test_identifiers_of_other_archives_differ(
    import_id: str, some: list[str], others: list[str]
) -> None:
    one, other = (archive_of([Digest(each * 64) for each in parts]) for parts in (some, others))
    same = derived_id(import_id, one, "file", 1) == derived_id(import_id, other, "file", 1)
    assert same == (some == others)


def test_free_path_keeps_folder_and_ending() -> None:
    present = ["a/b.md", "b.c.png", "b.c (imported).png"]
    assert free_path("a/b.md", UsedPaths(present)) == "a/b (imported).md"
    assert free_path("B.C.png", UsedPaths(present)) == "B.C (imported 2).png"


def test_folder_that_is_a_file_is_renamed() -> None:
    present = ["a/z.md", "a/z (imported).md"]
    assert free_path("a/z.md/x/y.md", UsedPaths(present)) == "a/z (imported 2).md/x/y.md"


def test_file_whose_path_gets_too_long_gets_into_no_folder() -> None:
    folders = "/".join(["f" * 202] * 5)
    for folder, root in ((folders, ""), (f"attachments/{folders}"[:1014], "attachments/")):
        path = f"{folder}/{'n' * 5}.md"
        assert len(path) <= 1024 < len(path) + len(" (imported)")
        assert free_path(path, UsedPaths([path])) == f"{root}nnnnn (imported).md"


@given(st.lists(PATHS), PATHS, st.text("aä日", max_size=250))
def test_free_path_is_valid_and_free(present: list[str], path: str, name: str) -> None:
    path = normalize("NFC", f"{path}/{name[:80]}x.md")
    used = UsedPaths([*present, path])
    found = free_path(path, used)
    check_path(found)
    assert not used.collides(found)
    assert found.endswith(".md")

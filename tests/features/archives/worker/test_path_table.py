"""The table on disk finds what a dictionary would find."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.path_table import PathFile, PathTable, write_table
from octavo.model.links.resolution import keys_of_path, paths_by_key

PATHS = st.lists(
    st.builds(
        lambda folders, name, ending: "/".join([*folders, name]) + ending,
        st.lists(st.sampled_from("abAB\u00df"), max_size=2),
        st.sampled_from(["a", "A", "b.md", "\u00e4", "stra\u00dfe"]),
        st.sampled_from([".md", ".MD.md", ".png"]),
    ),
    unique=True,
    max_size=30,
)


@given(paths=PATHS)
def test_path_of_a_key_is_that_of_the_link_rules(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("table")
    expected = paths_by_key(paths)
    with PathFile(str(folder / "paths")) as file:
        refs = {path: file.add(path.encode()) for path in paths}
        file.flush()
        keys = [(key, refs[path]) for path in paths for key in keys_of_path(path)]
        write_table(str(folder / "table"), keys, file)
        found = PathTable(str(folder / "table"), file)
        assert {key: found.find(key) for key in expected} == expected
        assert found.find("/missing") is None


def test_results_that_are_kept_are_bounded(tmp_path: Path) -> None:
    with PathFile(str(tmp_path / "paths")) as file:
        refs = [file.add(f"{number}.md".encode()) for number in range(6000)]
        file.flush()
        write_table(str(tmp_path / "table"), ((f"{n}", ref) for n, ref in enumerate(refs)), file)
        found = PathTable(str(tmp_path / "table"), file)
        for _ in range(2):
            assert [found.find(str(n)) for n in range(6000)] == [f"{n}.md" for n in range(6000)]
        assert len(found._remembered) <= 4096


def test_paths_are_found_when_the_file_is_opened_again(tmp_path: Path) -> None:
    with PathFile(str(tmp_path / "paths")) as file:
        first = file.add("\u65e5.md".encode())
    with PathFile(str(tmp_path / "paths")) as file:
        second = file.add(b"\xff")
        file.flush()
        assert (file.path(first), file.read(second)) == ("\u65e5.md", b"\xff")

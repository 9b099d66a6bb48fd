"""Parts are read as one sequence of bytes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.part_files import PartFiles


@given(
    parts=st.lists(st.binary(max_size=40), max_size=6),
    reads=st.lists(st.tuples(st.integers(0, 260), st.integers(0, 90)), max_size=8),
)
def test_any_read_returns_the_bytes_there(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[bytes],
    reads: list[tuple[int, int]],
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    paths = [folder / str(number) for number in range(len(parts))]
    for path, data in zip(paths, parts, strict=True):
        path.write_bytes(data)
    whole = b"".join(parts)
    with PartFiles([*map(str, paths)]) as source:
        assert source.size == len(whole)
        for at, size in reads:
            assert source.read(at, size) == whole[at : at + size]


def test_part_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(bytes(3 * 1024 * 1024))
    with PartFiles([str(path)]) as source:
        path.write_bytes(b"short")
        with pytest.raises(OSError, match="became shorter"):
            source.read(2 * 1024 * 1024, 10)


def test_many_parts_need_one_open_file(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(300)]
    for path in paths:
        path.write_bytes(b"x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with PartFiles([*map(str, paths)]) as source:
        assert source.read(0, 300) == b"x" * 300
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1

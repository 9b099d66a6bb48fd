"""Data that is not what the directory says is refused; nothing beyond its size is read."""

import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.archives.worker.entry_reader import pieces_of_entry, read_entry
from octavo.features.archives.worker.listing import ImportFolder, ListedEntry, entries_in
from octavo.features.archives.worker.part_files import PartFiles
from octavo.features.archives.worker.refusal import ArchiveInvalid
from tests.fakes.zip_files import (
    ONES_32,
    Crafted,
    crafted,
    deflated,
    surveyed,
    written,
    zip64_extra,
)


def listed(folder: Path, data: bytes, parts: int = 1) -> tuple[list[str], list[ListedEntry]]:
    paths = written(folder, data, parts)
    place, result = surveyed(folder, paths)
    return paths, [
        entry
        for each in result["note_slices"]
        for entry in entries_in(ImportFolder(place).notes, *each)
    ]


def both_ways(paths: list[str], entry: ListedEntry) -> bytes:
    with PartFiles(paths) as source:
        data = read_entry(source, entry)
        assert b"".join(pieces_of_entry(source, entry)) == data
    return data


def refusal(folder: Path, *entries: Crafted) -> str:
    paths, found = listed(folder, crafted(*entries))
    texts = []
    with PartFiles(paths) as source:
        for read in (read_entry, lambda *of: list(pieces_of_entry(*of))):
            with pytest.raises(ArchiveInvalid) as refused:
                read(source, found[0])
            texts.append(str(refused.value))
    assert texts[0] == texts[1]
    return texts[0]


@given(data=st.binary(max_size=3000), method=st.sampled_from([0, 8]), parts=st.integers(1, 9))
def test_data_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, method: int, parts: int
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    archive = crafted(Crafted("a.md"), Crafted("b.md", data, method))
    paths, (_, entry) = listed(folder, archive, parts)
    assert both_ways(paths, entry) == data


@pytest.mark.parametrize("method", [0, 8])
def test_large_data_is_read_in_pieces(tmp_path: Path, method: int) -> None:
    data = random.Random(0).randbytes(900_000) + bytes(900_000)
    paths, (entry,) = listed(tmp_path, crafted(Crafted("a.md", data, method)), 3)
    assert both_ways(paths, entry) == data
    with PartFiles(paths) as source:
        assert max(map(len, pieces_of_entry(source, entry))) <= 256 * 1024


@pytest.mark.parametrize(
    "entry",
    [
        Crafted("a.md", flags=8, local={"crc": 0, "size": 0, "compressed": 0}, after=bytes(16)),
        Crafted("a.md", flags=8, after=bytes(16)),
        Crafted(
            "a.md",
            flags=8,
            local={"crc": 0, "size": ONES_32, "compressed": ONES_32},
            local_extra=zip64_extra(0, 0),
        ),
        Crafted(
            "a.md",
            local={"size": ONES_32, "compressed": ONES_32},
            local_extra=zip64_extra(4, len(deflated(b"text"))),
        ),
        Crafted("a.md", local_extra=struct.pack("<2H", 0x5455, 5) + bytes(5)),
        Crafted("a.md", flags=0x0802, local={"flags": 0x0800}),
    ],
)
def test_local_header_of_any_program_is_accepted(tmp_path: Path, entry: Crafted) -> None:
    paths, (found,) = listed(tmp_path, crafted(entry))
    assert both_ways(paths, found) == b"text"


@pytest.mark.parametrize(
    "entry",
    [
        Crafted("a.md", local_name=b"b.md"),
        Crafted("a.md", local_name=b"a.mdx"),
        Crafted("a.md", local={"method": 0}),
        Crafted("a.md", local={"size": 5}),
        Crafted("a.md", local={"compressed": 5}),
        Crafted("a.md", local={"crc": 5}),
        Crafted("a.md", local={"flags": 1}),
        Crafted("\u00fc.md", local={"flags": 0}),
        Crafted("a.md", local={"size": ONES_32, "compressed": ONES_32}),
    ],
)
def test_local_header_that_contradicts_the_directory_is_refused(
    tmp_path: Path, entry: Crafted
) -> None:
    assert "header contradicts the directory" in refusal(tmp_path, entry)


TEXT = b"some text of a note " * 9


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Crafted("a.md", local_signature=b"PK\3\5"), "not where the directory"),
        (Crafted("a.md", crc=7), "is damaged"),
        (Crafted("a.md", method=0, crc=7), "is damaged"),
        (Crafted("a.md", TEXT, size=179), "more or fewer bytes"),
        (Crafted("a.md", TEXT, size=181), "more or fewer bytes"),
        (Crafted("a.md", b"", size=1), "more or fewer bytes"),
        (Crafted("a.md", TEXT, packed=deflated(TEXT)[:-3]), "more or fewer bytes"),
        (Crafted("a.md", TEXT, packed=deflated(TEXT) + b"x"), "more or fewer bytes"),
        (Crafted("a.md", TEXT, packed=b"\xff" * 99), "is damaged"),
        (Crafted("a.md", bytes(100), packed=deflated(bytes(10**7))), "more or fewer bytes"),
        (Crafted("a.md", local_extra=bytes(200), compressed=100), "contradicts|overlaps"),
    ],
)
def test_data_that_is_not_as_announced_is_refused(
    tmp_path: Path, entry: Crafted, text: str
) -> None:
    found = refusal(tmp_path, entry, Crafted("z.md", b"x" * 999, 0))
    assert found.startswith("a.md: ")
    assert any(each in found for each in text.split("|"))


def test_data_that_runs_into_the_next_entry_is_refused(tmp_path: Path) -> None:
    # The directory knows nothing of the extra field, which moves the data.
    entry = Crafted("a.md", b"x" * 99, 0, local_extra=bytes(60), packed=b"x" * 39)
    crc = zlib.crc32(b"x" * 99)
    data = crafted(
        Crafted(
            *("a.md", b"x" * 99, 0),
            packed=entry.packed,
            local_extra=entry.local_extra,
            crc=crc,
            compressed=99,
            size=99,
        ),
        Crafted("b.md"),
    )
    paths, (found, _) = listed(tmp_path, data)
    with PartFiles(paths) as source, pytest.raises(ArchiveInvalid, match="overlaps another"):
        read_entry(source, found)


def test_bomb_is_not_decompressed(tmp_path: Path) -> None:
    packed = deflated(bytes(200_000_000), 9)
    paths, (entry,) = listed(tmp_path, crafted(Crafted("a.md", bytes(9), packed=packed)))
    with PartFiles(paths) as source:
        pieces = pieces_of_entry(source, entry)
        with pytest.raises(ArchiveInvalid, match="more or fewer bytes"):
            list(pieces)

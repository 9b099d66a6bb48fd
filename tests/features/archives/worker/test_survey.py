"""What of an archive is listed, left out and refused, by its directory alone."""

import io
import stat
import unicodedata
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from octavo.features.archives.worker import survey as survey_module
from octavo.features.archives.worker.checked_files import checked_notes
from octavo.features.archives.worker.listing import ImportFolder, ListedEntry, entries_in
from octavo.features.archives.worker.note_check import check_notes
from octavo.features.archives.worker.refusal import (
    ArchiveInvalid,
    ArchiveRefused,
    ArchiveTooLarge,
    ArchiveTooManyFiles,
)
from octavo.features.archives.worker.survey import NOTES_OF_SLICE, SurveyResult, survey
from octavo.model.files.path import without_hidden_characters
from octavo.workers import WorkerPool, WorkRefused
from tests.fakes.zip_files import (
    LIMITS,
    ONES_16,
    ONES_32,
    ONES_64,
    Crafted,
    crafted,
    surveyed,
    unicode_extra,
    written,
    zip64_extra,
)

NOTE = Crafted("a.md")


def survey_of(folder: Path, data: bytes, parts: int = 1) -> tuple[SurveyResult, list[ListedEntry]]:
    place, result = surveyed(folder, written(folder, data, parts))
    listings = ImportFolder(place)
    notes = [e for s in result["note_slices"] for e in entries_in(listings.notes, *s)]
    images = [e for s in result["image_slices"] for e in entries_in(listings.images, *s)]
    return result, notes + images


def refusal(folder: Path, data: bytes) -> str:
    with pytest.raises(ArchiveInvalid) as refused:
        surveyed(folder, written(folder, data))
    return str(refused.value)


def finals(folder: Path, *names: str | bytes | Crafted) -> list[str]:
    entries = [each if isinstance(each, Crafted) else Crafted(each) for each in names]
    return [each.final for each in survey_of(folder, crafted(*entries))[1]]


def test_notes_and_images_are_listed_and_the_rest_is_counted(tmp_path: Path) -> None:
    names = [
        *("Home.md", "folder/", "folder/note.md", "attachments/a.png", "photo.JPG"),
        *("paper.pdf", ".obsidian/app.json", ".history/3/a.md", "x/.DS_Store", "README.MD"),
    ]
    entries = [Crafted(each, b"" if each.endswith("/") else b"text") for each in names]
    result, listed = survey_of(tmp_path, crafted(*entries))
    assert result["left_out"] == {"settings": 2, "history": 1, "other": 2}
    assert (result["notes"], result["images"], result["size"]) == (2, 2, 16)
    assert [each.final for each in listed] == [
        *("Home.md", "folder/note.md", "attachments/a.png", "attachments/photo.JPG")
    ]


def test_listed_entry_has_what_its_data_must_be(tmp_path: Path) -> None:
    data = crafted(Crafted("ä.md", b"long" * 50), Crafted("b.md", method=0))
    _, (first, second) = survey_of(tmp_path, data)
    assert (first.path, first.name, first.offset, first.size) == ("ä.md", "", 0, 200)
    assert first.limit == second.offset
    assert (second.method, second.compressed, second.limit) == (0, 4, data.index(b"PK\1\2"))


def test_entries_are_listed_in_the_order_of_their_data(tmp_path: Path) -> None:
    data = crafted(Crafted("b.md"), Crafted("a.md"))
    at = data.index(b"PK\1\2")
    middle = data.index(b"PK\1\2", at + 1)
    end = data.index(b"PK\5\6")
    swapped = data[:at] + data[middle:end] + data[at:middle] + data[end:]
    _, listed = survey_of(tmp_path, swapped)
    assert [each.path for each in listed] == ["b.md", "a.md"]


def test_slices_bound_the_work_of_a_process(tmp_path: Path) -> None:
    entries = [Crafted(f"{number}.md") for number in range(NOTES_OF_SLICE * 2 + 1)]
    result, listed = survey_of(tmp_path, crafted(*entries))
    assert len(result["note_slices"]) == 3
    assert [each.path for each in listed] == [f"{number}.md" for number in range(len(entries))]


def test_large_archive_has_few_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "MOST_SLICES", 10)
    count = 2 * 10 * NOTES_OF_SLICE
    entries = [Crafted(f"{number}.{'md' if number % 2 else 'png'}") for number in range(count)]
    result, listed = survey_of(tmp_path, crafted(*entries))
    assert len(result["note_slices"]) == len(result["image_slices"]) == 5
    assert len(listed) == count


def test_empty_archive_has_nothing(tmp_path: Path) -> None:
    result, listed = survey_of(tmp_path, crafted())
    assert (result["notes"], result["images"], listed) == (0, 0, [])
    assert result["note_slices"] == result["image_slices"] == []


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_parts_are_read_as_one_archive(tmp_path: Path, parts: int) -> None:
    data = crafted(*[Crafted(f"{number}.md") for number in range(9)])
    assert len(survey_of(tmp_path, data, parts)[1]) == 9


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(crafted(NOTE, prefix=b"#!/bin/sh\n" * 9), id="prefix"),
        pytest.param(crafted(NOTE, prefix=b"MZ" * 99, counts_prefix=True), id="counted-prefix"),
        pytest.param(crafted(NOTE, comment=b"a comment PK\5\6"), id="comment"),
        pytest.param(crafted(NOTE, comment=bytes(ONES_16)), id="longest-comment"),
        pytest.param(crafted(Crafted("a.md", comment=b"x" * 999)), id="entry-comment"),
        pytest.param(crafted(NOTE, zip64=True), id="zip64"),
        pytest.param(crafted(NOTE, zip64=True, prefix=b"stub"), id="zip64-prefix"),
        pytest.param(
            crafted(NOTE, zip64=True, end={"entries": 1, "here": 1}), id="zip64-not-needed"
        ),
        pytest.param(
            crafted(Crafted("a.md", size=ONES_32, extra=zip64_extra(4), local={"size": 4})),
            id="zip64-size",
        ),
        pytest.param(
            crafted(Crafted("a.md", offset=ONES_32, extra=b"UT\5\0\1abcd" + zip64_extra(0))),
            id="zip64-offset",
        ),
        pytest.param(crafted(Crafted("a.md", extra=b"\0\0\0")), id="padded-extra"),
        pytest.param(
            crafted(Crafted("a.md", flags=8, after=b"PK\7\x08" + bytes(12))), id="descriptor"
        ),
        pytest.param(crafted(Crafted("a.md", system=0, attributes=0x20)), id="windows"),
    ],
)
def test_archive_of_any_program_is_read(tmp_path: Path, data: bytes) -> None:
    _, (entry,) = survey_of(tmp_path, data)
    assert (entry.path, entry.size) == ("a.md", 4)
    assert data[entry.offset :].startswith(b"PK\3\4")


def test_more_entries_than_16_bits_are_read(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(ONES_16 + 5):
            archive.writestr(f"{number}.md", b"")
    result, _ = survey_of(tmp_path, file.getvalue())
    assert result["notes"] == ONES_16 + 5


FULL = crafted(NOTE, Crafted("b.md"))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "its end is missing", id="empty"),
        pytest.param(b"text " * 9999, "its end is missing", id="text"),
        pytest.param(FULL[:-1], "its end is missing", id="truncated"),
        pytest.param(FULL + b"\n", "its end is missing", id="trailing"),
        pytest.param(FULL + FULL, "two archives, one after the other", id="two"),
        pytest.param(
            crafted(NOTE, comment=b"PK\5\6" + bytes(18)), "a comment that looks", id="empty-end"
        ),
        pytest.param(FULL[9:], "beginning of the archive is missing", id="beginning"),
        pytest.param(FULL[:9] + FULL[20:], "beginning of the archive is missing", id="middle"),
        pytest.param(FULL[-22:], "beginning of the archive is missing", id="end-alone"),
        pytest.param(crafted(NOTE, end={"disk": 1}), "several disks", id="disk"),
        pytest.param(crafted(NOTE, end={"directory_disk": 1}), "several disks", id="first-disk"),
        pytest.param(crafted(NOTE, end={"here": 0}), "several disks", id="entries-elsewhere"),
        pytest.param(crafted(Crafted("a.md", disk=2)), "several disks", id="entry-elsewhere"),
        pytest.param(crafted(NOTE, end={"entries": 2, "here": 2}), "damaged", id="fewer"),
        pytest.param(
            crafted(Crafted("a.md", comment=bytes(99)), end={"entries": 2, "here": 2}),
            "entry 2",
            id="fewer-with-room",
        ),
        pytest.param(
            crafted(NOTE, NOTE, end={"entries": 1, "here": 1}), "follow its last", id="more"
        ),
        pytest.param(crafted(NOTE, before_end=b"xx"), "damaged", id="gap"),
        pytest.param(
            FULL.replace(b"PK\1\2", b"PK\1\3", 1), "entry 1 has no header", id="signature"
        ),
        pytest.param(
            crafted(Crafted("a.md", size=ONES_32)), "size of entry 1 is missing", id="no-zip64"
        ),
        pytest.param(
            crafted(Crafted("a.md", size=ONES_32, extra=b"\1\0\4\0abcd")),
            "size of entry 1 is missing",
            id="short-zip64",
        ),
        pytest.param(
            crafted(NOTE, zip64=True, zip64_end={"entries": 2, "here": 2}),
            "damaged",
            id="zip64-entries",
        ),
        pytest.param(
            crafted(NOTE, zip64=True, end={"entries": 7}), "contradicts its end", id="zip64-end"
        ),
        pytest.param(
            crafted(NOTE, zip64=True, zip64_end={"rest": 45}), "record is missing", id="zip64-rest"
        ),
        pytest.param(
            crafted(NOTE, zip64=True, locator={"disks": 2}), "several disks", id="zip64-disks"
        ),
        pytest.param(
            crafted(NOTE, zip64=True, zip64_end={"size": 1 << 63}), "damaged", id="zip64-size"
        ),
        pytest.param(
            crafted(NOTE, end={"size": ONES_32, "start": ONES_32}), "damaged", id="no-record"
        ),
    ],
)
def test_archive_that_is_not_whole_is_refused(tmp_path: Path, data: bytes, text: str) -> None:
    assert text in refusal(tmp_path, data)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Crafted("a.md", flags=1), "It is encrypted"),
        (Crafted("a.md", flags=0x41), "It is encrypted"),
        (Crafted("a.png", flags=0x2000), "It is encrypted"),
        (Crafted("a.md", method=12, packed=b"BZ"), "by method 12"),
        (Crafted("a.md", method=14, packed=b"xx"), "by method 14"),
        (Crafted("a.md", method=99, packed=b"xx"), "by method 99"),
        (Crafted("a.md", attributes=0o120777 << 16), "symbolic link"),
        (Crafted("a.png", attributes=0o010644 << 16), "symbolic link or a device"),
        (Crafted("a.md", attributes=(stat.S_IFDIR | 0o755) << 16), "not a file"),
        (Crafted("a.md", bytes(2 * 1024 * 1024 + 1)), "At most 2,097,152 are accepted for each"),
        (Crafted("a.md", size=5, method=0), "contradict"),
        (Crafted("a.md", size=10_000, packed=b"123456789"), "contradict"),
        (Crafted("../a.md"), "“..” is not a file name"),
        (Crafted("a/../b.md"), "“..” is not a file name"),
        (Crafted("/a.md"), "starts with a slash"),
        (Crafted("C:\\a.md"), "the character “:”"),
        (Crafted("a//b.md"), "a name in the path is empty"),
        (Crafted("a\\b/c.md"), "the character “\\”"),
        (Crafted("a\0.md"), "U+0000"),
        (Crafted("a\x1b[2J.png"), "U+001B"),
        (Crafted("con.md"), "device name"),
        (Crafted("a /b.md"), "ends with a dot or a space"),
        (Crafted("a./b.png"), "ends with a dot or a space"),
        (Crafted("x" * 300 + ".md"), "at most 255 are allowed"),
        (Crafted("x/" * 600 + ".x.md"), "at most 1,024 are allowed"),
        (Crafted("x/" * 33 + "a.md"), "at most 32 are allowed"),
        (Crafted("a" + "\u0301" * 200 + ".md"), "Normalization Form C"),
        (Crafted(b"\xff.md"), "not valid UTF-8"),
    ],
)
def test_file_that_cannot_be_imported_is_refused_by_name(
    tmp_path: Path, entry: Crafted, text: str
) -> None:
    assert text in refusal(
        tmp_path, crafted(NOTE if entry.name != "a.md" else Crafted("b.md"), entry)
    )


@pytest.mark.parametrize("name", ["a.md", "a.pdf"])
@pytest.mark.parametrize(
    "lie",
    [
        Crafted("", offset=ONES_32, extra=zip64_extra(ONES_64)),
        Crafted("", offset=ONES_32, extra=zip64_extra(ONES_64 - 40)),
        Crafted("", compressed=ONES_32, extra=zip64_extra(ONES_64)),
        Crafted("", size=ONES_32, compressed=ONES_32, extra=zip64_extra(ONES_64, ONES_64)),
    ],
    ids=["offset", "end", "compressed", "sizes"],
)
def test_position_beyond_64_bits_is_refused(tmp_path: Path, lie: Crafted, name: str) -> None:
    text = refusal(tmp_path, crafted(Crafted("b.md"), replace(lie, name=name), prefix=b"stub"))
    assert text.startswith(f"{name}: Its data overlaps")


def test_message_shows_a_name_on_one_line(tmp_path: Path) -> None:
    text = refusal(tmp_path, crafted(Crafted("x\n\x1b\u202e" + "y" * 999 + ".md")))
    assert text.isprintable()
    assert text.startswith("x\ufffd\ufffd\ufffdyyy")
    assert len(text) < 400


@pytest.mark.parametrize(
    "entry",
    [
        Crafted("a.pdf", flags=1),
        Crafted("a.bin", method=99, packed=b"x"),
        Crafted("link", attributes=0o120777 << 16),
        Crafted("../escape.txt"),
        Crafted(b"\xff\xfe.txt"),
        Crafted("notes.zip", crafted(NOTE), method=0),
        Crafted(".md"),
        Crafted("note.markdown"),
        Crafted("x/", b"data in a folder"),
    ],
)
def test_other_file_is_left_out_whatever_it_is(tmp_path: Path, entry: Crafted) -> None:
    result, listed = survey_of(tmp_path, crafted(NOTE, entry))
    assert result["left_out"]["other"] == 1
    assert len(listed) == 1


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (["a.md", "a.md"], "a.md: Another entry"),
        (["a.md", "A.MD.md", "A.md"], "A.md: Another entry"),
        (["stra\u00dfe.md", "STRASSE.md"], "STRASSE.md: Another entry"),
        (["\u00e4.md", "a\u0308.md"], "Another entry has the same path"),
        (["x.png", "X.png"], "X.png: Another entry"),
        (["attachments/x.png", "Attachments/x.png"], "Attachments/x.png: Another entry"),
        (["a.md", "a.md/b.md"], "A folder above it is a file"),
        (["a.md/b/c.md", "A.md"], "A folder above it is a file"),
        (["attachments/x.png/y.png", "x.png"], "A folder above it is a file"),
    ],
)
def test_files_that_collide_are_refused(tmp_path: Path, names: list[str], refused: str) -> None:
    assert refused in refusal(tmp_path, crafted(*map(Crafted, names)))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x.png"], ["attachments/x.png"]),
        (["a/b/x.png"], ["attachments/a/b/x.png"]),
        (["Attachments/x.png"], ["attachments/x.png"]),
        (["attachments/x.png", "x.png"], ["attachments/x.png", "attachments/x-2.png"]),
        (
            ["x.png", "attachments/X.png", "attachments/x-2.PNG"],
            ["attachments/x-3.png", "attachments/X.png", "attachments/x-2.PNG"],
        ),
        (
            ["attachments/a.png", "a.png/b.png"],
            ["attachments/a.png", "attachments/b-2.png"],
        ),
    ],
)
def test_image_gets_a_path_among_the_attachments(
    tmp_path: Path, names: list[str], expected: list[str]
) -> None:
    assert finals(tmp_path, *names) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a\u200b.md", "x\ufeff/b.md"], ["a.md", "x/b.md"]),
        (["a\u200b.md", "a.md"], ["a 2.md", "a.md"]),
        (["a\u200b.md", "a\u2060.md"], ["a.md", "a 2.md"]),
        (["\u3164.md", "\u200d.md"], ["_.md", "_ 2.md"]),
        (["x.md", "x.md\u200b/a.md"], ["x.md", "a 2.md"]),
        (["attachments\u200b/p.png", "q\u202e.png"], ["attachments/p.png", "attachments/q.png"]),
        (
            ["attachments/p\u200b.png", "attachments/p.png"],
            ["attachments/p-2.png", "attachments/p.png"],
        ),
    ],
)
def test_path_with_hidden_characters_is_cleaned_and_counted(
    tmp_path: Path, names: list[str], expected: list[str]
) -> None:
    assert finals(tmp_path, *names) == expected
    paths = written(tmp_path / "counted", crafted(*map(Crafted, names)))
    _, found = surveyed(tmp_path / "counted", paths)
    assert found["cleaned"] == sum(without_hidden_characters(each) != each for each in names)


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        (Crafted("b\u00fc.md"), "b\u00fc.md"),
        (Crafted(unicodedata.normalize("NFD", "b\u00fc.md")), "b\u00fc.md"),
        (Crafted("b\u00fc.md".encode(), flags=0), "b\u00fc.md"),
        (Crafted("b\u00fc.md".encode("cp437"), flags=0), "b\u00fc.md"),
        (Crafted(b"b?.md", flags=0, extra=unicode_extra("b\u65e5.md", b"b?.md")), "b\u65e5.md"),
        (Crafted(b"b.md", flags=0, extra=unicode_extra("c.md", b"x.md")), "b.md"),
        (Crafted("folder\\b.md"), "folder/b.md"),
        (Crafted("./b.md"), "b.md"),
    ],
)
def test_name_is_decoded_as_its_program_wrote_it(tmp_path: Path, entry: Crafted, path: str) -> None:
    assert finals(tmp_path, entry) == [path]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(crafted(NOTE, Crafted("b.md", offset=0)), id="same-place"),
        pytest.param(crafted(NOTE, Crafted("b.md", offset=20)), id="inside"),
        pytest.param(crafted(NOTE, Crafted("b.pdf", offset=10)), id="left-out"),
        pytest.param(crafted(Crafted("a.md", compressed=9999)), id="directory"),
        pytest.param(crafted(Crafted("a.md", compressed=100), Crafted("b.md")), id="next"),
        pytest.param(crafted(Crafted("a.md", offset=1 << 31)), id="outside"),
    ],
)
def test_entries_that_overlap_are_refused(tmp_path: Path, data: bytes) -> None:
    assert "overlaps another entry or the directory" in refusal(tmp_path, data)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    parts = written(tmp_path, crafted(NOTE, Crafted("x/", b""), Crafted("y.pdf")))
    surveyed(tmp_path, parts, {**LIMITS, "entries": 3})
    with pytest.raises(ArchiveTooManyFiles, match=r"has 3 entries\. At most 2 are accepted"):
        surveyed(tmp_path, parts, {**LIMITS, "entries": 2})


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    parts = written(tmp_path, crafted(NOTE, Crafted("b.md"), Crafted("y.pdf", bytes(999))))
    surveyed(tmp_path, parts, {**LIMITS, "total": 8})
    with pytest.raises(ArchiveTooLarge, match="more than 7 bytes"):
        surveyed(tmp_path, parts, {**LIMITS, "total": 7})


def test_missing_part_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        surveyed(tmp_path, [str(tmp_path / "missing")])


async def test_refusal_of_a_worker_process_has_the_kind_and_the_reason(tmp_path: Path) -> None:
    pool = WorkerPool(1, seconds=60, folder=tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pool.serve)
        parts = written(tmp_path, crafted(NOTE))
        found = await pool.run(survey, parts, str(tmp_path), LIMITS)
        assert (found["notes"], found["left_out"]["other"]) == (1, 0)
        (begin, end) = found["note_slices"][0]
        file, _ = await pool.run(check_notes, parts, str(tmp_path), begin, end)
        assert [note.path for note in checked_notes([file])] == ["a.md"]
        with pytest.raises(WorkRefused, match="has 1 entries") as refused:
            await pool.run(survey, parts, str(tmp_path), {**LIMITS, "entries": 0})
        assert refused.value.kind == ArchiveTooManyFiles.__name__
        nursery.cancel_scope.cancel()


def test_codes_are_those_of_the_contract() -> None:
    kinds = (ArchiveInvalid, ArchiveTooManyFiles, ArchiveTooLarge)
    codes = ["archive_invalid", "archive_too_many_files", "archive_too_large"]
    assert [kind.code for kind in kinds] == codes
    assert all(issubclass(kind, ArchiveRefused) for kind in kinds)

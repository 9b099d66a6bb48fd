"""Archives that are complete, and every way to cut one."""

import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st
from octavo_client.exporting import TAIL, has_end

from octavo.features.archives.worker import zip_writer
from octavo.features.archives.worker.selection import ExportLayout


def exported(files: dict[str, bytes]) -> bytes:
    writer = zip_writer.ZipWriter(ExportLayout())
    return b"".join([*(writer.note(path, data) for path, data in files.items()), writer.end()])


def complete(data: bytes) -> bool:
    return has_end(data[-TAIL:], len(data))


def test_export_is_complete_and_none_of_its_beginnings_is() -> None:
    data = exported({"a.md": b"one", "inner.md": exported({"b.md": b"two"})})
    assert complete(data)
    assert not any(complete(data[:length]) for length in range(len(data)))


def test_export_of_nothing_is_complete() -> None:
    assert complete(exported({}))


def test_export_with_zip64_records_is_complete() -> None:
    data = exported({f"{number}.md": b"" for number in range(65_535)})
    assert b"PK\x06\x06" in data[-200:]
    assert complete(data)
    assert not complete(data[:-1])
    assert not complete(data[1:])


def test_archive_inside_a_stored_file_is_no_end() -> None:
    """The end of the cut archive is the end of one that it contains."""
    inner = exported({"b.md": b"two"})
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as packed:
        packed.writestr("inner.zip", inner)
    data = written.getvalue()
    cut = data[: data.index(inner) + len(inner)]
    assert cut.endswith(inner)
    assert not complete(cut)


@given(st.binary(max_size=200))
def test_bytes_after_the_end_must_be_the_comment(more: bytes) -> None:
    assert complete(exported({"a.md": b"one"}) + more) is (more == b"")


@given(st.binary(max_size=400).map(lambda data: data + b"PK\x05\x06" + data))
def test_any_bytes_are_judged_without_an_error(data: bytes) -> None:
    assert has_end(data, len(data) + 1) in (True, False)

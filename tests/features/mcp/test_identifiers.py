"""The URIs of notes."""

from urllib.parse import quote
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.mcp.tools import (
    note_uri,
    read_identifier,
    read_note_uri,
    read_path_uri,
    read_workspace_id,
)

A, B = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"


@given(st.uuids(), st.uuids())
def test_uri_names_its_note(workspace: UUID, file: UUID) -> None:
    assert read_note_uri(note_uri(str(workspace), str(file))) == (str(workspace), str(file))


@given(st.uuids(), st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_uri_of_a_path_names_it(workspace: UUID, path: str) -> None:
    uri = f"octavo://{workspace}/notes/{quote(path)}"
    assert read_path_uri(uri) == (str(workspace), path)


def test_case_and_scheme_may_differ() -> None:
    assert read_note_uri(f"{A}/{B}".upper()) == (A, B)
    assert read_workspace_id(f"octavo://{A}/") == A
    assert read_identifier(A.upper()) == A


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.md",
        A,
        f"{A}/",
        f"octavo://{A}/{B}/",
        f"octavo:{A}/{B}",
        f"file://{A}/{B}",
        f"{A}/{B}\n",
    ],
)
def test_other_text_names_no_note(text: str) -> None:
    assert read_note_uri(text) is None


@pytest.mark.parametrize(
    "text",
    [f"octavo://{A}/notes/", f"octavo://{A}/a.md", "octavo://x/notes/a", f"octavo://{A}/notes/%ff"],
)
def test_other_text_names_no_path(text: str) -> None:
    assert read_path_uri(text) is None


@pytest.mark.parametrize("text", ["", "a", f"{A}/{B}", f"{A}x"])
def test_other_text_names_no_workspace(text: str) -> None:
    assert read_workspace_id(text) is None

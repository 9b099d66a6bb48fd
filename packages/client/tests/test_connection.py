"""Responses are parsed strictly, but newer servers may add members."""

import json
from datetime import UTC, datetime

import pytest
from octavo_client import UnexpectedResponse
from octavo_client.connection import parse_response
from octavo_rules.schemas import FileChange, NoteDocument, NoteSave, RevisionDocument
from pydantic import ValidationError

from .stub_server import CHANGE, REVISION

SAVE = {
    **CHANGE,
    "outcome": "merged",
    "epoch": REVISION["id"],
    "update": "AAA=",
    "stateVector": "AA==",
}


def test_response_is_typed_and_immutable() -> None:
    revision = parse_response(RevisionDocument, json.dumps(REVISION))
    assert revision.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (revision.position, revision.path, revision.size) == (1, "a.md", 3)
    with pytest.raises(ValidationError, match="frozen"):
        revision.position = revision.position


def test_bytes_are_read_from_base64() -> None:
    assert parse_response(NoteSave, json.dumps(SAVE)).update == b"\0\0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("position", "1"),
        ("position", True),
        ("position", 1.5),
        ("position", None),
        ("size", []),
        ("kind", "poem"),
        ("path", 7),
        ("createdAt", 1_767_225_600),
        ("createdAt", "yesterday"),
        ("id", None),
    ],
)
def test_member_of_another_type_is_refused_with_its_path(name: str, value: object) -> None:
    body = json.dumps({**CHANGE, "revision": {**REVISION, name: value}})
    with pytest.raises(UnexpectedResponse, match=f"FileChange: .* at /revision/{name}$"):
        parse_response(FileChange, body)


@pytest.mark.parametrize("name", ["position", "fileId", "outcome", "revision"])
def test_member_that_is_missing_is_named(name: str) -> None:
    body = json.dumps({key: value for key, value in CHANGE.items() if key != name})
    with pytest.raises(UnexpectedResponse, match=f"at /{name}$"):
        parse_response(FileChange, body)


@pytest.mark.parametrize("state", ["A", "====", "ä", 7])
def test_malformed_bytes_are_refused(state: object) -> None:
    body = json.dumps({"epoch": REVISION["id"], "state": state, "stateVector": "AA=="})
    with pytest.raises(UnexpectedResponse):
        parse_response(NoteDocument, body)


def test_sent_content_is_not_in_the_error() -> None:
    with pytest.raises(UnexpectedResponse) as refused:
        parse_response(RevisionDocument, '{"id": 5, "secret": "do not tell"}')
    assert "do not tell" not in str(refused.value)

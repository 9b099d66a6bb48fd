"""The log line of a request: what it contains, and what it never does."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.request_context import (
    LONGEST_PATH,
    RequestRecord,
    loggable_path,
    request_log,
)
from octavo.log import Log, Sink

RECORD = RequestRecord(
    request_id="r-1",
    method="POST",
    path="/api/workspaces",
    operation="createWorkspace",
    status=201,
    duration=0.0012349,
    remote_address="203.0.113.9",
    request_bytes=20,
    response_bytes=300,
    principal="a-1",
    failure=None,
)


def line(record: RequestRecord) -> dict[str, object]:
    stream = io.BytesIO()
    request_log(Log("json", Sink(stream), lambda: 0.0).write)(record)
    logged: dict[str, object] = json.loads(stream.getvalue())
    return logged


def test_line_has_caller_request_and_outcome() -> None:
    assert line(RECORD) == {
        "time": "1970-01-01T00:00:00.000Z",
        "level": "info",
        "event": "request",
        "requestId": "r-1",
        "method": "POST",
        "path": "/api/workspaces",
        "operation": "createWorkspace",
        "status": 201,
        "durationMs": 1.234,
        "client": "203.0.113.9",
        "bytesIn": 20,
        "bytesOut": 300,
        "account": "a-1",
    }


def test_line_omits_missing_values() -> None:
    record = RECORD._replace(operation=None, principal=None)
    assert line(RECORD).keys() - line(record).keys() == {"operation", "account"}


def test_line_marks_a_response_that_was_cut_off() -> None:
    assert line(RECORD._replace(complete=False)) == {**line(RECORD), "incomplete": True}


@pytest.mark.parametrize(
    ("status", "level"), [(200, "info"), (404, "info"), (499, "info"), (500, "error")]
)
def test_line_of_a_failure_of_the_service_is_an_error(status: int, level: str) -> None:
    logged = line(RECORD._replace(status=status, failure="some_code"))
    assert (logged["level"], logged["problem"]) == (level, "some_code")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", "/"),
        ("/api/workspaces/w/files/f", "/api/workspaces/w/files/f"),
        ("/published/s3cret", "/published/[secret]"),
        ("/published/s3cret/report", "/published/[secret]/report"),
        ("/PUBLISHED/s3cret", "/PUBLISHED/[secret]"),
        ("//published//s3cret", "//published//[secret]"),
        ("/api/invitations/s3cret", "/api/invitations/[secret]"),
        ("/reset-password/s3cret", "/reset-password/[secret]"),
        ("/published", "/published"),
        ("/published/", "/published/"),
        ("/a?ticket=s3cret", "/a"),
        ("/published/s3cret?note=s3cret", "/published/[secret]"),
        ("/" + "x" * 1000, "/" + "x" * (LONGEST_PATH - 1)),
    ],
)
def test_path_is_shown_without_its_secrets(path: str, shown: str) -> None:
    assert loggable_path(path) == shown


@given(
    before=st.sampled_from(["", "/api", "/a/b"]),
    name=st.sampled_from(["published", "invitations", "Published"]),
    slashes=st.integers(1, 3),
    after=st.text("/?abc"),
)
def test_path_never_shows_a_secret_segment(
    before: str, name: str, slashes: int, after: str
) -> None:
    path = f"{before}/{name}{'/' * slashes}s3cret{after}"
    assert "s3cret" not in loggable_path(path)

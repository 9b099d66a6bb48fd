"""Who may do what: every operation and page, by every kind of caller, as the page on security says.

The cells are judged by people, in the table; here they are compared with what happens.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from octavo.service.registry import api_document
from tests.access_matrix.run import UNLOGGED, Matrix, made
from tests.access_matrix.table import PAGE, differences, replaced, written
from tests.e2e.operations.common import operations


class Lines(logging.Handler):
    """Keeps what modules log."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(self.format(record))


@pytest.fixture(scope="module")
def lines() -> Iterator[list[str]]:
    handler, root = Lines(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.kept
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> Matrix:
    folder: Path = tmp_path_factory.mktemp("matrix")
    found: Matrix = trio.run(made, folder)
    return found


def test_everybody_may_do_what_the_table_says_and_nothing_else(matrix: Matrix) -> None:
    said = differences(written(PAGE.read_text()), matrix.cells)
    assert not said, "\n".join(["judge each, then run python -m tests.access_matrix:", *said])


def test_table_is_written_as_the_command_writes_it(matrix: Matrix) -> None:
    assert replaced(PAGE.read_text(), matrix.cells) == PAGE.read_text()


def test_every_operation_and_page_is_called(matrix: Matrix) -> None:
    called = {asked.what for asked in matrix.cells}
    assert {each["operationId"] for each in operations(api_document())} <= called
    assert {"GET /account", "POST /workspaces/{workspaceId}/delete"} <= called
    assert matrix.calls > 5000


def test_refused_calls_change_nothing_and_nobody_sees_marks_of_others(matrix: Matrix) -> None:
    assert not matrix.faults, "\n".join(matrix.faults)


def test_log_of_modules_has_no_mark(matrix: Matrix, lines: list[str]) -> None:
    assert [line for line in lines if any(mark in line.casefold() for mark in UNLOGGED)] == []


def test_operation_without_rows_is_named(matrix: Matrix) -> None:
    table = written(PAGE.read_text())
    [asked] = [each for each in table if each.what == "purgeFile" and each.named == "the workspace"]
    left = {each: row for each, row in table.items() if each != asked}
    assert differences(left, matrix.cells) == ["purgeFile (the workspace): no row in the table"]
    more = {each: row for each, row in matrix.cells.items() if each != asked}
    assert differences(table, more) == ["purgeFile (the workspace): no longer there"]

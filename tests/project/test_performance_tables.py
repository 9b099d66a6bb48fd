"""The tables of docs/performance.md that benchmarks write."""

import re
from datetime import date
from pathlib import Path

import pytest

from benchmarks.figures import PAGE, TABLES, marks_of, rendered, write_tables

_FIGURE = re.compile(r"\{([^:}]+):")


def figures_of(name: str, value: float = 1234.5) -> dict[str, float]:
    cells = [cell for row in TABLES[name].rows for cell in row]
    return {figure: value for cell in cells for figure in _FIGURE.findall(cell)}


@pytest.mark.parametrize("name", TABLES)
def test_page_has_each_table_once_as_its_benchmark_writes_it(name: str) -> None:
    begin, end = marks_of(name)
    page = PAGE.read_text()
    assert (page.count(begin), page.count(end)) == (1, 1)
    written = page.partition(begin)[2].partition(end)[0].splitlines()
    expected = (rendered(TABLES[name], figures_of(name), date(2026, 1, 2)) or "").splitlines()
    assert written[0].partition(" with ")[2] == expected[0].partition(" with ")[2]
    # The names of the rows, and how many cells each has.
    assert [(line.split("|")[1:2], line.count("|")) for line in written[1:]] == [
        (line.split("|")[1:2], line.count("|")) for line in expected[1:]
    ]


def test_table_is_written_between_its_marks_with_the_day(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = marks_of("devices")
    page.write_text(f"before\n\n{begin}old\n{end}\nafter\n")
    figures = figures_of("devices", 9.96) | {"document saves/100 KB/16/rate": 1234.5}
    assert write_tables(figures, page, date(2026, 1, 2)) == ["devices"]
    assert page.read_text() == (
        f"before\n\n{begin}"
        "Measured on 2026-01-02 with `benchmarks/documents.py --only saves`:\n\n"
        "| load | a second | processor time of the server, each | p50 | p99 |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| saves of a few characters on one note of 100 KB, 1 device | 10 | 10.0 ms | 10.0 ms |"
        " 10.0 ms |\n"
        "| 16 devices | 1,234 | 10.0 ms | 10.0 ms | 10.0 ms |\n"
        "| 64 devices | 10 | 10.0 ms | 10.0 ms | 10.0 ms |\n"
        f"{end}\nafter\n"
    )


def test_table_without_all_its_figures_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text := "nothing\n")
    some = figures_of("devices")
    del some["document saves/100 KB/64/p99"]
    assert write_tables(some, page) == []
    assert page.read_text() == text


def test_page_without_the_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text := "nothing\n")
    with pytest.raises(ValueError, match="devices"):
        write_tables(figures_of("devices"), page)
    assert page.read_text() == text

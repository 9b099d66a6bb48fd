"""Report figures, one line of JSON each, and write them into the tables of docs/performance.md.

A script with ``--write`` replaces each table of `TABLES` whose figures it has measured, with the
date and the command. Nothing is written by hand between the marks of a table.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
_FIGURE = re.compile(r"\{([^:{}]+):([^{}]+)\}")
REPORTED: dict[str, float] = {}
"""What this run has measured, by name."""


class Table(NamedTuple):
    """A table of figures.

    Attributes:
        command: what measures it.
        head: the names of its columns.
        rows: the cells of each row; ``{name:form}`` stands for a figure, in a form of Python, or
            ``ms`` for milliseconds.
    """

    command: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _against_floor(label: str, name: str) -> tuple[str, ...]:
    name = f"floor/{name}"
    return (
        label,
        f"{{{name}/floor:,.0f}}",
        f"{{{name}/octavo:,.0f}}",
        f"{{{name}/ratio:.2f}}",
    )


def _instructions(label: str, name: str) -> tuple[str, ...]:
    name = f"floor/{name}"
    return (
        label,
        f"{{{name}/floor/instructions:,.0f}}",
        f"{{{name}/octavo/instructions:,.0f}}",
        f"{{{name}/instructions/ratio:.2f}}",
    )


def _timed(label: str, name: str) -> tuple[str, ...]:
    return (label, f"{{{name}/rate:,.0f}}", f"{{{name}/p50:ms}}", f"{{{name}/p99:ms}}")


def _counted(label: str, name: str) -> tuple[str, ...]:
    return (label, f"{{{name}:.0f}}", f"{{back to back/{name}:.0f}}", f"{{floor/{name}:.0f}}")


def _of_devices(label: str, count: int) -> tuple[str, ...]:
    name = f"document saves/100 KB/{count}"
    return (
        label,
        f"{{{name}/rate:,.0f}}",
        f"{{{name}/server cpu:ms}}",
        f"{{{name}/p50:ms}}",
        f"{{{name}/p99:ms}}",
    )


AGAINST_FLOOR: Mapping[str, str] = {
    "guarded saves, 1 writer": "saves/1",
    "guarded saves, 16 writers in one workspace": "saves/16",
    "guarded saves, 64 writers in one workspace": "saves/64",
    "compare-and-swap on one note by 16 writers, accepted": "one note/16",
    "conditional reads (304), 16 clients": "304/16",
    "reads of a note of 2 KB that was read lately, 16 clients": "2 KB/16",
    "reads of 4,000 notes of 2 KB in turn, from the database": "2 KB of other notes/16",
    "health, 16 clients": "health/16",
}
"""The loads that are compared with the floor, and the names of their figures."""
TABLES: Mapping[str, Table] = {
    "whole service": Table(
        "benchmarks/http.py",
        ("load", "a second", "p50", "p99"),
        (
            _timed("guarded saves, 1 writer", "saves/one workspace/1"),
            _timed("guarded saves, 16 writers in one workspace", "saves/one workspace/16"),
            _timed("guarded saves, 64 writers in one workspace", "saves/one workspace/64"),
            _timed("guarded saves, 64 writers in 64 workspaces", "saves/64 workspaces/64"),
            _timed("conditional reads (304), 64 clients", "reads/304/64"),
            _timed("reads of 2 KB, 64 clients", "reads/2 KB/64"),
            (
                "compare-and-swap on one note by 16 writers, accepted (refused)",
                "{contended/16/accepted:,.0f} ({contended/16/refused:,.0f})",
                "",
                "",
            ),
            ("notices to 100 listeners, as fast as it goes", "{notices/100/rate:,.0f}", "", ""),
            ("notices to 1,000 listeners, as fast as it goes", "{notices/1000/rate:,.0f}", "", ""),
            (
                "two changes a second to 100 listeners, from the save's start",
                "",
                "{notices/100/paced/p50:ms}",
                "{notices/100/paced/p99:ms}",
            ),
            (
                "two changes a second to 1,000 listeners, from the save's start",
                "",
                "{notices/1000/paced/p50:ms}",
                "{notices/1000/paced/p99:ms}",
            ),
        ),
    ),
    "floor": Table(
        "benchmarks/http.py --only floor",
        ("load", "floor, a second", "Octavo, a second", "ratio"),
        (
            *[_against_floor(label, name) for label, name in AGAINST_FLOOR.items()],
            (
                "notices of the saves of one writer to 1,000 listeners",
                "{floor/notices/1000/floor:,.0f}",
                "{floor/notices/1000/octavo:,.0f}",
                "{floor/notices/1000/ratio:.2f}",
            ),
        ),
    ),
    "instructions": Table(
        "benchmarks/http.py --only floor",
        ("thousands of instructions of a response", "floor", "Octavo", "ratio"),
        tuple(_instructions(label, name) for label, name in AGAINST_FLOOR.items()),
    ),
    "functions": Table(
        "benchmarks/calls.py --floor",
        ("request", "calls, client pauses", "calls, back to back", "calls of the floor"),
        (
            _counted("save of 2 KB with ten links, 1 writer", "save, 1 writer"),
            (
                "the same, 16 writers",
                "",
                "{save, 16 writers:.0f}",
                "{floor/save, 16 writers:.0f}",
            ),
            _counted("conditional read (304)", "304"),
            _counted("read of a note of 2 KB that was read lately", "read of 2 KB"),
            _counted("health", "health"),
        ),
    ),
    "PostgreSQL": Table(
        "benchmarks/http.py --postgres URL",
        ("load", "a second", "p50", "p99"),
        (
            _timed("guarded saves, 1 writer", "postgres/saves/one workspace/1"),
            _timed("16 writers in one workspace", "postgres/saves/one workspace/16"),
            _timed("64 writers in one workspace", "postgres/saves/one workspace/64"),
            _timed("64 writers in 64 workspaces", "postgres/saves/64 workspaces/64"),
        ),
    ),
    "devices": Table(
        "benchmarks/documents.py --only saves",
        ("load", "a second", "processor time of the server, each", "p50", "p99"),
        (
            _of_devices("saves of a few characters on one note of 100 KB, 1 device", 1),
            _of_devices("16 devices", 16),
            _of_devices("64 devices", 64),
        ),
    ),
}
"""The tables by the names in their marks."""


def report(name: str, value: float, unit: str) -> None:
    """Print a figure, and keep it for `write_tables`."""
    REPORTED[name] = value
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit}), flush=True)


def checkout(text: str) -> Path:
    """Return the folder of another checkout, for an option; argparse reports what it refuses."""
    folder = Path(text).resolve()
    if not (folder / "octavo" / "__init__.py").is_file():
        # Without the package, this one's would be measured under the other's name.
        raise argparse.ArgumentTypeError(f"{folder} has no package octavo: name a checkout of it")
    return folder


def positive(text: str) -> int:
    """Return a number of at least 1, for an option; argparse reports what it refuses."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def marks_of(name: str) -> tuple[str, str]:
    """Return the marks before and after a table."""
    return f"<!-- table: {name} -->\n", f"<!-- end of table: {name} -->\n"


def rendered(table: Table, figures: Mapping[str, float], day: date) -> str | None:
    """Return a table in Markdown, with the date and the command; None without all its figures."""

    def shown(named: re.Match[str]) -> str:
        figure, form = figures[named[1]], named[2]
        if form == "ms":
            return f"{figure:.0f} ms" if figure >= 10 else f"{figure:.1f} ms"
        return format(figure, form)

    try:
        rows = [[_FIGURE.sub(shown, cell) for cell in row] for row in table.rows]
    except KeyError:
        return None
    lines = [table.head, ["---"] * len(table.head), *rows]
    drawn = "".join(f"| {' | '.join(cells)} |\n".replace("  |", " |") for cells in lines)
    return f"Measured on {day} with `{table.command}`:\n\n{drawn}"


def _missing(table: Table, figures: Mapping[str, float]) -> str | None:
    """Return a figure that a table lacks of which others were measured; None for none."""
    names = [found[1] for row in table.rows for cell in row for found in _FIGURE.finditer(cell)]
    lacking = [name for name in names if name not in figures]
    return lacking[0] if 0 < len(lacking) < len(names) else None


def write_tables(
    figures: Mapping[str, float] = REPORTED, page: Path = PAGE, day: date | None = None
) -> list[str]:
    """Replace the tables of ``page`` whose figures were all measured; return their names.

    Tells on standard error what was written, and which tables lack figures. Raises ValueError, and
    writes nothing, for a page without their marks.
    """
    text = page.read_text()
    written: list[str] = []
    for name, table in TABLES.items():
        drawn = rendered(table, figures, day or datetime.now(UTC).date())
        if drawn is not None:
            begin, end = marks_of(name)
            if text.count(begin) != 1 or text.count(end) != 1:
                raise ValueError(f"{page} must have the marks of the table {name} once")
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}{drawn}{end}{after}"
            written.append(name)
        elif missing := _missing(table, figures):
            print(f"the table {name!r} is not written: {missing} is missing", file=sys.stderr)
    page.write_text(text)
    print(f"tables written: {', '.join(written) or 'none'}", file=sys.stderr)
    return written

"""The table that a person reads, in the page on security."""

import re
from collections import defaultdict
from collections.abc import Mapping

from tests.access_matrix.callers import COLUMNS
from tests.access_matrix.run import NAMED, WORDS, Asked
from tests.project.source import ROOT

PAGE = ROOT / "docs/security.md"
BEGIN = "<!-- Written by `python -m tests.access_matrix`; do not edit. -->"
END = "<!-- End of what `python -m tests.access_matrix` writes. -->"
Cells = Mapping[Asked, Mapping[str, str]]


def rows(cells: Cells) -> list[str]:
    """The rows of the table: what has the same outcomes has one row."""
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for asked, row in cells.items():
        alike[asked.named, *row.values()].append(asked.what)
    head = ["| what | names |" + "".join(f" {name} |" for name in COLUMNS)]
    line = "|---" * (len(COLUMNS) + 2) + "|"
    ordered = sorted(alike, key=lambda key: (NAMED.index(key[0]), alike[key]))
    body = [
        f"| {', '.join(f'`{what}`' for what in sorted(alike[key]))} | {key[0]} |"
        + "".join(f" {_written(word)} |" for word in key[1:])
        for key in ordered
    ]
    return [*head, line, *body]


def _written(outcome: str) -> str:
    return outcome if outcome in WORDS else f"`{outcome}`"


def written(page: str) -> dict[Asked, dict[str, str]]:
    """The cells of the table in the page."""
    found: dict[Asked, dict[str, str]] = {}
    for row in _part(page).splitlines()[2:]:
        what, named, *words = (each.strip() for each in row.strip("|").split("|"))
        for each in re.findall(r"`([^`]+)`", what):
            cells = (word.strip("`") for word in words)
            found[Asked(named, each)] = dict(zip(COLUMNS, cells, strict=True))
    return found


def replaced(page: str, cells: Cells) -> str:
    """The page with the table of ``cells``."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return "\n".join([f"{before}{BEGIN}", "", *rows(cells), "", f"{END}{after}"])


def _part(page: str) -> str:
    return page.partition(BEGIN)[2].partition(END)[0].strip()


def differences(table: Cells, found: Cells) -> list[str]:
    """What the table says otherwise than the run, in both directions."""
    said = [
        f"{what} ({named}): no row in the table"
        for named, what in found
        if (named, what) not in table
    ]
    said += [
        f"{what} ({named}): no longer there" for named, what in table if (named, what) not in found
    ]
    for asked in table.keys() & found.keys():
        said += [
            f"{asked.what} ({asked.named}), {name}: {found[asked][name]}, and the table says {word}"
            for name, word in table[asked].items()
            if found[asked][name] != word
        ]
    return sorted(said)

"""Write the figures of the last long run into docs/security.md: ``python -m`` this module."""

import json
import os
import platform
import sys
from typing import Any

from tests.e2e.overload.siege import Bounds
from tests.e2e.overload.table import ATTACKS
from tests.project.source import ROOT

BEGIN = "<!-- Written by `make siege`; do not edit. -->"
END = "<!-- End of what `make siege` writes. -->"
_FILE = ROOT / "build" / "overload.json"
_PAGE = ROOT / "docs" / "security.md"
_COLUMNS = {
    "health, ms": ("health p50", "health p99"),
    "saves, ms": ("saves p50", "saves p99"),
    "longest, ms": ("health max", "saves max"),
    "refused": ("refused",),
    "memory, MiB": ("memory",),
    "stop, s": ("stop",),
}


def record(name: str, figures: dict[str, Any]) -> None:
    """Replace the figures of the attack ``name``."""
    found = _read()
    found[name] = figures
    _FILE.parent.mkdir(exist_ok=True)
    _FILE.write_text(json.dumps(found, indent=2) + "\n")


def written(page: str, figures: dict[str, dict[str, Any]], machine: str) -> str:
    """Return ``page`` with ``figures`` in the place of those of an earlier run."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [f"| attack | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 1) + "|"]
    for name, measured in figures.items():
        cells = (_cell(measured, columns) for columns in _COLUMNS.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"{before}{BEGIN}\n\n{machine}\n\n{table}\n\n{_legend()}\n\n{END}{after}"


def _legend() -> str:
    """Return what the attacks are."""
    of = {name: attack.target for name, attack in ATTACKS.items()}
    sizes, unread, at_once, pipelined = (
        of["sizes of forms"],
        of["unread pages"],
        of["operations at once"],
        of["pipelined requests"],
    )
    return f"""{_bounds()}

The attacks:

- *nothing*: the bystander alone, whose saves take memory, too.
- *700,000 members*, *330,000 operations*: bodies of 8 MB that have so many.
- *pipelined requests*, *requests of a page*: {pipelined.connections} connections that repeat
  {pipelined.pipelined} pipelined requests of `{pipelined.path}`, or one of
  `{of["requests of a page"].path}`.
- *800 networks of one subscriber*: the same page, on connections through a proxy, each from
  another network of one /48.
- *subscriptions of WebSockets*, *pings of WebSockets*: connections that send them all the time.
- *handshakes of TLS*: {of["handshakes of TLS"].connections} clients that connect all the time.
- *heads*: thousands of request heads that stop arriving.
- *unread documents*, *unread notes*: clients that ask for something large, and do not read it.
- *dripping bodies*, *full bodies*: clients that announce large bodies and send little, or all.
- *400 links rewritten*, *words of long notes*, *24,000 links read*, *changesets of 7 MB*: an
  account that moves, deletes, reads and saves as much as it may.
- *sizes of forms*, *fields of forms*, *heads in forms*: every form of the pages, urlencoded and
  multipart, from strangers, an account, and one whose session has ended; with
  {sizes.size // 1_000_000} MB in one field, in many fields, or in the heads of the parts;
  {sizes.together} together.
- *dripping forms*: the same forms, which arrive a byte at a time.
- *unread pages*: every page, and every form with a text of 2 MB, {unread.together} together,
  whose responses nobody reads.
- *operations at once*: every operation that reads, asked for the longest notes, lists and histories
  on {at_once.connections} connections at once, and once more when the first response has come.
- *sign-in flood*: strangers who try passwords from many addresses, while a browser that is known
  signs in."""


def _bounds() -> str:
    """Return what each attack may reach."""
    usual = Bounds()
    others: dict[str, list[str]] = {}
    for name, attack in ATTACKS.items():
        said = _unusual(attack.bounds, usual)
        if said:
            others.setdefault(said, []).append(f"*{name}*")
    lines = [f"- {', '.join(names)}: {said}." for said, names in others.items()]
    return (
        f"At most, for 99 % of the requests: health {usual.health:g} ms, saves {usual.saves:g} ms,"
        f" and none twice as long;\nfor half of the saves {usual.typical:g} ms; memory"
        f" {usual.memory:g} MiB; nothing refused. With other bounds:\n\n"
    ) + "\n".join(lines)


def _unusual(bounds: Bounds, usual: Bounds) -> str:
    """Return how bounds differ from the usual ones."""
    said = {
        f"health {bounds.health:g} ms": bounds.health != usual.health,
        f"saves {bounds.saves:g} ms": bounds.saves != usual.saves,
        f"half of the saves {bounds.typical:g} ms": bounds.typical != usual.typical,
        f"memory {bounds.memory:g} MiB": bounds.memory != usual.memory,
        f"health {bounds.stall:g} ms at the longest": bounds.stall != usual.stall,
    }
    return ", ".join(each for each, differs in said.items() if differs)


def _cell(measured: dict[str, Any], columns: tuple[str, ...]) -> str:
    return " / ".join(f"{measured[column]:,}" for column in columns if column in measured)


def _machine() -> str:
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return (
        f"Measured with {processors} processors, of which the attackers and the bystander take"
        f" their part, and Python {platform.python_version()}:"
    )


def _read() -> dict[str, dict[str, Any]]:
    if not _FILE.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(_FILE.read_text())
    return found


if __name__ == "__main__":
    figures = _read()
    assert figures, f"{_FILE} has no figures: run the attacks in their long form first"
    _PAGE.write_text(written(_PAGE.read_text(), figures, _machine()))

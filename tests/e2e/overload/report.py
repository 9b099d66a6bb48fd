"""The figures of the last long run, which ``python -m tests.e2e.overload.report`` prints."""

import json
from typing import Any

from tests.project.source import ROOT

_FILE = ROOT / "build" / "overload.json"
_COLUMNS = (
    "health p50",
    "health p99",
    "health max",
    "saves p50",
    "saves p99",
    "saves max",
    "refused",
    "memory",
    "stop",
)


def record(name: str, figures: dict[str, Any]) -> None:
    """Replace the figures of the attack ``name``."""
    found = _read()
    found[name] = figures
    _FILE.parent.mkdir(exist_ok=True)
    _FILE.write_text(json.dumps(found, indent=2) + "\n")


def table() -> str:
    """The figures as a table in Markdown: milliseconds, MiB, seconds."""
    lines = [f"| attack | {' | '.join(_COLUMNS)} |", "|---" * (len(_COLUMNS) + 1) + "|"]
    for name, figures in _read().items():
        cells = (str(figures.get(column, "")) for column in _COLUMNS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _read() -> dict[str, dict[str, Any]]:
    if not _FILE.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(_FILE.read_text())
    return found


if __name__ == "__main__":
    print(table())  # noqa: T201

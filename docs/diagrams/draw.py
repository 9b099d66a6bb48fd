"""Draw the diagrams of the documentation: ``python docs/diagrams/draw.py`` rewrites the SVG files.

Coordinates are in pixels. Each drawing has its own opaque ground, so that it is readable on a
light and on a dark page; it follows the colour scheme of the reader's system.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from octavo.service.features import FEATURES as ALL

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
FEATURES = [each.name for each in ALL]

STYLE = """
  .ground { fill: #fffdf9; stroke: #e4ded2 }
  .box { fill: #f7f5f0; stroke: #cfc6b5 }
  .main { fill: #f6e7dc; stroke: #8a3b12 }
  .frame { fill: none; stroke: #cfc6b5; stroke-dasharray: 4 4 }
  text { fill: #23201b; font: 14px system-ui, sans-serif }
  .name { font-weight: 600 }
  .note { fill: #6a6358; font-size: 12px }
  path { fill: none; stroke: #6a6358; stroke-width: 1.5 }
  .head { fill: #6a6358; stroke: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #211e1a; stroke: #37322b }
    .box { fill: #191714; stroke: #4b443a }
    .main { fill: #3a2a1f; stroke: #e39a6b }
    .frame { stroke: #4b443a }
    text { fill: #ece6da }
    .note { fill: #a59c8c }
    path { stroke: #a59c8c }
    .head { fill: #a59c8c }
  }
"""


@dataclass(frozen=True)
class Box:
    """A rectangle with a name and lines of notes below it."""

    x: int
    y: int
    width: int
    height: int
    name: str
    notes: tuple[str, ...] = ()
    style: str = "box"

    def svg(self) -> str:
        """Return the box as SVG."""
        middle = self.x + self.width // 2
        lines = 18 + 16 * len(self.notes)
        top = self.y + (self.height - lines) // 2 + 14
        if self.style == "frame":
            top = self.y + 20
        place = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        name = f'x="{middle}" y="{top}" text-anchor="middle"'
        parts = [
            f'<rect class="{self.style}" {place} rx="8"/>',
            f'<text class="name" {name}>{escape(self.name)}</text>',
        ]
        parts += [
            f'<text class="note" x="{middle}" y="{top + 17 + 16 * at}" text-anchor="middle">'
            f"{escape(note)}</text>"
            for at, note in enumerate(self.notes)
        ]
        return "\n".join(parts)


@dataclass(frozen=True)
class Arrow:
    """A line through points, with a head at its end and a label at ``at``."""

    points: tuple[tuple[int, int], ...]
    label: str = ""
    at: tuple[int, int] = (0, 0)
    anchor: str = "middle"

    def svg(self) -> str:
        """Return the arrow as SVG."""
        way = " L ".join(f"{x} {y}" for x, y in self.points)
        text = (
            f'\n<text class="note" x="{self.at[0]}" y="{self.at[1]}"'
            f' text-anchor="{self.anchor}">{escape(self.label)}</text>'
            if self.label
            else ""
        )
        return f'<path d="M {way}" marker-end="url(#head)"/>{text}'


def drawing(width: int, height: int, title: str, *parts: Box | Arrow) -> str:
    """Return a whole SVG document."""
    body = "\n".join(part.svg() for part in parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto-start-reverse"><path class="head" d="M 0 0 L 8 4 L 0 8 z"/>'
        "</marker></defs>\n"
        f'<rect class="ground" x="1" y="1" width="{width - 2}" height="{height - 2}" rx="14"/>\n'
        f"{body}\n</svg>\n"
    )


CONCEPTS = drawing(
    760,
    350,
    "A workspace, its files, their revisions, and the changesets that order them",
    Box(20, 20, 720, 310, "workspace", ("position 4: four changesets were accepted",), "frame"),
    Box(40, 90, 130, 60, "tea.md", ("a file",)),
    Box(210, 90, 100, 60, "revision", ("position 1",)),
    Box(440, 90, 100, 60, "revision", ("position 3",)),
    Box(560, 90, 140, 60, "revision = head", ("position 4",), "main"),
    Arrow(((170, 120), (208, 120))),
    Arrow(((310, 120), (438, 120))),
    Arrow(((540, 120), (558, 120))),
    Box(40, 180, 130, 60, "milk.md", ("a file",)),
    Box(325, 180, 100, 60, "revision", ("position 2",)),
    Box(560, 180, 140, 60, "revision = head", ("position 4",), "main"),
    Arrow(((170, 210), (323, 210))),
    Arrow(((425, 210), (558, 210))),
    Box(40, 270, 130, 44, "changesets"),
    Box(210, 270, 100, 44, "1"),
    Box(325, 270, 100, 44, "2"),
    Box(440, 270, 100, 44, "3"),
    Box(560, 270, 140, 44, "4", (), "main"),
    Arrow(((260, 270), (260, 152))),
    Arrow(((375, 270), (375, 242))),
    Arrow(((490, 270), (490, 152))),
    Arrow(((630, 270), (630, 242))),
    Arrow(((702, 292), (718, 292), (718, 120), (702, 120))),
)


def packages() -> str:
    """Draw the rooms and features by the layers of import-linter, the uppermost first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [layers] = [
        each["layers"]
        for each in settings["tool"]["importlinter"]["contracts"]
        if each["id"] == "layers"
    ]
    parts: list[Box] = []
    y = 30
    for layer in layers:
        rooms = [re.sub(r"[()\s]", "", room) for room in re.split("[|:]", layer)]
        if "features" in rooms:
            rows = [FEATURES[at : at + 5] for at in range(0, len(FEATURES), 5)]
            parts.append(Box(30, y, 700, 34 + 44 * len(rows), "features", (), "frame"))
            y += 30
            for row in rows:
                parts += _row(row, 42, y, 676, "main")
                y += 44
            y += 16
        there = [each for each in rooms if (ROOT / "octavo" / each / "__init__.py").exists()]
        others = [each for each in there if each != "features"]
        for at in range(0, len(others), 6):
            parts += _row(others[at : at + 6], 30, y, 700)
            y += 46
    libraries = ["octavo_client", "greenroom", "antechamber", "octavo_rules"]
    parts += _row(libraries, 30, y, 700, "frame")
    title = (
        "Rooms in rows, of which each imports only rows below it, and features in their order, "
        "of which each imports those before it"
    )
    return drawing(760, y + 64, title, *parts)


def _row(names: Sequence[str], x: int, y: int, width: int, style: str = "box") -> list[Box]:
    size = (width - 10 * (len(names) - 1)) // len(names) if names else 0
    return [
        Box(x + at * (size + 10), y, size, 34, name, (), style) for at, name in enumerate(names)
    ]


SAVE = drawing(
    760,
    470,
    "The path of a save from the socket to the disk and back",
    Box(30, 30, 150, 60, "client", ("PUT, if-match",)),
    Box(230, 30, 200, 60, "http/server", ("head, body, deadlines",)),
    Box(480, 30, 250, 60, "http/contract", ("route, authenticate, validate",)),
    Arrow(((180, 60), (228, 60))),
    Arrow(((430, 60), (478, 60))),
    Box(480, 130, 250, 60, "http/api", ("role, operation, message",)),
    Arrow(((605, 90), (605, 128))),
    Box(
        480,
        240,
        250,
        70,
        "workspace actor",
        ("plans all waiting changesets", "against the heads, in order"),
        "main",
    ),
    Arrow(((605, 190), (605, 238)), "ask: bounded mailbox", (615, 218), "start"),
    Box(
        230,
        240,
        200,
        70,
        "storage actor",
        ("one transaction for all", "workspaces that wait"),
        "main",
    ),
    Arrow(((478, 275), (432, 275)), "plans", (455, 266)),
    Box(230, 370, 200, 70, "SQLite", ("moves the position, or nothing", "one fsync for the batch")),
    Arrow(((330, 310), (330, 368)), "write", (340, 343), "start"),
    Box(480, 370, 250, 70, "notice hub", ("passes the new position", "to the listeners")),
    Arrow(((605, 310), (605, 368)), "after the commit", (615, 343), "start"),
    Arrow(((478, 160), (105, 160), (105, 92)), "receipt, only after the commit", (290, 152)),
)

NOTICE = drawing(
    760,
    250,
    "The path of a notice from a commit to every listener",
    Box(30, 40, 170, 70, "workspace actor", ("position 8 is durable",), "main"),
    Box(285, 40, 180, 70, "notice hub", ("newest position", "of each workspace"), "main"),
    Box(520, 40, 210, 70, "ws", ("one frame for all streams,", "encoded once")),
    Arrow(((200, 75), (283, 75)), "announce", (242, 66)),
    Arrow(((465, 75), (518, 75))),
    Box(30, 160, 170, 60, "PostgreSQL", ("NOTIFY",)),
    Arrow(((115, 110), (115, 158)), "in the transaction", (125, 138), "start"),
    Box(285, 160, 180, 60, "other processes", ("LISTEN, their hubs",)),
    Arrow(((200, 190), (283, 190))),
    Box(520, 160, 210, 60, "device", ("reads the feed past its position",)),
    Arrow(((625, 110), (625, 158)), "changed, position 8", (615, 140), "end"),
)

DRAWINGS = {
    "concepts.svg": CONCEPTS,
    "packages.svg": packages(),
    "save.svg": SAVE,
    "notice.svg": NOTICE,
}


def main() -> None:
    """Write every drawing next to this file."""
    for name, svg in DRAWINGS.items():
        (FOLDER / name).write_text(svg)


if __name__ == "__main__":
    main()

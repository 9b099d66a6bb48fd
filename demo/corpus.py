"""A vault of real Markdown: the READMEs of the packages installed here, a note for each section.

Each package has a folder; its index links to the sections, which link back and to their neighbours.
"""

import re
from email.message import Message
from importlib.metadata import Distribution, distributions
from typing import cast

LONGEST_SECTION = 900
"""Characters; a longer section goes on in a further note, at a paragraph."""
FEWEST = 1_000

_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_FORBIDDEN = re.compile(r"[^\w .()+-]+")


def vault() -> dict[str, str]:
    """Answer the notes of the vault by their paths, `FEWEST` at least.

    Raises SystemExit when so little Markdown is installed.
    """
    notes: dict[str, str] = {}
    for distribution in sorted(distributions(), key=_name):
        # What the interface leaves out of the message that it is.
        metadata = cast(Message, distribution.metadata)
        readme, kind = metadata.get_payload(), metadata.get("Description-Content-Type", "")
        if kind.startswith("text/markdown") and isinstance(readme, str):
            notes |= _package(_name(distribution), _sections(readme))
    if len(notes) < FEWEST:
        raise SystemExit(f"only {len(notes)} notes of Markdown are installed: run make dev first")
    return notes


def _name(distribution: Distribution) -> str:
    return distribution.metadata["Name"].lower()


def _sections(readme: str) -> list[tuple[str, str]]:
    """Answer titles and texts, cut at headings outside of code, and at paragraphs."""
    sections: list[tuple[str, list[str]]] = [("Preface", [])]
    fenced = False
    for line in readme.splitlines():
        fenced ^= _FENCE.match(line) is not None
        heading = None if fenced else _HEADING.match(line)
        long = sum(map(len, sections[-1][1])) > LONGEST_SECTION
        if heading is not None:
            sections.append((heading[1], []))
        elif long and not fenced and not line.strip():
            sections.append((sections[-1][0], []))
        sections[-1][1].append(line)
    told = [(title, "\n".join(lines).strip()) for title, lines in sections]
    return [(title, text) for title, text in told if text]


def _package(name: str, sections: list[tuple[str, str]]) -> dict[str, str]:
    files = [f"{number:03} {_file(title)}.md" for number, (title, _) in enumerate(sections, 1)]
    linked = "\n".join(f"- [{_plain(t)}](<{f}>)" for (t, _), f in zip(sections, files, strict=True))
    notes = {f"{name}/index.md": f"# {name}\n\n{linked}\n"}
    for number, (_, text) in enumerate(sections):
        around = ["[index](index.md)"]
        if number:
            around.append(f"[before](<{files[number - 1]}>)")
        if number + 1 < len(files):
            around.append(f"[next](<{files[number + 1]}>)")
        notes[f"{name}/{files[number]}"] = f"{text}\n\n---\n{' · '.join(around)}\n"
    return notes


def _file(title: str) -> str:
    return (
        _FORBIDDEN.sub(" ", title.encode("ascii", "ignore").decode())[:60].strip(" .") or "section"
    )


def _plain(title: str) -> str:
    return title.replace("[", "(").replace("]", ")")

"""Real Markdown for notes: parts of the documentation of this project, with links and code."""

import random
import re
from functools import cache
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"
_LINK = re.compile(r"\]\(")
_HEADING = re.compile(r"#+ +(.+)")


@cache
def _lines() -> tuple[str, ...]:
    texts = [each.read_text() for each in sorted(_DOCS.glob("*.md"))]
    return tuple(line for text in texts for line in text.splitlines())


@cache
def _sections() -> tuple[int, ...]:
    """The numbers of the lines that are headings, outside of code."""
    found, in_code = [], False
    for number, line in enumerate(_lines()):
        in_code ^= line.startswith("```")
        if not in_code and _HEADING.fullmatch(line):
            found.append(number)
    return tuple(found)


@cache
def _titles() -> tuple[str, ...]:
    headings = (_lines()[each].lstrip("# ") for each in _sections())
    return tuple(sorted({re.sub(r"[^\w ]", "", each).strip() for each in headings} - {""}))


def note(size: int, links: int, seed: int) -> str:
    """Return a note of about ``size`` characters with ``links`` links, the same for a seed.

    It begins with a heading, goes on with some sections of a page, and ends with a list of related
    notes: as many as its own links leave to ``links``.
    """
    chosen = random.Random(seed)
    at = chosen.choice(_sections())
    text = f"# {chosen.choice(_titles())}\n\n"
    room = size - 64 * links
    while len(text) < room:
        line = _lines()[at % len(_lines())]
        if len(_LINK.findall(text + line)) <= links:
            text += f"{line}\n"
        at += 1
    if sum(line.startswith("```") for line in text.splitlines()) % 2:
        text += "```\n"
    text += "\n## Related\n\n"
    for _ in range(links - len(_LINK.findall(text))):
        title = chosen.choice(_titles())
        path = f"{chosen.choice(('Notes', 'Projects/2026', 'Reading'))}/{title}.md"
        text += f"- [{title}](<{path}>)\n"
    return text


def edited(text: str, chosen: random.Random) -> str:
    """Return ``text`` with some words typed at a random place between two words."""
    at = text.find(" ", chosen.randrange(len(text)))
    words = " ".join(chosen.choice(_titles()).lower().split()[:3])
    return f"{text} {words}" if at < 0 else f"{text[:at]} {words}{text[at:]}"

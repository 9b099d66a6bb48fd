"""Remove the comments of Obsidian, ``%%…%%``, which readers of a published note must not see."""

import re

from octavo.model.links.blocks import leaves_of

_MARK = "%%"
# The beginning of a line, with the markers of quotes and lists.
_MARKERS = re.compile(r"[ \t]*+(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*+)*")
_SIGN = re.compile(r"\\[!-/:-@\[-`{-~]|`++|%%")


def without_comments(text: str) -> str:
    """Return ``text`` without what is between two ``%%`` outside code, however many lines it has.

    A comment that is not closed ends with the text if it begins a line; otherwise ``%%`` is text.
    Takes linear time.
    """
    if _MARK not in text:
        return text
    kept: list[str] = []
    done, begin = 0, -1
    for at in _marks(text):
        if begin < 0:
            begin = at
        else:
            kept.append(text[done:begin])
            done, begin = at + len(_MARK), -1
    if begin >= 0 and _begins_line(text, begin):
        return "".join((*kept, text[done:begin]))
    return "".join((*kept, text[done:]))


def _begins_line(text: str, at: int) -> bool:
    return _MARKERS.fullmatch(text, text.rfind("\n", 0, at) + 1, at) is not None


def _marks(text: str) -> list[int]:
    """Return the positions of the signs of comments."""
    found: list[int] = []
    for leaf in leaves_of(text):
        if text.find(_MARK, leaf.start, leaf.end) < 0:
            continue
        signs = list(_SIGN.finditer(text, leaf.start, leaf.end))
        # For each length of a run of backticks, where the last one is.
        last = {len(each[0]): at for at, each in enumerate(signs) if each[0][0] == "`"}
        at = 0
        while at < len(signs):
            sign = signs[at][0]
            if sign == _MARK:
                found.append(signs[at].start())
            elif sign[0] == "`" and last[len(sign)] > at:
                at += 1
                while signs[at][0] != sign:
                    at += 1
            at += 1
    return found

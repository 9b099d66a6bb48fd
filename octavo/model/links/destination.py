"""Parse and write link destinations, and parse titles (CommonMark 0.31 section 6.3)."""

import re
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

DESTINATION = re.compile(
    r"<((?:[^<>\\\n]|\\.)*+)>|((?!<)(?:[^\x00-\x20\x7f\\]|\\[^\x00-\x20\x7f]|\\)++)"
)
"""A destination that no parenthesis ends, as in a reference definition."""

MAX_PARENTHESES = 4
"""Nested parentheses in a destination without brackets; each may cause a scan."""
_PLAIN = re.compile(r"(?:[^\x00-\x20\x7f\\()]|\\[!-/:-@\[-`{-~]|\\)++")
_SPACE = re.compile(r"[ \t\r]*+(?:\n[ \t>]*+)?")
_TITLE = re.compile(r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)""", re.DOTALL)
_EMPTY_LINE = re.compile(r"\n[ \t]*+\n")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
# The end of the path, which an entity or escape does not hide.
_PATH_END = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});|\\?[?#]")
_PLAIN_PATH = re.compile(r"(?!//)[^&\\%?#:]*+")
# Some of these can't occur in a path; including them is cheaper than excluding them.
_ENCODED = re.compile(r"[%#?&<>()`\\\x00-\x20\x7f]")
_ENCODED_IN_BRACKETS = re.compile(r"[%#?&<>`\\\x00-\x1f\x7f]")
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:|//|\\\\")


class Destination(NamedTuple):
    """A link destination in a text.

    Attributes:
        is_local: whether it has neither scheme nor host.
        path: the decoded path.
        fragment: the decoded fragment; empty if there is none.
        start: the start of the path in the text.
        end_of_path: the end of the path.
        end: the end of the destination.
    """

    is_local: bool
    path: str
    fragment: str
    start: int
    end_of_path: int
    end: int


def find_destination(text: str, at: int, end: int) -> Destination | None:
    """Return the destination after the parenthesis of an inline link; None if it is invalid."""
    space = _SPACE.match(text, at, end)
    at = at if space is None else space.end()
    if text.startswith("<", at):
        written = DESTINATION.match(text, at, end)
        return None if written is None else read_destination(text, written)
    close, depth = at, 0
    while close < end:
        plain = _PLAIN.match(text, close, end)
        close = close if plain is None else plain.end()
        letter = text[close] if close < end else ""
        if letter == "(" and depth < MAX_PARENTHESES:
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        else:
            break
        close += 1
    return None if depth else _read(text, at, close, close)


def read_destination(text: str, written: re.Match[str]) -> Destination:
    """Return the destination that `DESTINATION` matched."""
    group = 1 if written[1] is not None else 2
    return _read(text, *written.span(group), written.end())


def _read(text: str, start: int, stop: int, end: int) -> Destination:
    raw = text[start:stop]
    if _PLAIN_PATH.fullmatch(raw):
        return Destination(True, raw, "", start, stop, end)
    cut = next(
        (match for match in _PATH_END.finditer(raw) if not match[0].startswith("&")),
        None,
    )
    at = len(raw) if cut is None else cut.start()
    after = _unescaped(raw[at:])
    path = _unescaped(raw[:at])
    return Destination(
        _EXTERNAL.match(path) is None,
        unquote(path),
        unquote(after.partition("#")[2]),
        start,
        start + at,
        end,
    )


def _unescaped(raw: str) -> str:
    if "&" not in raw and "\\" not in raw:
        return raw
    parts = []
    at = 0
    for escape in re.finditer(rf"{_ENTITY.pattern}|{_ESCAPE.pattern}", raw):
        parts += [raw[at : escape.start()], escape[1] or unescape(escape[0])]
        at = escape.end()
    return "".join((*parts, raw[at:]))


def end_of_title(text: str, at: int, end: int, closing: str = ")") -> int | None:
    """Return the position after an optional title and ``closing``; None if they don't follow."""
    space = _SPACE.match(text, at, end)
    after = at if space is None else space.end()
    if after > at:
        title = _TITLE.match(text, after, end)
        if title is not None and _EMPTY_LINE.search(title[0]) is None:
            space = _SPACE.match(text, title.end(), end) if closing else None
            after = title.end() if space is None else space.end()
    if not text.startswith(closing, after) or after + len(closing) > end:
        return None
    return after + len(closing)


def relative_path(path: str, at: str) -> str:
    """Return ``path`` relative to the folder of the file ``at``; it may begin with ``../``."""
    names, folders = path.split("/"), at.split("/")[:-1]
    shared = 0
    while shared < min(len(names) - 1, len(folders)) and names[shared] == folders[shared]:
        shared += 1
    return "/".join([".."] * (len(folders) - shared) + names[shared:])


def encoded_path(target: str, *, brackets: bool = False) -> str:
    """Return a path as a destination, percent-encoded; ``brackets``: within ``<>``."""
    pattern = _ENCODED_IN_BRACKETS if brackets else _ENCODED
    return pattern.sub(lambda character: f"%{ord(character[0]):02X}", target)

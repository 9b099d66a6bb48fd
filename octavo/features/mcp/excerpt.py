"""Choose the part of a long text that a result returns: by lines, or by characters."""

from typing import NamedTuple

MAX_CHARACTERS = 40_000
"""Maximum length of the text of a note in one result."""


class Excerpt(NamedTuple):
    """A part of a text.

    Lines count from 1, characters (code points) from 0; ``end_character`` is excluded. ``next`` is
    the character at which the next part starts, None at the end of the text.
    """

    text: str
    first_line: int
    last_line: int
    start_character: int
    end_character: int
    total_lines: int
    total_characters: int
    next: int | None


def excerpt(
    text: str,
    *,
    first_line: int | None = None,
    last_line: int | None = None,
    start: int | None = None,
    limit: int = MAX_CHARACTERS,
) -> Excerpt:
    """Return the lines ``first_line`` to ``last_line``, or the text from the character ``start``.

    At most ``limit`` characters are returned; a part that is cut ends with a whole line if it has
    one. Raises ValueError, with a message for models, for a part that is not in the text.
    """
    size = len(text)
    if first_line is None and last_line is None and not start and size <= limit:
        lines = _lines(text)
        return Excerpt(text, 1, lines, 0, size, lines, size, None)
    lines = _lines(text)
    if first_line is not None or last_line is not None:
        if start is not None:
            raise ValueError("Give lines or start_character, not both.")
        begin, end = _characters_of(text, first_line or 1, last_line, lines)
    else:
        begin, end = start or 0, size
        if begin > size:
            raise ValueError(f"The note ends at character {size}: start_character is too large.")
    if end - begin > limit:
        end = begin + limit
        line_feed = text.rfind("\n", begin, end)
        if line_feed > begin:
            end = line_feed + 1
    part = text[begin:end]
    line = text.count("\n", 0, begin) + 1
    last = line + max(0, part.count("\n") - part.endswith("\n"))
    return Excerpt(part, line, last, begin, end, lines, size, end if end < size else None)


def _lines(text: str) -> int:
    """Return the number of lines; a line feed at the end begins no further one."""
    return text.count("\n") + (0 if text.endswith("\n") else 1)


def _characters_of(text: str, first: int, last: int | None, lines: int) -> tuple[int, int]:
    if first > lines:
        raise ValueError(f"The note ends at line {lines}: first_line is too large.")
    if last is not None and last < first:
        raise ValueError("last_line must not be before first_line.")
    begin = 0
    for _ in range(first - 1):
        begin = text.index("\n", begin) + 1
    if last is None or last >= lines:
        return begin, len(text)
    end = begin
    for _ in range(last - first + 1):
        end = text.index("\n", end) + 1
    return begin, end

"""Upper bounds of the markup of a text, and the lines by which an edit changes them."""

from typing import NamedTuple

from octavo_rules.difference import common_prefix, common_suffix


class TextBounds(NamedTuple):
    """Upper bounds of what a text has. Each line adds to them on its own.

    Attributes:
        lines: its line feeds.
        signs: the characters that may be markup.
        levels: the levels of nested lists and quotes.
        columns: the columns of its widest table.
    """

    lines: int
    signs: int
    levels: int
    columns: int

    def joined(self, other: "TextBounds") -> "TextBounds":
        """Return the bounds of a text whose lines are those of two."""
        return TextBounds(
            self.lines + other.lines,
            self.signs + other.signs,
            max(self.levels, other.levels),
            max(self.columns, other.columns),
        )


def changed_lines(old: str, new: str) -> str:
    """Return lines of ``new`` that include all those which ``old`` does not have.

    They begin and end with a line feed, except at the beginning and the end of ``new``.
    """
    prefix = common_prefix(old, new)
    suffix = common_suffix(old, new, prefix)
    begin = new.rfind("\n", 0, prefix)
    end = new.find("\n", len(new) - suffix)
    return new[max(begin, 0) : None if end < 0 else end + 1]

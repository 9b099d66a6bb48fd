"""Statements of scripts as SQLite takes them.

Placeholders are written ``$1`` in scripts, which SQLite reads as named parameters that Python would
want in a mapping: they become ``?1``. A cast ``$1::uuid`` becomes ``?1`` too, and the argument is
converted to bytes, as `octavo.store.identifiers` describes.
"""

import re
import sqlite3
from collections.abc import Sequence

from octavo.store import identifiers
from octavo.store.transaction import Value

_TOKEN = re.compile(
    r"""
    '(?:[^']|'')*'          # a string
    | "(?:[^"]|"")*"        # a quoted name
    | --[^\n]*              # a comment
    | /\*.*?\*/
    | (?<![\w$])\$(?P<number>[0-9]+)(?P<cast>::uuid)?
    """,
    re.VERBOSE | re.DOTALL,
)
# Statements are written in the code, so there are few. Those that are composed from a list may
# still come in many lengths.
MAX_KEPT = 2048


class Statement:
    """A statement, with the arguments and the columns of its result that are identifiers.

    Attributes:
        sql: the text for SQLite.
        parameters: how many arguments it takes.
        columns: which columns of the result are identifiers; None until it was executed.
    """

    __slots__ = ("_arguments", "columns", "parameters", "sql")

    def __init__(self, sql: str) -> None:
        cast: set[int] = set()
        numbers = {0}

        def replaced(found: re.Match[str]) -> str:
            if not found["number"]:
                return found[0]
            numbers.add(int(found["number"]))
            if found["cast"]:
                cast.add(int(found["number"]) - 1)
            return f"?{found['number']}"

        self.sql = _TOKEN.sub(replaced, sql)
        self.parameters = max(numbers)
        self._arguments = tuple(sorted(cast))
        self.columns: tuple[int, ...] | None = None

    def bind(self, arguments: Sequence[Value]) -> Sequence[Value]:
        """Return the arguments for SQLite; raise ValueError for identifiers that are not UUIDs."""
        if not self._arguments:
            return arguments
        bound = [*arguments]
        for at in self._arguments:
            # SQLite reports missing arguments.
            value = bound[at] if at < len(bound) else None
            if isinstance(value, str):
                bound[at] = identifiers.to_bytes(value)
        return bound

    def describe(self, cursor: sqlite3.Cursor) -> tuple[int, ...]:
        """Set `columns`, and return them; ``cursor`` has executed this."""
        described = cursor.description or ()
        self.columns = identifiers.identifier_columns(column[0] for column in described)
        return self.columns


class Statements(dict[str, Statement]):
    """Statements by their texts in scripts, each translated when it is first looked up."""

    def __missing__(self, sql: str) -> Statement:
        if len(self) >= MAX_KEPT:
            self.clear()
        result = self[sql] = Statement(sql)
        return result

"""From the placeholders of scripts, ``$1``, to those of SQLite, ``?1``.

SQLite reads ``$1`` as a named parameter, which Python would want in a mapping.
"""

import re

_TOKEN = re.compile(
    r"""
    '(?:[^']|'')*'          # a string
    | "(?:[^"]|"")*"        # a quoted name
    | --[^\n]*              # a comment
    | /\*.*?\*/
    | (?<![\w$])\$(?P<number>[0-9]+)
    """,
    re.VERBOSE | re.DOTALL,
)
# Statements are written in the code, so there are few; one that is put together from a list may
# still come in many lengths.
MOST_KEPT = 2048


def translated(sql: str) -> str:
    """Answer ``sql`` with each ``$n`` as ``?n``; strings, quoted names and comments stay."""
    return _TOKEN.sub(lambda found: f"?{found['number']}" if found["number"] else found[0], sql)


class Translations(dict[str, str]):
    """Statements as SQLite wants them, each translated when it is first looked up."""

    def __missing__(self, sql: str) -> str:
        if len(self) >= MOST_KEPT:
            self.clear()
        result = self[sql] = translated(sql)
        return result

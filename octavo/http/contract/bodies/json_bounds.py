"""Refuse a JSON document with very many values, or with huge numbers, before it is parsed.

A parser builds the whole document while nothing else of the process runs, and a validator then
reports each undeclared member of it, of which hundreds of thousands fit into a body. A text of the
same size is parsed at once. So the values are counted first, a slice at a time, by what is before
each of them outside of strings: a colon, a comma, or the bracket of an array. The time to parse a
number grows with the square of its digits, so those outside of strings are counted as well.
"""

import re
from typing import Final

import trio

from octavo.http.contract.problems import InvalidRequest
from octavo.http.contract.slices import SLICE_SIZE

MOST_VALUES: Final = 20_000
"""Colons, commas and brackets outside of strings; the largest changeset has less than half."""
_TOO_MANY: Final = (
    f"The body has more than {MOST_VALUES:,} values: send fewer of them in one request."
)
MOST_DIGITS: Final = 100_000
"""Digits outside of strings; the largest changeset has none."""
_TOO_LONG: Final = (
    f"The numbers of the body have more than {MOST_DIGITS:,} digits: send smaller numbers."
)
_MARKS = b":,["
_DIGITS = b"0123456789"
_BACKSLASHES = re.compile(rb"\\*")


async def check_count(body: bytes) -> None:
    """Raise `InvalidRequest` when ``body``, which may not be JSON, has too many values or digits.

    That is more than `MOST_VALUES`, or `MOST_DIGITS` in a body of more than `SLICE_SIZE` bytes.
    Texts may contain any number of these characters. Others run after each `SLICE_SIZE` bytes.
    """
    if len(body) <= SLICE_SIZE and (
        len(body) <= MOST_VALUES or _count(body, _MARKS) <= MOST_VALUES
    ):
        return
    marks = digits = quotes = at = 0
    while at < len(body):
        # An escape is not cut in two.
        end = _end_of(body, min(at + SLICE_SIZE, len(body)))
        part = body[at:end].replace(rb"\\", b"").replace(rb"\"", b"")
        pieces = part.split(b'"')
        # Every other piece is outside of the strings; the first one, unless a string has begun.
        outside = b"".join(pieces[quotes % 2 :: 2])
        marks += _count(outside, _MARKS)
        digits += _count(outside, _DIGITS)
        quotes += len(pieces) - 1
        # A member has a name and a value: two strings, at most. Others are not JSON.
        if marks > MOST_VALUES or quotes > 4 * (MOST_VALUES + 1):
            raise InvalidRequest(errors=[("", _TOO_MANY)])
        if digits > MOST_DIGITS:
            raise InvalidRequest(errors=[("", _TOO_LONG)])
        at = end
        await trio.lowlevel.checkpoint()


def _count(data: bytes, which: bytes) -> int:
    return len(data) - len(data.translate(None, which))


def _end_of(body: bytes, end: int) -> int:
    """Return the end of a slice that would end at ``end``, after the escape that it cuts.

    The backslashes around ``end`` and the character after them stay together.
    """
    if body[end - 1 : end] != b"\\":
        return end
    found = _BACKSLASHES.match(body, end)
    assert found is not None
    return min(found.end() + 1, len(body))

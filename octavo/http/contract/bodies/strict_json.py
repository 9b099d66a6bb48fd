"""Refuse what the fast JSON parser accepts: too many values, duplicate keys, numbers without end.

A parser builds the whole document while nothing else of the process runs, and a validator then
reports each undeclared member of it, of which hundreds of thousands fit into a body. A text of the
same size is parsed at once. So the values are counted first, a slice at a time, by what is before
each of them outside of strings: a colon, a comma, or the bracket of an array. The time to parse a
number grows with the square of its digits, so those outside of strings are counted as well.

pydantic-core's parser rejects invalid UTF-8, lone surrogates, integers of more than 4,300 digits
and nesting beyond 200 levels. It uses the last of duplicate keys, and accepts ``NaN``, ``Infinity``
and ``1e400``. Parsers that disagree on a document are a known way to bypass checks (RFC 8259
section 4, RFC 7493 sections 2.2 and 2.3).
"""

import json
import re
from collections.abc import Iterator
from math import isinf
from typing import Final, NoReturn

import trio
from octavo_rules.problems import InvalidRequest

from octavo.http.contract.bodies.body import Step, pointer
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


class NotStrict(Exception):
    """The document is not strict JSON; ``errors`` are pointers and messages."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__(errors)
        self.errors = errors


def check_strict(text: str) -> None:
    """Raise `NotStrict` when ``text`` has a duplicate key or a non-finite number.

    ``text`` must be valid JSON otherwise.
    """
    start = text.lstrip()
    try:
        _scan(start)
    except _Unusable:
        raise NotStrict(list(_faults(_marked(start)[0], ()))) from None


class _Unusable(Exception):
    pass


class _NotStrictValue:
    """Marks a value whose key is repeated, or a number that is not finite."""

    def __init__(self, message: str) -> None:
        self.message = message


_NO_NUMBER = _NotStrictValue("This is not a JSON number: send a finite one.")
_DUPLICATE = _NotStrictValue("This member occurs more than once: send it once.")


def _refuse_duplicates(members: list[tuple[str, object]]) -> None:
    if len(dict(members)) != len(members):
        raise _Unusable


def _refuse(_: str) -> NoReturn:
    raise _Unusable


def _finite(digits: str) -> None:
    if isinf(float(digits)):
        raise _Unusable


def _mark_number(digits: str) -> object:
    return _NO_NUMBER if isinf(float(digits)) else None


def _mark_members(members: list[tuple[str, object]]) -> dict[str, object]:
    marked: dict[str, object] = {}
    for name, value in members:
        marked[name] = _DUPLICATE if name in marked else value
    return marked


def _faults(value: object, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, _NotStrictValue):
        yield pointer(steps), value.message
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _faults(inner, (*steps, name))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _faults(inner, (*steps, position))


# Integers are only skipped: int() is slow for long ones.
_scan = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_constant=_refuse, parse_float=_finite, parse_int=str
).raw_decode
_marked = json.JSONDecoder(
    object_pairs_hook=_mark_members,
    parse_constant=lambda _: _NO_NUMBER,
    parse_float=_mark_number,
    parse_int=str,
).raw_decode

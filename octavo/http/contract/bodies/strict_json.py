"""What the fast parser lets pass and JSON does not: members named twice, numbers that are none.

pydantic-core's parser refuses text that is not UTF-8, lone surrogates, integers of more than
4,300 digits and arrays or objects within each other beyond 200 levels. It takes the last of two
members of one name, and ``NaN``, ``Infinity`` and ``1e400``. Readers of one document that differ
on what it says are a known way past a check (RFC 8259 section 4, RFC 7493 sections 2.2 and 2.3).
"""

import json
from collections.abc import Iterator
from math import isinf
from typing import NoReturn

from octavo.http.contract.bodies.faults import Step, pointer


class NotStrict(Exception):
    """The document holds what JSON does not; ``errors`` are its pointers and messages."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__(errors)
        self.errors = errors


def check_strict(text: str) -> None:
    """Raise `NotStrict` when a member of ``text`` stands there twice or a number is none.

    ``text`` was parsed before as JSON and found good otherwise.
    """
    start = text.lstrip()
    try:
        _scan(start)
    except _Unusable:
        raise NotStrict(list(_faults(_marked(start)[0], ()))) from None


class _Unusable(Exception):
    pass


class _Twice:
    """In place of a value that a member of the same name follows, or of no number."""

    def __init__(self, message: str) -> None:
        self.message = message


_NO_NUMBER = _Twice("This is no number of JSON: give a finite one.")
_MANY = _Twice("This member stands there more than once: send it once.")


def _once(members: list[tuple[str, object]]) -> None:
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
        marked[name] = _MANY if name in marked else value
    return marked


def _faults(value: object, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Twice):
        yield pointer(steps), value.message
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _faults(inner, (*steps, name))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _faults(inner, (*steps, position))


# Of an integer only its end is looked for: int() would take its time for a long one.
_scan = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite, parse_int=str
).raw_decode
_marked = json.JSONDecoder(
    object_pairs_hook=_mark_members,
    parse_constant=lambda _: _NO_NUMBER,
    parse_float=_mark_number,
    parse_int=str,
).raw_decode

"""Reject duplicate keys and non-finite numbers, which the fast JSON parser accepts.

pydantic-core's parser rejects invalid UTF-8, lone surrogates, integers of more than 4,300 digits
and nesting beyond 200 levels. It uses the last of duplicate keys, and accepts ``NaN``, ``Infinity``
and ``1e400``. Parsers that disagree on a document are a known way to bypass checks (RFC 8259
section 4, RFC 7493 sections 2.2 and 2.3).
"""

import json
from collections.abc import Iterator
from math import isinf
from typing import NoReturn

from octavo.http.contract.bodies.faults import Step, pointer


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

"""A JSON document as a body: parsed strictly, and validated by its model in one pass."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from math import isinf
from typing import Final, Generic, NoReturn, TypeVar

import trio
from antechamber.asgi import Receive
from octavo_rules.problems import BodyTooLarge, InvalidRequest, Problem
from pydantic import BaseModel, ValidationError
from pydantic_core import MISSING, from_json

from octavo.http.contract.bodies.body import (
    MAX_FAULTS,
    Headers,
    Step,
    body_head,
    check_closed,
    in_utf8,
    invalid_request,
    parse_media_type,
    pointer,
    refuse_media_type,
    whole_body,
)
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
    Texts may contain any number of these characters. Other tasks run after each slice.
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
    match = _BACKSLASHES.match(body, end)
    assert match is not None
    return min(match.end() + 1, len(body))


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


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

MEDIA_TYPE = "application/json"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SCALAR_TYPES = frozenset({str, bytes, int, bool, type(None), type(MISSING)})


_TURN: Final = trio.Lock()
"""Held while a large document is parsed, which blocks the event loop: one at a time."""


async def _rested(work: Callable[[], T]) -> T:
    """Return the result of ``work``, after a pause for others as long as its processor time.

    Its exceptions propagate after the same pause. When cancelled, the result is lost.
    """
    began = time.thread_time()
    try:
        return work()
    finally:
        await trio.sleep(time.thread_time() - began)


class JsonBody(Generic[M]):
    """The body kind of `json_body`."""

    def __init__(
        self,
        model: type[M],
        limit: int,
        too_large: type[Problem] = BodyTooLarge,
    ) -> None:
        self.model = model
        self.limit = limit
        self.too_large = too_large
        self.media_types = (MEDIA_TYPE,)
        self.schema: Mapping[str, object] | None = None
        self._validate = model.__pydantic_validator__.validate_json

    async def read(self, headers: Headers, receive: Receive) -> M:
        """Return the document. Raises the same errors as `BodyKind.read`."""
        try:
            media_type, _ = body_head(headers, self.limit)
            if media_type != b"application/json" and not is_json(media_type):
                refuse_media_type(self.media_types)
            body = await whole_body(receive, self.limit)
        except BodyTooLarge as refused:
            if self.too_large is BodyTooLarge:
                raise
            raise self.too_large(f"{refused.detail} {self.too_large.remedy}") from None
        await check_count(body)
        if len(body) < SLICE_SIZE:
            return self.parse(body)
        async with _TURN:
            document = await _rested(lambda: self._document(body))
            if not await _rested(lambda: _plain(document, body)):
                await _rested(lambda: _require_strict(body))
        return document

    def parse(self, body: bytes) -> M:
        """Return the document in ``body``. Raises `InvalidRequest`."""
        document = self._document(body)
        if not _plain(document, body):
            _require_strict(body)
        return document

    def _document(self, body: bytes) -> M:
        try:
            document: M = self._validate(body, by_alias=True, by_name=False)
        except ValidationError as error:
            raise _refusal(error, body) from None
        return document


def json_body(
    model: type[M],
    *,
    limit: int,
    too_large: type[Problem] = BodyTooLarge,
) -> JsonBody[M]:
    """Declare a body that is a JSON document (RFC 8259) of ``model``.

    It has at most ``limit`` bytes, or is refused with ``too_large``, a 413. Accepts
    ``application/json`` and ``application/…+json`` in UTF-8. Duplicate keys, non-finite numbers and
    undeclared members are refused. Raises ValueError when the model, or a model in it, accepts
    undeclared members.
    """
    check_closed(model)
    return JsonBody(model, limit, too_large)


def is_json(content_type: bytes | None) -> bool:
    """Return whether ``content_type`` is JSON in UTF-8."""
    media_type = parse_media_type(content_type or b"")
    if media_type is None or not in_utf8(media_type):
        return False
    kind, _, name = media_type.essence.partition("/")
    return kind == "application" and (name == "json" or name.endswith("+json"))


def _require_strict(body: bytes) -> None:
    try:
        check_strict(body.decode())
    except NotStrict as fault:
        raise InvalidRequest(errors=fault.errors) from None


def _plain(document: BaseModel, body: bytes) -> bool:
    """Return whether ``document`` alone proves that ``body`` is strict JSON.

    It does when all values are scalars and the body has as many colons as ``document`` has members,
    or as many quotes as their names and values need: there is no room for a duplicate key. This
    avoids a second parse for most documents.
    """
    values, sent = document.__dict__, document.__pydantic_fields_set__
    if not _SCALAR_TYPES.issuperset([*map(type, values.values())]):
        return False
    members = len(sent)
    if body.count(b":") == members:
        return True
    # Defaults have no quotes.
    types = [type(values[name]) for name in sent]
    # A quote after an escaped backslash ends a string, so quotes can't be counted then.
    quotes = body.count(b'"') - body.count(b'\\"')
    return quotes == 2 * (members + types.count(str) + types.count(bytes)) and rb"\\" not in body


def _refusal(error: ValidationError, body: bytes) -> InvalidRequest:
    if error.error_count() == 1:
        [only] = error.errors(include_url=False, include_input=False)
        if only["type"] == "json_invalid":
            return InvalidRequest(errors=[("", _broken(body, str(only["ctx"]["error"])))])
    # A body with more faults is not parsed again, since they are not listed.
    document = from_json(body, cache_strings="keys") if error.error_count() <= MAX_FAULTS else None
    return invalid_request(error, document, "The body")


def _broken(body: bytes, reason: str) -> str:
    if not body.strip(b" \t\r\n"):
        return "The body is empty: send a JSON document."
    if body.startswith(_BYTE_ORDER_MARK):
        return "The body starts with a byte order mark: remove it (RFC 8259 section 8.1)."
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"The body is not UTF-8: byte {error.start} is invalid."
    if "recursion limit" in reason:
        return "The body is nested too deeply: at most 200 levels are allowed."
    return f"The body is not JSON: {reason}."

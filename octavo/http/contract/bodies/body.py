"""Read request bodies: check the headers first, count bytes as they arrive, and name what is wrong.

Media types are parsed as RFC 9110 section 8.3.1 says; validation errors of pydantic become JSON
pointers (RFC 6901) and messages.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import (
    TYPE_CHECKING,
    ForwardRef,
    Literal,
    NoReturn,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
)

from antechamber.asgi import Event, Receive
from octavo_rules.problems import (
    BodyTooLarge,
    Header,
    InvalidRequest,
    Problem,
    UnsupportedMediaType,
)
from octavo_rules.schema_base import IDENTIFIER_PATTERN
from pydantic import BaseModel, JsonValue, RootModel, ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Headers = Sequence[Header]

T_co = TypeVar("T_co", covariant=True)

_ANY_JSON: object = JsonValue
"""The annotation of a member that accepts any JSON deliberately."""


class BodyKind(Protocol[T_co]):
    """Declares and reads the body of an operation."""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types accepted, for the API document."""

    @property
    def limit(self) -> int:
        """Maximum size of the body in bytes."""

    @property
    def too_large(self) -> type[Problem]:
        """The problem of a body above ``limit``."""

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of the body; None for bytes."""

    @property
    def schema(self) -> Mapping[str, object] | None:
        """The schema in the API document, where its title is its name; None for the model's."""

    async def read(self, headers: Headers, receive: Receive) -> T_co:
        """Return the body, or an object that reads it as it arrives.

        ``headers`` are those of the request, names in lower case.

        Raises:
            InvalidRequest: the body does not match the declaration (400).
            Problem: ``too_large``, as the body exceeds ``limit``: before any byte is read when its
                length was declared, otherwise at the first byte in excess.
            UnsupportedMediaType: the body has another media type (415).
            ClientLeft: the client disconnected before the end of the body.
        """


def check_closed(model: type[BaseModel]) -> None:
    """Raise ValueError when ``model``, or a model in it, accepts undeclared members.

    Read from the classes: generating the schema reads the source of each model for its docstrings,
    which would slow the start of the server.
    """
    for kind in _kinds_in(model, set()):
        if issubclass(kind, BaseModel):
            if not issubclass(kind, RootModel) and kind.model_config.get("extra") != "forbid":
                raise ValueError(f"{kind.__name__} accepts undeclared members: set extra='forbid'")
        elif is_dataclass(kind) or "__annotations__" in vars(kind):
            # Or a TypedDict, or the like.
            raise ValueError(f"{kind.__name__} may accept undeclared members: use a model")


def _kinds_in(annotation: object, seen: set[object]) -> Iterator[type]:
    """Yield each class in ``annotation`` and in the fields of its models, but those ``seen``.

    Raises ValueError for an annotation that can't be followed.
    """
    if isinstance(annotation, type) and get_origin(annotation) is None:
        if annotation in seen:
            return
        seen.add(annotation)
        yield annotation
        if issubclass(annotation, BaseModel):
            # Names of classes that are defined later.
            annotation.model_rebuild()
            for field in annotation.model_fields.values():
                yield from _kinds_in(field.annotation, seen)
    elif isinstance(annotation, TypeVar | ForwardRef) or hasattr(annotation, "__value__"):
        if annotation is not _ANY_JSON:
            raise ValueError(f"{annotation} can't be followed: name its class")
    elif get_origin(annotation) is not Literal:
        for part in (get_origin(annotation), *get_args(annotation)):
            if part is not None:
                yield from _kinds_in(part, seen)


MOST_BYTES = 1024
"""Bytes of a content-type header."""
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TYPE = re.compile(rb"[ \t]*(%b/%b)[ \t]*" % (_TOKEN, _TOKEN))
_PARAMETER = re.compile(
    rb';[ \t]*(?:(%b)=(?:(%b)|"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t -~\x80-\xff])*)"))?[ \t]*'
    % (_TOKEN, _TOKEN)
)
_ESCAPED = re.compile(rb"\\(.)")


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type: ``essence`` is ``type/subtype``; names are in lower case."""

    essence: str
    parameters: Mapping[str, bytes] = field(default_factory=dict)


def parse_media_type(value: bytes) -> MediaType | None:
    """Parse a content-type header; return None when it is invalid.

    A repeated parameter makes it invalid, since implementations differ on which one counts.
    """
    match = _TYPE.match(value) if len(value) <= MOST_BYTES else None
    if match is None:
        return None
    essence = match[1].decode("ascii").lower()
    parameters: dict[str, bytes] = {}
    position = match.end()
    while position < len(value):
        parameter = _PARAMETER.match(value, position)
        if parameter is None:
            return None
        position = parameter.end()
        if parameter[1] is None:
            continue
        name = parameter[1].decode("ascii").lower()
        if name in parameters:
            return None
        plain, quoted = parameter[2], parameter[3]
        parameters[name] = _ESCAPED.sub(rb"\1", quoted) if plain is None else plain
    return MediaType(essence, parameters)


def in_utf8(media_type: MediaType) -> bool:
    """Return whether text of ``media_type`` is UTF-8, which is the default without a charset."""
    return media_type.parameters.get("charset", b"utf-8").lower() in (b"utf-8", b"utf8")


class ClientLeft(Exception):
    """The client disconnected before the body was complete, so there is no response.

    An operation that reads the whole body first has done nothing.
    """


_BODY_HEADERS = frozenset({b"content-type", b"content-length", b"content-encoding"})
# A longer number exceeds every limit, and would be slow to convert.
_MAX_LENGTH_DIGITS = 18


def body_head(headers: Headers, limit: int) -> tuple[bytes | None, int | None]:
    """Return the media type and the length in bytes that ``headers`` declare.

    Raises `BodyTooLarge` when the declared length exceeds ``limit``, `UnsupportedMediaType` for a
    content coding (RFC 9110 section 8.4), and `InvalidRequest` for an invalid or repeated header
    (RFC 9110 section 5.3).
    """
    media_type = length = None
    for name, value in headers:
        if name not in _BODY_HEADERS:
            continue
        if name == b"content-type":
            if media_type is not None:
                raise InvalidRequest("The header content-type occurs twice: send one.")
            media_type = value
        elif name == b"content-length":
            declared = _length(value, limit)
            if length not in (None, declared):
                raise InvalidRequest("The header content-length has two values: send one.")
            length = declared
        elif value.strip().lower() not in (b"", b"identity"):
            raise UnsupportedMediaType(
                "The body has a content-encoding, which is not supported: send it unencoded."
            )
    return media_type, length


def _length(value: bytes, limit: int) -> int:
    if not value.isdigit():
        raise InvalidRequest("The header content-length is not a number of bytes.")
    if len(value) > _MAX_LENGTH_DIGITS:
        refuse_length(limit)
    length = int(value)
    if length > limit:
        refuse_length(limit)
    return length


def refuse_length(limit: int) -> NoReturn:
    """Raise the problem of a body that exceeds ``limit`` bytes."""
    raise BodyTooLarge(f"The body may have at most {limit:,} bytes.")


def refuse_media_type(accepted: Iterable[str]) -> NoReturn:
    """Raise the problem of a body that has none of the media types ``accepted``."""
    raise UnsupportedMediaType(
        f"Send a body of this media type, and declare it in content-type: {', '.join(accepted)}."
    )


def declared_size(headers: Headers, limit: int) -> int:
    """Return the declared length of a body, or ``limit`` for chunked bodies.

    Return 0 for a body that `body_head` refuses before a byte is read.
    """
    for name, value in headers:
        if name == b"content-length":
            size = int(value) if value.isdigit() and len(value) <= _MAX_LENGTH_DIGITS else 0
            return size if size <= limit else 0
    return limit


async def whole_body(receive: Receive, limit: int) -> bytes:
    """Return the complete body, of at most ``limit`` bytes.

    Raises `BodyTooLarge` at the first byte in excess, and `ClientLeft`. A body in a single event is
    not copied. Cancellation loses the bytes read.
    """
    event = await receive()
    if event["type"] == "http.request" and not event.get("more_body", False):
        body: bytes = event.get("body", b"")
        if len(body) > limit:
            refuse_length(limit)
        return body
    stream = BodyStream(receive, limit)
    # One block: pieces of many bodies would leave gaps in the heap when they are freed.
    whole = bytearray(stream.take(event))
    async for chunk in stream:
        whole += chunk
    return bytes(whole)


class BodyStream:
    """The bytes of a body as they arrive: iterate it once, in one task.

    Each step reads one event and does not read ahead, so a slow reader slows the client. A step
    raises `BodyTooLarge` before it returns bytes in excess of the limit, and `ClientLeft`.
    Cancelling a step may lose its bytes; the body can't be read further then.

    Attributes:
        declared_length: bytes declared in the header; None for a chunked body.
        received: number of bytes received.
    """

    __slots__ = ("_ended", "_limit", "_receive", "declared_length", "received")

    def __init__(self, receive: Receive, limit: int, declared_length: int | None = None) -> None:
        self._receive = receive
        self._limit = limit
        self._ended = False
        self.declared_length = declared_length
        self.received = 0

    def __aiter__(self) -> "BodyStream":
        return self

    async def __anext__(self) -> bytes:
        while not self._ended:
            if chunk := self.take(await self._receive()):
                return chunk
        raise StopAsyncIteration

    def take(self, event: Event) -> bytes:
        """Count the ASGI ``event`` and return its bytes; called by each step."""
        if event["type"] != "http.request":
            raise ClientLeft
        chunk = event.get("body", b"")
        assert isinstance(chunk, bytes)
        self.received += len(chunk)
        if self.received > self._limit:
            refuse_length(self._limit)
        self._ended = not event.get("more_body", False)
        return chunk


BYTES: Mapping[str, object] = {"type": "string", "format": "binary"}
"""The schema of bytes, as generators of clients know it."""


class RawBody:
    """The body kind of `raw_body`."""

    too_large = BodyTooLarge

    def __init__(self, media_types: tuple[str, ...], limit: int) -> None:
        self.media_types = media_types
        self.limit = limit
        self.model = None
        self.schema = BYTES

    async def read(self, headers: Headers, receive: Receive) -> BodyStream:
        """Return the stream of the body.

        Raises the same errors as `BodyKind.read`; the stream raises the errors that depend on the
        bytes.
        """
        declared, length = body_head(headers, self.limit)
        media_type = parse_media_type(declared or b"")
        if media_type is None or media_type.essence not in self.media_types:
            refuse_media_type(self.media_types)
        return BodyStream(receive, self.limit, length)


def raw_body(*media_types: str, limit: int) -> RawBody:
    """Declare a body of at most ``limit`` bytes, in one of ``media_types``.

    These are ``type/subtype``, in lower case.
    """
    return RawBody(media_types, limit)


Step = str | int

# Candidate paths followed in parallel. A location has one, plus one for each step that may be
# either a label or a member; past this limit the longest paths suffice.
_MAX_CANDIDATES = 64

LONGEST = 1024
"""Maximum length of a pointer in characters: member names come from the client and may be long."""


def pointer(steps: Sequence[Step]) -> str:
    """Return the JSON pointer of ``steps``: member names and item indexes.

    A pointer longer than `LONGEST` ends at the container of the member in excess.
    """
    message = ""
    for step in steps:
        longer = f"{message}/{str(step).replace('~', '~0').replace('/', '~1')}"
        if len(longer) > LONGEST:
            break
        message = longer
    return message


def steps_to(place: Sequence[Step], document: object, fault: object) -> tuple[Step, ...]:
    """Return the steps from ``document`` to the value ``fault``.

    ``place`` is pydantic's location. It contains labels, the union branches that were tried,
    between the steps, and a member may have the name of a branch. So each step may be either, and
    the longest path that ends at a value equal to ``fault`` is chosen; without one, the longest
    path.
    """
    ways: list[tuple[tuple[Step, ...], object]] = [((), document)]
    for step in place:
        taken = [
            ((*steps, step), inner)
            for steps, value in ways
            if (inner := _inside(value, step)) is not _NOTHING
        ]
        ways = (taken + ways)[:_MAX_CANDIDATES]
    return next((steps for steps, value in ways if value == fault), ways[0][0])


_NOTHING = object()


def _inside(value: object, step: Step) -> object:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return _NOTHING


MAX_LISTED = 32
"""Maximum number of faults in a response."""

# Pydantic builds all faults or none, at microseconds each: past this number only their count is
# reported.
MAX_FAULTS = 1000

# A message may quote the input.
_MAX_MESSAGE = 240

_NO_IDENTIFIER = (
    "This must be a UUID: 32 hexadecimal digits in groups 8-4-4-4-12, letters in lower case."
)
_MESSAGES = {
    "missing": "This member is required.",
    "extra_forbidden": "Unknown member: remove it.",
}


def invalid_request(error: ValidationError, document: object, what: str) -> InvalidRequest:
    """Return the problem of a ``document`` in which validation found ``error``.

    ``document`` is the input as plain values; ``what`` names it in the detail. Pointers are
    relative to the document, whose own pointer is ``""``.
    """
    number = error.error_count()
    if number > MAX_FAULTS:
        message = f"It has {number} faults, too many to list."
        return InvalidRequest(f"{what} does not match the API document.", errors=[("", message)])
    by_pointer: dict[str, list[str]] = {}
    for details in error.errors(include_url=False):
        messages = by_pointer.setdefault(_pointer(details, document), [])
        message = _message(details)
        if message not in messages:
            messages.append(message)
    # Several errors at one location come from the branches of a union.
    errors = [(place, " Or: ".join(messages)) for place, messages in by_pointer.items()]
    more = len(errors) - MAX_LISTED
    return InvalidRequest(
        f"{what} does not match the API document."
        + (f" Faults that are not listed: {more}." if more > 0 else ""),
        errors=errors[:MAX_LISTED],
    )


def _pointer(details: "ErrorDetails", document: object) -> str:
    kind, place, value = details["type"], details["loc"], details["input"]
    if kind == "missing":
        return pointer((*steps_to(place[:-1], document, value), place[-1]))
    steps: tuple[Step, ...] = steps_to(place, document, value)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        steps = (*steps, _discriminator(details))
    return pointer(steps)


def _discriminator(details: "ErrorDetails") -> str:
    # Quoted, with alternatives when it has an alias: 'kind' | 'type'.
    return str(details.get("ctx", {})["discriminator"]).partition(" | ")[0].strip("'")


def _message(details: "ErrorDetails") -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "union_tag_invalid":
        text = f"Input should be one of {context['expected_tags']}"
    elif kind == "union_tag_not_found":
        text = _MESSAGES["missing"]
    elif kind == "value_error":
        text = str(context["error"])
    elif kind == "string_pattern_mismatch" and context["pattern"] == IDENTIFIER_PATTERN:
        text = _NO_IDENTIFIER
    elif kind == "too_short":
        text = f"At least {context['min_length']} must be given, not {context['actual_length']}"
    else:
        text = _MESSAGES.get(kind, details["msg"])
    text = text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 1]}…"
    return text if text.endswith((".", "…")) else f"{text}."

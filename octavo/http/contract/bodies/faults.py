"""Convert pydantic's validation errors to JSON pointers (RFC 6901) and messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo_rules.problems import InvalidRequest
from pydantic import ValidationError

from octavo.http.contract.contract_model import IDENTIFIER_PATTERN

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


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
    found: dict[str, list[str]] = {}
    for details in error.errors(include_url=False):
        messages = found.setdefault(_pointer(details, document), [])
        message = _message(details)
        if message not in messages:
            messages.append(message)
    # Several errors at one location come from the branches of a union.
    errors = [(place, " Or: ".join(messages)) for place, messages in found.items()]
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

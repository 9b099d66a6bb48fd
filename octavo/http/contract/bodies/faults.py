"""What pydantic found wrong, as faults of the contract: a pointer and a sentence each.

Where in a document a fault is, as a JSON pointer (RFC 6901).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from octavo.http.contract.problems import InvalidRequest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


Step = str | int

# Ways to read a place that are followed at once. A place has one way, and another for each step
# that is a label as well as a member; beyond this the longest ways are good enough.
_MOST_WAYS = 64

LONGEST = 1024
"""Characters of a pointer: names of members are the client's, and may be of any length."""


def pointer(steps: Sequence[Step]) -> str:
    """Return the JSON pointer of ``steps``: names of members, positions of items.

    One that would pass `LONGEST` points to what holds the member that is too much.
    """
    told = ""
    for step in steps:
        longer = f"{told}/{str(step).replace('~', '~0').replace('/', '~1')}"
        if len(longer) > LONGEST:
            break
        told = longer
    return told


def steps_to(place: Sequence[Step], document: object, fault: object) -> tuple[Step, ...]:
    """Return the steps that lead from ``document`` to the value ``fault``.

    ``place`` is where pydantic found it. Between the steps it holds labels, the branches of
    unions that were tried, and a member may be called like a branch: so each step may be one or
    the other, and the longest way that ends at a value equal to ``fault`` counts; with none,
    the longest way.
    """
    ways: list[tuple[tuple[Step, ...], object]] = [((), document)]
    for step in place:
        taken = [
            ((*steps, step), inner)
            for steps, value in ways
            if (inner := _inside(value, step)) is not _NOTHING
        ]
        ways = (taken + ways)[:_MOST_WAYS]
    return next((steps for steps, value in ways if value == fault), ways[0][0])


_NOTHING = object()


def _inside(value: object, step: Step) -> object:
    if isinstance(value, dict):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return _NOTHING


MOST_LISTED = 32
"""Faults that one answer lists."""

# Pydantic makes all its faults or none, at microseconds each: of a body that holds more than
# this, only the number is told.
MOST_LOOKED_AT = 1000

# A message may quote what was sent.
_LONGEST_MESSAGE = 240

_MESSAGES = {
    "missing": "This member is missing: it is required.",
    "extra_forbidden": "There is no member of this name: leave it out.",
}


def invalid_request(error: ValidationError, document: object, what: str) -> InvalidRequest:
    """Return the problem of a ``document`` in which validation found ``error``.

    ``document`` is the input as plain values, and ``what`` its name in the sentence for people.
    Raises nothing; the pointers are those of the document, the whole of it being ``""``.
    """
    number = error.error_count()
    if number > MOST_LOOKED_AT:
        message = f"There are {number} faults in it, too many to list."
        return InvalidRequest(f"{what} does not match the contract.", errors=[("", message)])
    found: dict[str, list[str]] = {}
    for details in error.errors(include_url=False):
        messages = found.setdefault(_pointer(details, document), [])
        message = _message(details)
        if message not in messages:
            messages.append(message)
    # Several at one place are the branches of a union, each with what it would have taken.
    errors = [(place, " Or: ".join(messages)) for place, messages in found.items()]
    more = len(errors) - MOST_LISTED
    return InvalidRequest(
        f"{what} does not match the contract."
        + (f" {more} more faults are not listed." if more > 0 else ""),
        errors=errors[:MOST_LISTED],
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
    # Quoted, and with alternatives when it has an alias: 'kind' | 'type'.
    return str(details.get("ctx", {})["discriminator"]).partition(" | ")[0].strip("'")


def _message(details: "ErrorDetails") -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "union_tag_invalid":
        text = f"Input should be one of {context['expected_tags']}"
    elif kind == "union_tag_not_found":
        text = _MESSAGES["missing"]
    elif kind == "value_error":
        text = str(context["error"])
    else:
        text = _MESSAGES.get(kind, details["msg"])
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"
    return text if text.endswith((".", "…")) else f"{text}."

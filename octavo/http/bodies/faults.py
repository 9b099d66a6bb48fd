"""What pydantic found wrong, as faults of the contract: a pointer and a sentence each."""

from typing import TYPE_CHECKING

from pydantic import ValidationError

from octavo.http.bodies.pointers import Step, pointer, steps_to
from octavo.http.problems import InvalidRequest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

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
    """Answer the problem of a ``document`` in which validation found ``error``.

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

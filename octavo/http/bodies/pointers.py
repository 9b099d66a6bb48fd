"""Where in a document a fault is, as a JSON pointer (RFC 6901)."""

from collections.abc import Sequence

Step = str | int

# Ways to read a place that are followed at once. A place has one way, and another for each step
# that is a label as well as a member; beyond this the longest ways are good enough.
_MOST_WAYS = 64

LONGEST = 1024
"""Characters of a pointer: names of members are the client's, and may be of any length."""


def pointer(steps: Sequence[Step]) -> str:
    """Answer the JSON pointer of ``steps``: names of members, positions of items.

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
    """Answer the steps that lead from ``document`` to the value ``fault``.

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

"""JSON pointers, and their derivation from pydantic's error locations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.http.contract.bodies.body import LONGEST, Step, pointer, steps_to

NAMES = st.text(max_size=4) | st.sampled_from(["a", "b", "0", "a/b", "m~n"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def resolve(document: object, expected: str) -> object:
    """Evaluate a pointer (RFC 6901 section 4)."""
    value = document
    for token in expected.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(name)]
        else:
            assert isinstance(value, dict)
            value = value[name]
    return value


def ways(document: object) -> list[tuple[Step, ...]]:
    """The paths to every value in ``document``."""
    found: list[tuple[Step, ...]] = [()]
    inside: list[tuple[Step, object]] = []
    if isinstance(document, dict):
        inside = list(document.items())
    elif isinstance(document, list):
        inside = list(enumerate(document))
    for step, value in inside:
        found += [(step, *rest) for rest in ways(value)]
    return found


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), ""),
        (("",), "/"),
        (("a", 0, "b"), "/a/0/b"),
        (("a/b", "m~n", "~1"), "/a~1b/m~0n/~01"),
    ],
)
def test_pointer_is_encoded_as_rfc_6901_says(steps: tuple[Step, ...], expected: str) -> None:
    assert pointer(steps) == expected


def test_overlong_pointer_ends_at_the_parent() -> None:
    longest = "x" * (LONGEST - len("/a/"))
    assert pointer(("a", longest)) == f"/a/{longest}"
    assert pointer(("a", f"{longest}x")) == "/a"
    assert pointer(("a", "x" * LONGEST)) == "/a"
    assert pointer(("a", "x" * LONGEST, "b")) == "/a"


@given(data=st.data(), document=DOCUMENTS)
def test_pointer_resolves_to_the_value_it_was_made_for(
    data: st.DataObject, document: object
) -> None:
    steps = data.draw(st.sampled_from(ways(document)))
    fault = resolve(document, pointer(steps))
    assert steps_to(steps, document, fault) == steps


@given(
    data=st.data(),
    document=DOCUMENTS,
    labels=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["int", "Create", "list[str]"]))),
)
def test_steps_through_labels_lead_to_an_equal_value(
    data: st.DataObject, document: object, labels: list[tuple[int, str]]
) -> None:
    steps = data.draw(st.sampled_from(ways(document)))
    fault = resolve(document, pointer(steps))
    place: list[Step] = list(steps)
    for position, label in labels:
        place.insert(position % (len(place) + 1), label)
    assert resolve(document, pointer(steps_to(place, document, fault))) == fault


def test_steps_past_a_label_named_like_a_member_lead_to_the_fault() -> None:
    document = {"op": "text", "text": "long"}
    assert steps_to(("text", "text"), document, "long") == ("text",)
    assert steps_to(("text", "op"), document, "text") == ("op",)


def test_steps_to_a_missing_value_go_as_far_as_possible() -> None:
    assert steps_to(("a", "b", "[key]"), {"a": {"b": 1}}, "b") == ("a", "b")


def test_steps_through_an_ambiguous_location_are_found_in_bounded_time() -> None:
    document: object = 0
    for _ in range(150):
        document = {"a": document}
    assert len(steps_to(("a",) * 150, document, "nowhere")) == 150

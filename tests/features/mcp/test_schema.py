"""The schemas of tools, and the check of arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.mcp.tools import (
    InvalidArguments,
    advertised,
    boolean,
    check_arguments,
    integer,
    items,
    optional,
    record,
    text,
)

SCHEMA = record(
    name=text("A name.", shortest=1, longest=5),
    size=optional(integer("A size.", least=0, most=9)),
    deep=optional(boolean("Whether.")),
)


def test_omitted_value_that_may_be_null_is_none() -> None:
    assert check_arguments(SCHEMA, {"name": "a"}) == {"name": "a", "size": None, "deep": None}
    assert check_arguments(record(size=optional(integer("A size."))), None) == {"size": None}


def test_every_value_is_returned() -> None:
    given = {"name": "abcde", "size": 9, "deep": False}
    assert check_arguments(SCHEMA, given) == given


def test_number_without_a_fraction_is_an_integer() -> None:
    assert repr(check_arguments(SCHEMA, {"name": "a", "size": 9.0})["size"]) == "9"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "The argument name is missing: A name."),
        (None, "The argument name is missing: A name."),
        ({"name": None}, "The argument name must be of type string."),
        ({"name": 1}, "The argument name must be of type string."),
        ({"name": ""}, "The argument name must have at least 1 character."),
        ({"name": "abcdef"}, "The argument name must have at most 5 characters."),
        ({"name": "a", "size": -1}, "The argument size must be at least 0."),
        ({"name": "a", "size": 10}, "The argument size must be at most 9."),
        ({"name": "a", "size": True}, "The argument size must be of type integer or null."),
        ({"name": "a", "size": 1.5}, "The argument size must be of type integer or null."),
        ({"name": "a", "size": 1e400}, "The argument size must be of type integer or null."),
        ({"name": "a", "size": 1e300}, "The argument size must be at most 9."),
        ({"name": "a", "deep": 1}, "The argument deep must be of type boolean or null."),
        ({"name": "a", "b": 1}, "There is no argument 'b'. This tool takes name, size, deep."),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, object] | None, message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_arguments(SCHEMA, arguments)
    assert str(caught.value) == message


def test_advertised_schema_has_what_strict_clients_accept() -> None:
    assert advertised(record("All.", of=items("Some.", SCHEMA))) == {
        "type": "object",
        "description": "All.",
        "properties": {
            "of": {
                "type": "array",
                "description": "Some.",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "A name."},
                        "size": {
                            "description": "A size.",
                            "anyOf": [
                                {"type": "integer", "minimum": 0, "maximum": 9},
                                {"type": "null"},
                            ],
                        },
                        "deep": {
                            "description": "Whether.",
                            "anyOf": [{"type": "boolean"}, {"type": "null"}],
                        },
                    },
                    "required": ["name", "size", "deep"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["of"],
        "additionalProperties": False,
    }


VALUES = st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=7)


@given(
    st.dictionaries(st.sampled_from(["name", "size", "deep", "other"]), VALUES | st.lists(VALUES))
)
def test_accepted_arguments_are_those_given(arguments: dict[str, object]) -> None:
    try:
        found = check_arguments(SCHEMA, arguments)
    except InvalidArguments:
        return
    assert {name: value for name, value in found.items() if name in arguments} == arguments
    assert set(found) == {"name", "size", "deep"}

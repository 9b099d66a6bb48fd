"""JSON schemas in words."""

import pytest

from octavo.http.pages.reference import Member, Schema, TextPart, member, members_of, type_of


def words(schema: Schema) -> str:
    return "".join(f"<{part.text}>" if part.shape else part.text for part in type_of(schema))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "uuid"}, "string (uuid)"),
        ({"type": "string", "minLength": 1, "maxLength": 9}, "string (1 to 9 characters)"),
        ({"type": "string", "pattern": "^a$"}, "string (matches ^a$)"),
        ({"type": "string", "format": "uuid", "pattern": "^a$"}, "string (uuid)"),
        (
            {"type": "string", "maxLength": 9, "pattern": "^a$"},
            "string (at most 9 characters, matches ^a$)",
        ),
        ({"type": "integer", "minimum": 1, "maximum": 500}, "integer (1 to 500)"),
        ({"type": "integer", "minimum": 0}, "integer (at least 0)"),
        ({"type": "number", "maximum": 2}, "number (at most 2)"),
        ({"type": "boolean"}, "boolean"),
        ({}, "anything"),
        ({"const": "alive", "type": "string"}, '"alive"'),
        ({"enum": ["a", "b", None]}, '"a" or "b" or null'),
        ({"$ref": "#/components/schemas/Note"}, "<Note>"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        (
            {"oneOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]},
            "<A> or <B>",
        ),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/A"}}, "array of <A>"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 5},
            "array of string (at most 5 items)",
        ),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
            "array of, in order, integer, string",
        ),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"a": {}, "b": {}}}, "object of a, b"),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "object of any names, each integer",
        ),
    ],
)
def test_type_is_shown_on_one_line(schema: Schema, expected: str) -> None:
    assert words(schema) == expected


def test_type_keeps_neighbouring_words_together() -> None:
    schema = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert type_of(schema) == (TextPart("array of string or null"),)


def test_members_have_type_description_and_whether_they_are_required() -> None:
    schema = {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "The text."},
            "limit": {"type": "integer", "default": 100},
        },
    }
    assert members_of(schema) == (
        Member("text", (TextPart("string"),), True, "The text."),
        Member("limit", (TextPart("integer"),), False, "", "100"),
    )


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"default": False}, "false"),
        ({"default": 0}, "0"),
        ({"default": ""}, '""'),
        ({"default": None}, "null"),
        ({"default": "größte"}, '"größte"'),
        ({}, None),
    ],
)
def test_default_of_any_value_is_shown(schema: Schema, shown: str | None) -> None:
    assert member("each", schema, required=False).default == shown


def test_member_of_a_request_has_its_location_and_its_own_description() -> None:
    found = member("id", {"type": "string"}, required=True, description="Which.", place="path")
    assert found == Member("id", (TextPart("string"),), True, "Which.", None, "path")


def test_schema_that_is_not_an_object_has_no_members() -> None:
    assert members_of({"type": "array"}) == ()

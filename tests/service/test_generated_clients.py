"""What generators of clients need of the document, so that they leave nothing out.

They name the class of an enum or an object inside a schema after both: the member ``role`` of
``Member`` becomes ``MemberRole``. Two classes of one name are lost, with what refers to them.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from octavo.http.contract.bodies.body import BYTES
from octavo.service.registry import api_document

Json = dict[str, Any]

DOCUMENT: Json = api_document()
SCHEMAS: Json = DOCUMENT["components"]["schemas"]
OPERATIONS = [each for path in DOCUMENT["paths"].values() for each in path.values()]
# Any JSON at all.
UNTYPED = {"JsonValue"}


def pascal(name: str) -> str:
    """The part that ``name`` has in the name of a class."""
    parts = name.replace("-", "_").split("_")
    return "".join(part[:1].upper() + part[1:] for part in parts)


def inner_classes(name: str, schema: Json) -> Iterator[str]:
    """The names of the classes of the enums and objects inside ``schema``, which has ``name``."""
    for member, described in schema.get("properties", {}).items():
        yield from classes(name + pascal(member), described)
    if "items" in schema:
        yield from classes(f"{name}Item", schema["items"])
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            yield from classes(name, each)


def classes(name: str, schema: Json) -> Iterator[str]:
    if "$ref" in schema:
        return
    if "enum" in schema or "properties" in schema:
        yield name
    yield from inner_classes(name, schema)


def test_no_two_classes_have_one_name() -> None:
    names = [pascal(name) for name in SCHEMAS]
    for name, schema in SCHEMAS.items():
        names += inner_classes(pascal(name), schema)
    for operation in OPERATIONS:
        for each in operation["parameters"]:
            if "schema" in each:
                name = pascal(operation["operationId"]) + pascal(each["name"])
                names += classes(name, each["schema"])
    # Some file systems don't distinguish modules by case.
    assert [name for name, count in Counter(map(str.lower, names)).items() if count > 1] == []


def test_every_schema_has_one_type() -> None:
    untyped = {name for name, each in SCHEMAS.items() if not isinstance(each.get("type"), str)}
    assert untyped == UNTYPED


def test_every_body_has_a_schema() -> None:
    for operation in OPERATIONS:
        given = operation.get("requestBody", {}).get("content", {})
        returned = [each.get("content", {}) for each in operation["responses"].values()]
        for content in (given, *returned):
            assert all(each.get("schema") for each in content.values()), operation["operationId"]


def test_everything_but_json_and_pages_is_bytes() -> None:
    for operation in OPERATIONS:
        for response in operation["responses"].values():
            for media_type, content in response.get("content", {}).items():
                if not media_type.endswith("json") or media_type.endswith("ndjson"):
                    bytes_or_page = "text/html" in media_type or content["schema"] == BYTES
                    assert bytes_or_page, (operation["operationId"], media_type)

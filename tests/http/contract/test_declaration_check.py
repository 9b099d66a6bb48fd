"""Which types a parameter may have: those with a text form."""

from collections.abc import Callable
from datetime import datetime
from enum import Enum, IntEnum
from types import FunctionType
from typing import Annotated, Literal, cast
from uuid import UUID

import pytest
from pydantic import Field, create_model

from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import HeaderModel, Model
from octavo.http.contract.operation import ContractError
from tests.fakes.declared_operations import only


class Nested(Model):
    limit: int = 1


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Weight(Enum):
    HEAVY = 3


SINGLE = [
    (str, "a"),
    (int, "1"),
    (bool, "true"),
    (float | None, "1.5"),
    (datetime, "2026-01-02T03:04:05Z"),
    (UUID, "0190a0b0-0000-7000-8000-00000000000a"),
    (Colour, "red"),
    (Size | None, "3"),
    (Literal["a", "b"] | int, "b"),
    (Literal["a", None], "a"),
    (Annotated[int, Field(ge=1)], "1"),
]
SEVERAL = [
    list[str],
    list[str] | None,
    int | list[int],
    tuple[int, int],
    set[str],
    dict[str, str],
    Nested,
    Nested | None,
    Annotated[list[str], Field(max_length=2)],
]


async def by_path(self: object, call: Call, path: Nested) -> None: ...


async def by_query(self: object, call: Call, query: Nested) -> None: ...


async def by_headers(self: object, call: Call, headers: Nested) -> None: ...


HANDLERS: dict[str, Callable[..., object]] = {
    "path": by_path,
    "query": by_query,
    "headers": by_headers,
}


def handler_with(part: str, kind: object, default: object) -> Callable[..., object]:
    """A handler whose ``part`` has one field ``one_field`` of ``kind``."""
    base = HeaderModel if part == "headers" else Model
    model = create_model("Made", __base__=base, one_field=(cast("type", kind), default))
    handler = HANDLERS[part]
    assert isinstance(handler, FunctionType)
    copy = FunctionType(handler.__code__, handler.__globals__)
    copy.__annotations__ = {**handler.__annotations__, part: model}
    return copy


PARTS = [
    ("path", "oneField", {"path": "/api/{oneField}"}),
    ("query", "oneField", {}),
    ("headers", "one-field", {}),
]


@pytest.mark.parametrize("kind", SEVERAL, ids=str)
@pytest.mark.parametrize(("part", "field", "declared"), PARTS)
def test_parameter_without_a_single_value_is_refused(
    part: str, field: str, declared: dict[str, object], kind: object
) -> None:
    message = rf"^do \(by_{part}\): {part} has {field} as a list or a model"
    with pytest.raises(ContractError, match=message):
        only(handler_with(part, kind, None), **declared)


@pytest.mark.parametrize("kind", [Literal[1, 2], Literal["a", 1], Weight, Weight | None], ids=str)
def test_parameter_that_no_text_matches_is_refused(kind: object) -> None:
    with pytest.raises(
        ContractError, match=r"do \(.*query has oneField as \d, which text is never"
    ):
        only(handler_with("query", kind, None))


@pytest.mark.parametrize(("kind", "text"), SINGLE, ids=str)
@pytest.mark.parametrize(("part", "field", "declared"), PARTS)
def test_parameter_with_a_single_value_is_accepted_and_satisfiable(
    part: str, field: str, declared: dict[str, object], kind: object, text: str
) -> None:
    found = only(handler_with(part, kind, ...), **declared)
    model = {"path": found.path_model, "query": found.query_model, "headers": found.header_model}
    taken = model[part]
    assert taken is not None
    read = taken.model_validate_strings({field: text}, by_alias=True, by_name=False)
    assert read.model_fields_set == {"one_field"}

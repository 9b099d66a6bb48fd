"""The operations that this server serves, as a whole."""

import json
from base64 import b64decode
from functools import cache
from typing import Any, get_args

import pytest
from antechamber import SERVER_PROBLEMS, ServerProblem
from octavo_rules.problems import PROBLEMS, MethodNotAllowed, Problem
from openapi_spec_validator import OpenAPIV31SpecValidator
from pycrdt import Doc, Text
from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from octavo.http.contract.assembly import contract_of
from octavo.http.contract.bodies.json_body import JsonBody
from octavo.http.contract.contract_model import Model
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.operation import Operation
from octavo.service.registry import CONTRACT, EXAMPLES, api_document, explained_problems

WRITTEN = json.loads(EXAMPLES.read_bytes())
EXEMPLARY = [each for each in contract_of(CONTRACT) if each.id in WRITTEN]


class Attempt(Model):
    """A body."""

    address: str
    password: str


def test_document_is_valid_and_has_every_operation() -> None:
    made = api_document()
    OpenAPIV31SpecValidator(made).validate()
    paths = made["paths"]
    assert isinstance(paths, dict)
    assert set(paths) == {each.path for each in contract_of(CONTRACT)}


@cache
def described() -> dict[str, dict[str, Any]]:
    document = json.loads(json.dumps(api_document()))
    return {
        each["operationId"]: each for path in document["paths"].values() for each in path.values()
    }


def output(kind: object, example: object) -> object:
    """``example`` as it is after it was validated."""
    adapter: TypeAdapter[object] = TypeAdapter(kind)  # type: ignore[arg-type]
    found = adapter.validate_json(json.dumps(example), by_alias=True, by_name=False)
    return json.loads(adapter.dump_json(found, by_alias=True))


@pytest.mark.parametrize("operation", EXEMPLARY, ids=lambda each: each.id)
def test_examples_are_valid_and_in_the_document(operation: Operation) -> None:
    example, told = WRITTEN[operation.id], described()[operation.id]
    if "request" in example:
        assert operation.body is not None
        output(operation.body.model, example["request"])
        contents = told["requestBody"]["content"].values()
        assert [each["example"] for each in contents] == [example["request"]]
    if "response" in example:
        assert output(operation.response_type, example["response"]) == example["response"]
        content = told["responses"][str(operation.status)]["content"]["application/json"]
        assert content["example"] == example["response"]


def test_document_in_an_example_has_the_text() -> None:
    file = WRITTEN["getFile"]["response"]
    note: Doc[Text] = Doc()
    note.apply_update(b64decode(file["document"]["state"]))
    assert str(note.get("text", type=Text)) == file["text"]
    assert note.get_state() == b64decode(file["document"]["stateVector"])


def test_every_possible_problem_is_explained_once() -> None:
    codes = [each.code for each in explained_problems()]
    operations = contract_of(CONTRACT)
    possible = {each.code for declared in operations for each in possible_problems(declared)}
    of_server = {each.code for each in SERVER_PROBLEMS}
    assert set(codes) == possible | of_server | {MethodNotAllowed.code}
    assert len(codes) == len(set(codes))


def test_every_problem_of_the_contract_is_explained() -> None:
    assert {each.code for each in PROBLEMS} <= {each.code for each in explained_problems()}


def models_in(kind: object, found: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """``found`` with the models of a body, and of its members."""
    if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in found:
        found.add(kind)
        for each in kind.model_fields.values():
            models_in(each.annotation, found)
    for part in get_args(kind):
        models_in(part, found)
    return found


def test_parser_keeps_no_value_of_a_request() -> None:
    # Short strings are kept in a cache of the parser otherwise, passwords among them.
    given = b'{"address": "ann@example.org", "password": "correct horse battery"}'
    first, second = (Attempt.model_validate_json(given) for _ in range(2))
    assert first.password == second.password
    assert first.password is not second.password
    bodies = [each.body for each in contract_of(CONTRACT) if isinstance(each.body, JsonBody)]
    models = {each.model for each in bodies if not issubclass(each.model, RootModel)}
    assert len(models) > 20
    assert {each.model_config.get("cache_strings") for each in models} == {"keys"}


def integers_in_bodies() -> list[tuple[type[BaseModel], str, int]]:
    """The members of bodies that are integers, as the document says, and the least of each."""
    bodies = [each.body.model for each in contract_of(CONTRACT) if each.body is not None]
    models: set[type[BaseModel]] = set()
    for body in bodies:
        models_in(body, models)
    found = [
        (model, name, each.get("minimum", 0) + 1)
        for model in models
        for name, schema in model.model_json_schema().get("properties", {}).items()
        for each in schema.get("anyOf", [schema])
        if each.get("type") == "integer"
    ]
    return sorted(found, key=lambda each: (each[0].__name__, each[1]))


@pytest.mark.parametrize(("model", "name", "number"), integers_in_bodies())
def test_integers_in_bodies_are_those_of_json_schema(
    model: type[BaseModel], name: str, number: int
) -> None:
    def refused(written: str) -> bool:
        try:
            model.model_validate_json(f'{{"{name}": {written}}}', by_alias=True, by_name=False)
        except ValidationError as error:
            return any(each["loc"][0] == name for each in error.errors())
        return False

    # Core, section 4.2.3: a number without a fraction, however it is written.
    for written in (f"{number}", f"{number}.0", f"{number}e0", f"{number}.00E+0", "10e-1", "1e2"):
        assert not refused(written)
    for written in ("1.5", "true", '"1"', "1e400", "-1e400", "NaN", "[1]"):
        assert refused(written)


def test_integers_in_bodies_are_known() -> None:
    assert len(integers_in_bodies()) == 9


@pytest.mark.parametrize("problem", explained_problems(), ids=lambda each: each.code)
def test_problem_has_a_meaning_and_a_remedy(
    problem: type[Problem] | ServerProblem,
) -> None:
    assert problem.summary.endswith(".")
    assert problem.remedy.endswith(".")

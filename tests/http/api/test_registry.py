"""The operations that this server serves, as a whole."""

from typing import get_args

import pytest
from antechamber import SERVER_PROBLEMS, ServerProblem
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, RootModel, ValidationError

from octavo.http.api.registry import CONTRACT, contract_document, explained_problems
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.bodies.json_body import JsonBody
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.problems import PROBLEMS, MethodNotAllowed, Problem


class Attempt(ContractModel):
    """A body."""

    address: str
    password: str


def test_document_is_valid_and_has_every_operation() -> None:
    made = contract_document()
    OpenAPIV31SpecValidator(made).validate()
    paths = made["paths"]
    assert isinstance(paths, dict)
    assert set(paths) == {each.path for each in contract_of(CONTRACT)}


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

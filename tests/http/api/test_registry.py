"""The operations that this server serves, as a whole."""

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from octavo.http.api.registry import CONTRACT, contract_document, explained_problems
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.declared_responses import possible_problems
from octavo.http.contract.problems import PROBLEMS, MethodNotAllowed, Problem
from octavo.http.server import SERVER_PROBLEMS, ServerProblem


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


@pytest.mark.parametrize("problem", explained_problems(), ids=lambda each: each.code)
def test_problem_has_a_meaning_and_a_remedy(
    problem: type[Problem] | ServerProblem,
) -> None:
    assert problem.summary.endswith(".")
    assert problem.remedy.endswith(".")

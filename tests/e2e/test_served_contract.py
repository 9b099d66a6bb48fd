"""The check of responses against the contract finds violations."""

from datetime import timedelta

import httpx
import pytest

from octavo.http.api.registry import contract_document
from tests.e2e.served_contract import ServedContract, Undocumented

CONTRACT = ServedContract(contract_document())
HEADERS = {"content-type": "application/json", "x-request-id": "a"}
PROBLEM = {
    "type": "a",
    "title": "Not Found",
    "status": 404,
    "detail": "b",
    "code": "not_found",
    "requestId": "a",
}


def response(status: int, headers: dict[str, str], body: object) -> httpx.Response:
    request = httpx.Request("GET", "http://notes.example.org/health")
    made = httpx.Response(status, headers=headers, json=body, request=request)
    made.elapsed = timedelta()
    return made


def test_documented_response_passes() -> None:
    CONTRACT.check("getHealth", response(200, HEADERS, {"status": "alive"}))
    problem = {**HEADERS, "content-type": "application/problem+json"}
    CONTRACT.check("getFile", response(404, problem, PROBLEM))


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (204, HEADERS, {"status": "alive"}),
        (200, {"content-type": "application/json"}, {"status": "alive"}),
        (200, {**HEADERS, "content-type": "text/plain"}, {"status": "alive"}),
        (200, HEADERS, {"status": "dead"}),
        (200, HEADERS, {}),
        (200, HEADERS, {"status": "alive", "more": 1}),
        (404, {**HEADERS, "content-type": "application/problem+json"}, PROBLEM),
    ],
)
def test_undocumented_response_is_found(status: int, headers: dict[str, str], body: object) -> None:
    with pytest.raises((Undocumented, AssertionError, ExceptionGroup)):
        CONTRACT.check("getHealth", response(status, headers, body))


def test_problem_of_another_code_than_documented_is_found() -> None:
    problem = {**HEADERS, "content-type": "application/problem+json"}
    with pytest.raises((AssertionError, ExceptionGroup)):
        CONTRACT.check("getFile", response(404, problem, {**PROBLEM, "code": "other"}))

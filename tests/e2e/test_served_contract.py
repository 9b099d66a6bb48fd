"""The check of responses against the contract finds violations."""

from datetime import timedelta

import httpx
import pytest

from octavo.service.registry import api_document
from tests.e2e.people import client
from tests.e2e.served_contract import ServedContract, Undocumented, check_head

CONTRACT = ServedContract(api_document())
PATH = "/api/workspaces/a/files/b/content"
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


LIMITED = [("x-request-id", "a"), ("content-type", "application/problem+json")]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("retry-after", "60"), ("service-limit", "account-download-bytes")],
        [("date", "now"), ("content-length", "1"), ("connection", "close")],
        [("cache-control", "no-store"), ("referrer-policy", "no-referrer")],
    ],
)
def test_documented_head_passes(headers: list[tuple[str, str]]) -> None:
    check_head("GET", PATH, 429, [*LIMITED, *headers])
    check_head("HEAD", PATH, 429, [*LIMITED, *headers])


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (("set-cookie", "a=b"), "no such header as set-cookie"),
        (("retry-after", "soon"), "retry-after with another value"),
        (("service-limit", "mine"), "service-limit with another value"),
        (("cache-control", "public"), "cache-control is not described"),
    ],
)
def test_undocumented_header_is_found(header: tuple[str, str], reason: str) -> None:
    with pytest.raises(Undocumented, match=f"getFileContent returned 429 .*{reason}"):
        check_head("GET", PATH, 429, [*LIMITED, header])


def test_head_that_the_server_sends_for_any_operation_is_documented() -> None:
    check_head("GET", PATH, 414, LIMITED)
    with pytest.raises(Undocumented, match=r"getFileContent returned 418 .*no such status"):
        check_head("GET", PATH, 418, LIMITED)


def test_pages_are_not_documented() -> None:
    check_head("GET", "/sign-in", 418, [])


def test_client_raises_for_what_is_not_documented() -> None:
    def undocumented(request: httpx.Request) -> httpx.Response:
        return httpx.Response(418, headers=LIMITED)

    with client("http://notes.example.org", transport=httpx.MockTransport(undocumented)) as http:
        assert http.get("/sign-in").status_code == 418
        with pytest.raises(Undocumented):
            http.get(f"{PATH}?width=160")

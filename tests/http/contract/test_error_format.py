"""Errors in the format of a protocol."""

import pytest

from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.error_format import OAUTH_ERROR
from octavo.http.contract.openapi import document
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.problems import NotFound
from tests.fakes.asgi_client import ask


class ProtocolOperations:
    @operation(
        id="exchange",
        method="POST",
        path="/exchange",
        tag="protocol",
        summary="Refuse",
        security=Security.NONE,
        problems=(NotFound,),
        errors=OAUTH_ERROR,
    )
    async def exchange(self, call: Call) -> None:
        raise NotFound("No such thing.")


def application() -> Application:
    return Application([ProtocolOperations()], new_id=lambda: "an-id", log_request=lambda _: None)


async def test_problem_is_the_error_of_the_protocol() -> None:
    response = await ask(application(), "POST", "/exchange")
    assert response.status == 404
    assert response.header("content-type") == "application/json"
    assert response.json() == {"error": "invalid_request", "error_description": "No such thing."}


async def test_other_method_is_refused_in_the_format_of_the_path() -> None:
    response = await ask(application(), "DELETE", "/exchange")
    assert (response.status, response.header("allow")) == (405, "OPTIONS, POST")
    assert response.json()["error"] == "invalid_request"


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (400, "invalid_grant", "invalid_grant"),
        (400, "unheard_of", "invalid_request"),
        (401, "credential_refused", "invalid_token"),
        (429, "rate_limited", "temporarily_unavailable"),
        (500, "internal_error", "server_error"),
    ],
)
def test_codes_of_oauth_are_kept_and_others_translated(status: int, code: str, error: str) -> None:
    found = OAUTH_ERROR.body(status, code, "Why.")
    assert found == {"error": error, "error_description": "Why."}


def test_contract_document_describes_the_format() -> None:
    made = document([ProtocolOperations], title="t", version="1")
    text = str(made)
    assert "'OAuthError': {'type': 'object'" in text
    assert "'application/json': {'schema': {'$ref': '#/components/schemas/OAuthError'}}" in text

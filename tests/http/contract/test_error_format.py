"""Errors in the format of a protocol."""

from typing import Any

import pytest
from octavo_rules.problems import NotFound

from octavo.http.contract.application import Application
from octavo.http.contract.call import Call, Reply
from octavo.http.contract.contract_model import Model
from octavo.http.contract.error_format import MCP_ERROR, OAUTH_ERROR, RPC_MEMBER
from octavo.http.contract.openapi import openapi_document
from octavo.http.contract.operation import Security, operation
from tests.fakes.asgi_client import ask


class Made(Model):
    id: str


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


class MessageOperations:
    @operation(
        id="sendMessage",
        method="POST",
        path="/message",
        tag="protocol",
        summary="Answer a message, or only accept it",
        security=Security.NONE,
        other_statuses=(202,),
        errors=MCP_ERROR,
    )
    async def send_message(self, call: Call) -> Made | Reply[None]:
        if call.header(b"accept") is None:
            return Reply(None, status=202)
        return Made(id="m")


def application() -> Application:
    return Application(
        [ProtocolOperations(), MessageOperations()],
        new_id=lambda: "an-id",
        log_request=lambda _: None,
    )


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
    found = OAUTH_ERROR.body(status, code, "Why.", {})
    assert found == {"error": error, "error_description": "Why."}


def test_contract_document_describes_the_format() -> None:
    made = openapi_document([ProtocolOperations], title="t", version="1")
    text = str(made)
    assert "'OAuthError': {'type': 'object'" in text
    assert "'application/json': {'schema': {'$ref': '#/components/schemas/OAuthError'}}" in text


async def test_invalid_request_id_is_refused_in_the_format_of_the_path() -> None:
    headers = [(b"x-request-id", b"not an id")]
    response = await ask(application(), "POST", "/exchange", headers=headers)
    assert (response.status, response.json()["error"]) == (400, "invalid_request")


async def test_message_is_answered_or_accepted_without_content() -> None:
    answered = await ask(application(), "POST", "/message", headers=[(b"accept", b"*/*")])
    assert (answered.status, answered.json()) == (200, {"id": "m"})
    accepted = await ask(application(), "POST", "/message")
    assert (accepted.status, accepted.body) == (202, b"")
    assert (accepted.header("content-length"), accepted.header("content-type")) == ("0", None)


@pytest.mark.parametrize(
    ("status", "code", "rpc_code"),
    [
        (400, "invalid_request", -32600),
        (403, "wrong_origin", -32600),
        (404, "not_found", -32600),
        (429, "rate_limited", -32600),
        (500, "internal_error", -32603),
        (503, "server_busy", -32603),
    ],
)
def test_error_of_mcp_has_the_code_of_the_problem(status: int, code: str, rpc_code: int) -> None:
    assert MCP_ERROR.body(status, code, "Why.", {}) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": rpc_code, "message": "Why.", "data": {"code": code}},
    }


def test_error_of_mcp_about_a_message_has_its_id_and_code() -> None:
    about = {RPC_MEMBER: {"id": "a", "code": -32020, "data": None}}
    assert MCP_ERROR.body(400, "any", "Why.", about) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32020, "message": "Why."},
    }


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "not_signed_in", "invalid_token"),
        (401, "credential_refused", "invalid_token"),
        (403, "insufficient_scope", "insufficient_scope"),
    ],
)
def test_error_of_mcp_about_the_token_is_that_of_oauth(status: int, code: str, error: str) -> None:
    found = MCP_ERROR.body(status, code, "Why.", {})
    assert found == {"error": error, "error_description": "Why."}


def test_contract_document_describes_formats_by_status() -> None:
    assert [each.name for each in MCP_ERROR.at(401)] == ["OAuthError"]
    assert [each.name for each in MCP_ERROR.at(403)] == ["OAuthError", "McpError"]
    assert [each.name for each in MCP_ERROR.at(404)] == ["McpError"]
    made: Any = openapi_document([MessageOperations], title="t", version="1")
    assert {"McpError", "OAuthError"} <= set(made["components"]["schemas"])
    responses = made["paths"]["/message"]["post"]["responses"]
    assert "content" in responses["200"]
    assert "content" not in responses["202"]
    assert responses["400"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/McpError"
    }

"""Requests for authorization."""

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.identity import READ, WRITE, Scope

from octavo.features.oauth.rules.authorization_request import (
    AuthorizationRequest,
    challenge_of,
    check_resource,
    read_request,
    response_address,
)
from octavo.features.oauth.rules.client import ClientMetadata, OAuthClient
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.account import ClientId

ISSUER = "https://notes.example"
RESOURCE = "https://notes.example/mcp"
URI = "https://client.example/cb?tenant=1"
CHALLENGE = challenge_of("v" * 43)
BOTH: frozenset[Scope] = frozenset({READ, WRITE})
GIVEN = {
    "response_type": "code",
    "redirect_uri": URI,
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "resource": RESOURCE,
    "state": "s t&=",
}


def client(*uris: str) -> OAuthClient:
    return OAuthClient(ClientId("c"), ClientMetadata("A program", uris or (URI,), "none"))


def read(
    changed: dict[str, str | None] | None = None, *uris: str, offered: frozenset[Scope] = BOTH
) -> AuthorizationRequest:
    merged: dict[str, str | None] = {**GIVEN, **(changed or {})}
    given = {name: value for name, value in merged.items() if value is not None}
    return read_request(client(*uris), given, resource=RESOURCE, offered=offered)


def test_request_is_read() -> None:
    found = read()
    assert (found.redirect_uri, found.state, found.challenge) == (URI, "s t&=", CHALLENGE)
    assert found.scopes == {READ}
    assert found.given_redirect_uri


def test_target_may_be_left_out_because_there_is_only_one() -> None:
    assert read({"resource": None}).scopes == {READ}


@pytest.mark.parametrize(
    ("scope", "scopes"),
    [
        ("", {READ}),
        (" ", {READ}),
        ("notes:read", {READ}),
        ("notes:write", BOTH),
        ("notes:read openid offline_access", {READ}),
    ],
)
def test_scopes_that_are_not_offered_are_left_out(scope: str, scopes: set[Scope]) -> None:
    assert read({"scope": scope}).scopes == scopes


def test_state_has_at_most_4096_characters() -> None:
    # One more is refused below.
    assert read({"state": "s" * 4096}).state == "s" * 4096


def test_write_is_not_granted_where_it_is_not_offered() -> None:
    assert read({"scope": "notes:read notes:write"}, offered=frozenset({READ})).scopes == {READ}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"response_type": "token"}, "invalid_oauth_request"),
        ({"response_type": None}, "invalid_oauth_request"),
        ({"code_challenge": None}, "invalid_oauth_request"),
        ({"code_challenge_method": "plain"}, "invalid_oauth_request"),
        ({"code_challenge_method": None}, "invalid_oauth_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": RESOURCE + "/"}, "invalid_target"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"state": "s" * 4097}, "invalid_oauth_request"),
    ],
)
def test_request_with_a_fault_is_refused(changed: dict[str, str | None], code: str) -> None:
    with pytest.raises(OAuthRefusal) as refused:
        read(changed)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "changed", [{"redirect_uri": "https://evil.example/"}, {"redirect_uri": URI + "&x=1"}]
)
def test_nothing_is_sent_to_an_address_that_is_not_registered(
    changed: dict[str, str | None],
) -> None:
    with pytest.raises(OAuthRefusal) as refused:
        read({**changed, "response_type": "token"})
    assert refused.value.code == "invalid_redirect_uri"


@pytest.mark.parametrize("uri", ["ms-msdt:/id", "search-ms:query=a", "mailto:eve@evil.example"])
def test_client_that_registered_an_address_before_it_was_refused_gets_nothing(uri: str) -> None:
    with pytest.raises(OAuthRefusal, match="handle themselves") as refused:
        read({"redirect_uri": uri}, uri, URI)
    assert refused.value.code == "invalid_redirect_uri"
    assert read({}, uri, URI).redirect_uri == URI


def test_address_may_be_left_out_if_the_only_one_is_a_web_site() -> None:
    found = read({"redirect_uri": None})
    assert (found.redirect_uri, found.given_redirect_uri) == (URI, False)
    for uris in ([URI, "https://client.example/other"], ["http://127.0.0.1/cb"]):
        with pytest.raises(OAuthRefusal):
            read({"redirect_uri": None}, *uris)


def test_port_of_the_loopback_interface_is_that_of_the_request() -> None:
    given = "http://127.0.0.1:50123/cb"
    assert read({"redirect_uri": given}, "http://127.0.0.1/cb").redirect_uri == given


@given(st.text(), st.one_of(st.none(), st.text()))
def test_response_has_exactly_its_parameters(code: str, state: str | None) -> None:
    for uri in ("https://c.example/cb", URI, "com.example:/cb", "https://c.example/cb?"):
        try:
            code.encode()
            (state or "").encode()
        except UnicodeEncodeError:
            return
        address = response_address(uri, {"code": code}, state=state, issuer=ISSUER)
        assert address.startswith(uri)
        found = parse_qs(address.partition("?")[2], keep_blank_values=True)
        assert found["code"] == [code]
        assert found["iss"] == [ISSUER]
        assert found.get("state") == (None if state is None else [state])


def test_other_target_is_refused_at_the_token_endpoint_too() -> None:
    check_resource(None, RESOURCE)
    check_resource(RESOURCE, RESOURCE)
    with pytest.raises(OAuthRefusal, match="only resource"):
        check_resource(ISSUER, RESOURCE)

"""Clients and their metadata."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.features.oauth.rules.client import (
    LONGEST_NAME,
    is_document_address,
    read_document,
    read_metadata,
)
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.account import ClientId

URI = "https://client.example/cb"
ADDRESS = ClientId("https://client.example/oauth/metadata.json")


def test_metadata_have_the_defaults_of_the_standard() -> None:
    found = read_metadata({"redirect_uris": [URI, URI], "unknown": 1})
    assert found.redirect_uris == (URI,)
    assert found.auth_method == "client_secret_basic"
    assert (found.name, found.home) == ("client.example", None)


def test_metadata_of_a_public_client() -> None:
    found = read_metadata(
        {
            "redirect_uris": ["http://127.0.0.1/cb"],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "client_name": "  Claude\n\u202eedoC  ",
            "client_uri": "https://claude.ai",
        }
    )
    assert (found.name, found.auth_method, found.home) == (
        "Claude edoC",
        "none",
        "https://claude.ai",
    )


@given(st.text(max_size=600))
def test_name_is_one_short_line_of_visible_characters(name: str) -> None:
    shown = read_metadata({"redirect_uris": [URI], "client_name": name}).name
    assert 0 < len(shown) <= LONGEST_NAME
    assert shown.isprintable()


def test_program_may_have_20_addresses_and_a_name_of_100_characters() -> None:
    uris = [f"{URI}/{number}" for number in range(20)]
    found = read_metadata({"redirect_uris": uris, "client_name": "n" * 101})
    assert found.redirect_uris == (*uris,)
    assert found.name == "n" * 100


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": URI}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"redirect_uris": [URI] * 21}, "invalid_redirect_uri"),
        ({"redirect_uris": [URI, "http://client.example/cb"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [URI, "ms-msdt:/id"]}, "invalid_redirect_uri"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
        ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"response_types": ["token"]}, "invalid_client_metadata"),
    ],
)
def test_metadata_that_can_not_be_served_are_refused(
    document: dict[str, object], code: str
) -> None:
    if code == "invalid_client_metadata":
        document = {"redirect_uris": [URI], **document}
    with pytest.raises(OAuthRefusal) as refused:
        read_metadata(document)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("home", "shown"),
    [
        ("https://client.example/about", True),
        ("https://client.example:8443", True),
        ("http://client.example/about", False),
        ("javascript:alert(1)", False),
        ("com.example.app:/about", False),
        ("https://claude.ai@evil.example/", False),
        ("https://claude.ai\\@evil.example/", False),
        ("https://evil.example/\u202eia.edualc//:sptth", False),
        ("https://\u0441laude.ai/", False),
        ("https://claude.ai/\nYour account: verified", False),
        ("https://claude.ai/\x00", False),
        ("https://claude.ai/ verified", False),
        ("https://", False),
        ("https://[", False),
        (7, False),
    ],
)
def test_page_of_a_client_is_shown_if_its_address_can_not_deceive(
    home: object, shown: bool
) -> None:
    found = read_metadata({"redirect_uris": [URI], "client_uri": home})
    assert found.home == (home if shown else None)


@pytest.mark.parametrize(
    ("address", "valid"),
    [
        (ADDRESS, True),
        ("https://client.example:8443/a/b", True),
        ("https://client.example/", False),
        ("https://client.example", False),
        ("http://client.example/a", False),
        ("https://user@client.example/a", False),
        ("https://client.example/a?b", False),
        ("https://client.example/a?", False),
        ("https://client.example/a#b", False),
        ("https://client.example/../a", False),
        ("https://client.example/./a", False),
        ("https://client.example/a b", False),
        ("https://client.example/a\nb", False),
        ("https://client.example/a\x7f", False),
        ("https://client.example/\u00e4", False),
        ("https://client.example:0/a", False),
        ("https://client.example:x/a", False),
        ("https:///a", False),
        ("https://client.example/a", True),
        ("https://client.example:1/a", True),
        ("https://client.example/" + "a" * 1977, True),
        ("https://client.example/" + "a" * 1978, False),
        ("0190a0b0-0000-7000-8000-00000000000a", False),
    ],
)
def test_address_of_a_document(address: str, valid: bool) -> None:
    assert is_document_address(address) is valid


def test_document_describes_the_client_at_its_address() -> None:
    found = read_document(ADDRESS, {"client_id": ADDRESS, "redirect_uris": [URI]})
    assert (found.client_id, found.metadata.auth_method) == (ADDRESS, "none")
    assert (found.secret_digest, found.created_at) == (None, 0)


def test_document_with_an_address_that_a_system_handles_is_refused() -> None:
    document = {"client_id": ADDRESS, "redirect_uris": [URI, "search-ms:query=a"]}
    with pytest.raises(OAuthRefusal) as refused:
        read_document(ADDRESS, document)
    assert refused.value.code == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://other.example/a"},
        {"client_id": None},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"client_secret": "x"},
    ],
)
def test_document_of_another_client_or_with_a_secret_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(OAuthRefusal) as refused:
        read_document(ADDRESS, {"client_id": ADDRESS, "redirect_uris": [URI], **changed})
    assert refused.value.code == "invalid_client_metadata"

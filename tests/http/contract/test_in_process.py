"""Calls of operations in the same process."""

from collections.abc import Iterator

import pytest
from antechamber.asgi import Scope
from octavo_rules.problems import InvalidRequest, NotSignedIn, WrongOrigin

from octavo.features.accounts.api.keys import ApiKeyList
from octavo.http.account_schemas import AccountSchema
from octavo.http.contract.in_process import Api, api_as
from tests.fakes.page_reader import Installation, installation
from tests.fakes.users_api import ADDRESS, ORIGIN


@pytest.fixture
def house() -> Iterator[Installation]:
    with installation() as made:
        yield made


async def api_of(house: Installation, origin: str = ORIGIN) -> Api:
    """The API for a person who requests a page."""
    signed_in = await house.users.identity.account()
    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/some/page",
        "headers": [
            (b"cookie", b"__Host-octavo=" + signed_in.token.encode()),
            (b"origin", origin.encode()),
            (b"content-type", b"application/x-www-form-urlencoded"),
            (b"content-length", b"1234567"),
            (b"authorization", b"Bearer of another service"),
        ],
        "client": ("192.0.2.7", 50000),
    }
    return Api(house.users.application.perform, scope, "r-1")


async def test_operation_is_performed_for_the_person_of_the_page(house: Installation) -> None:
    api = await api_of(house)
    account = await api.get(AccountSchema, "/api/account")
    assert account.address == ADDRESS
    changed = await api.send(AccountSchema, "PATCH", "/api/account", {"displayName": "Anne"})
    assert changed.display_name == "Anne"


async def test_response_of_another_type_is_a_bug(house: Installation) -> None:
    with pytest.raises(TypeError, match="AccountSchema, not ApiKeyList"):
        await (await api_of(house)).get(ApiKeyList, "/api/account")


async def test_unknown_operation_is_a_bug(house: Installation) -> None:
    api = await api_of(house)
    for method, path in (("GET", "/api/nothing"), ("PUT", "/api/account")):
        with pytest.raises(LookupError):
            await api.call(method, path)


async def test_input_is_checked_as_that_of_any_client(house: Installation) -> None:
    with pytest.raises(InvalidRequest):
        await (await api_of(house)).call("PATCH", "/api/account", {"displayName": 1})


async def test_parameters_without_a_value_are_left_out(house: Installation) -> None:
    api = await api_of(house)
    with pytest.raises(InvalidRequest):
        await api.get(AccountSchema, "/api/account/sessions", after="")
    assert (await api.call("GET", "/api/account/sessions", query={"limit": "1"})).headers == ()


async def test_origin_is_checked(house: Installation) -> None:
    api = await api_of(house, "https://evil.example")
    await api.get(AccountSchema, "/api/account")
    with pytest.raises(WrongOrigin):
        await api.call("PATCH", "/api/account", {"displayName": "Mallory"})


async def test_headers_that_an_operation_sets_are_returned(house: Installation) -> None:
    api = await api_of(house)
    performed = await api.call("POST", "/api/auth/sign-out", {})
    [(name, value)] = performed.headers
    assert (name, value.endswith(b"Max-Age=0")) == (b"set-cookie", True)
    with pytest.raises(NotSignedIn):
        await api.get(AccountSchema, "/api/account")


async def test_calls_are_not_logged_as_requests(house: Installation) -> None:
    await (await api_of(house)).get(AccountSchema, "/api/account")
    assert house.users.records == []


async def test_caller_that_is_known_already_sends_no_credential(house: Installation) -> None:
    signed_in = await house.users.identity.account()
    caller = await house.users.identity.credentials.of_session(signed_in.token.encode())
    assert caller is not None
    stranger: Scope = {"type": "http", "headers": [(b"cookie", b"__Host-octavo=other")]}
    api = api_as(caller, house.users.application.perform, stranger, "r-1")
    assert (await api.get(AccountSchema, "/api/account")).address == ADDRESS
    changed = await api.send(AccountSchema, "PATCH", "/api/account", {"displayName": "Anne"})
    assert changed.display_name == "Anne"

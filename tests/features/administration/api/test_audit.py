"""Reading the audit as an administrator."""

import pytest

from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.users_api import FROM_HERE, UsersApi

AUDIT = "/api/audit"


async def test_administrators_read_the_audit_newest_first(users: UsersApi) -> None:
    root, session = await users.account(role="administrator")
    account_id = root.account.account_id
    await users.post("/api/account/keys", {"name": "my laptop"}, session, FROM_HERE)
    response = await users.get(AUDIT, session)
    assert response.status == 200
    page = response.json()
    assert [each["kind"] for each in page["items"]] == [
        "key_created",
        "account_registered",
        "invitation_created",
    ]
    [entry] = [each for each in page["items"] if each["kind"] == "account_registered"]
    assert entry == {
        "id": entry["id"],
        "at": "2027-01-15T08:00:00.000Z",
        "kind": "account_registered",
        "actor": account_id,
        "subject": account_id,
        "client": "192.0.2.7",
        "outcome": "done",
        "detail": {"role": "administrator", "invitationId": entry["detail"]["invitationId"]},
    }
    assert page["next"] is None
    assert b"my laptop" not in response.body
    assert b"example.org" not in response.body


async def test_pages_continue_where_the_last_one_ended(users: UsersApi) -> None:
    _, session = await users.account(role="administrator")
    whole = (await users.get(AUDIT, session)).json()["items"]
    first = (await users.get(f"{AUDIT}?limit=1", session)).json()
    rest = (await users.get(f"{AUDIT}?after={first['next']}", session)).json()
    assert first["items"] + rest["items"] == whole


async def test_filters_select_a_kind_and_an_account(users: UsersApi) -> None:
    root, session = await users.account(role="administrator")
    bob, _ = await users.account("bob@example.org")
    path = f"{AUDIT}?kind=account_registered"
    both = (await users.get(path, session)).json()["items"]
    assert [each["actor"] for each in both] == [bob.account.account_id, root.account.account_id]
    [one] = (await users.get(f"{path}&account={bob.account.account_id}", session)).json()["items"]
    assert one == both[0]


@pytest.mark.parametrize("query", ["kind=other", "account=bob", "after=x", "limit=0"])
async def test_wrong_filters_are_refused(users: UsersApi, query: str) -> None:
    _, session = await users.account(role="administrator")
    response = await users.get(f"{AUDIT}?{query}", session)
    assert (response.status, response.json()["code"]) == (400, "invalid_request")


async def test_members_do_not_read_the_audit(users: UsersApi) -> None:
    _, session = await users.account()
    response = await users.get(AUDIT, session)
    assert (response.status, response.json()["code"]) == (403, "forbidden")


async def test_a_wrong_password_is_read_with_its_account(users: UsersApi) -> None:
    root, session = await users.account(role="administrator")
    await users.sign_in(password="a guess at it")
    await users.sign_in(password=PASSWORD)
    await users.identity.audit.refused.flush()
    refused, signed_in, *_ = (await users.get(AUDIT, session)).json()["items"]
    assert (refused["kind"], refused["outcome"]) == ("attempt_refused", "refused")
    assert (refused["actor"], refused["subject"]) == (None, root.account.account_id)
    assert refused["detail"] == {
        "code": "credential_refused",
        "operation": "signInWithPassword",
        "count": 1,
    }
    assert signed_in["kind"] == "sign_in"

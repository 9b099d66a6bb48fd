"""Which refused requests are counted for the audit."""

from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of, operator_token
from octavo.service.components import COUNTED
from tests.fakes.users_api import FROM_HERE, UsersApi, bearer, cookie

TOKEN = operator_token(bytes(32))
OPERATOR = "/api/operator/accounts?address=a@example.org"


async def counted(users: UsersApi) -> list[AuditEntry]:
    users.identity.audited.clear()
    await users.identity.audit.refused.flush()
    return users.identity.audited


async def test_requests_of_a_locked_account_are_counted_with_the_account(users: UsersApi) -> None:
    made = await users.identity.account()
    account_id = made.account.account_id
    await users.identity.set_state(account_id, "locked")
    for _ in range(2):
        given = {"displayName": "Bo"}
        response = await users.patch("/api/account", given, cookie(made.token), FROM_HERE)
        assert response.status == 423
    [entry] = await counted(users)
    assert entry.subject == account_id
    assert entry.detail == {"code": "account_locked", "operation": "updateOwnAccount", "count": 2}


async def test_unknown_keys_and_exceeded_rates_are_counted(users: UsersApi) -> None:
    assert (await users.get("/api/account", bearer("octk_" + "0" * 36))).status == 401
    while (await users.sign_in("no@example.org", "a guess at it")).status != 429:
        pass
    details = [entry.detail for entry in await counted(users)]
    assert {"code": "key_refused", "operation": "getAccount", "count": 1} in details
    assert {"code": "rate_limited", "operation": "signInWithPassword", "count": 1} in details
    assert {each["code"] for each in details} == {*COUNTED, "credential_refused"} - {
        "account_locked"
    }


async def test_wrong_operator_tokens_are_counted_and_exceeded_rates_of_the_operator_are(
    users: UsersApi,
) -> None:
    users = UsersApi(users.identity, [digest_of(TOKEN.encode()).hex()])
    wrong = operator_token(b"\1" * 32)
    assert (await users.get(OPERATOR, bearer(wrong))).status == 401
    while (await users.get(OPERATOR, bearer(TOKEN))).status != 429:
        pass
    wrong_token, too_many = await counted(users)
    assert wrong_token.detail["code"] == "credential_refused"
    assert (too_many.subject, too_many.detail["code"]) == (None, "rate_limited")


async def test_other_refusals_are_not_counted(users: UsersApi) -> None:
    assert (await users.get("/api/account")).status == 401
    assert (await users.get("/api/nothing")).status == 404
    assert await counted(users) == []

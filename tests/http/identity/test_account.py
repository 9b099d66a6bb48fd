"""Reading one's own account."""

from tests.accounts.house import START
from tests.http.identity.front import Front


async def test_account_read_by_its_session_is_the_one_that_was_made(front: Front) -> None:
    made, its_cookie = await front.account()
    document = (await front.get("/api/account", its_cookie)).json()
    assert (document["id"], document["address"]) == (made.account.account_id, made.account.address)


async def test_account_read_by_its_key_is_the_same(front: Front) -> None:
    made, its_cookie = await front.account()
    by_key = await front.get("/api/account", await front.key(made))
    assert by_key.json() == (await front.get("/api/account", its_cookie)).json()


async def test_account_read_in_another_month_names_it(front: Front) -> None:
    made, _ = await front.account()
    key = await front.key(made)
    front.house.chance.time = START + 20 * 86_400
    assert (await front.get("/api/account", key)).json()["usage"]["month"] == "2027-02"


async def test_account_locked_reads_itself(front: Front) -> None:
    made, its_cookie = await front.account()
    await front.house.set_state(made.account.account_id, "locked")
    answer = await front.get("/api/account", its_cookie)
    assert (answer.status, answer.json()["state"]) == (200, "locked")


async def test_account_removed_while_its_caller_is_remembered_is_signed_in_nowhere(
    front: Front,
) -> None:
    _, its_cookie = await front.account()
    assert (await front.get("/api/account", its_cookie)).status == 200
    await front.house.execute("DELETE FROM accounts")
    answer = await front.get("/api/account", its_cookie)
    assert (answer.status, answer.code) == (401, "not_signed_in")

"""Listing and ending sessions."""

from tests.fakes.identity_fixture import START
from tests.fakes.users_api import FROM_ELSEWHERE, FROM_HERE, UsersApi, cookie_set_by

SESSIONS = "/api/account/sessions"
OTHERS = f"{SESSIONS}/revoke-others"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


async def browsers(users: UsersApi, number: int) -> list[tuple[bytes, bytes]]:
    """The cookies of ``number`` sessions of one account, the oldest first."""
    _, first = await users.account()
    agents = [(b"user-agent", b"Browser %d" % at) for at in range(1, number)]
    responses = [await users.sign_in(headers=(FROM_HERE, agent)) for agent in agents]
    return [first, *map(cookie_set_by, responses)]


async def test_sessions_are_listed_with_device_and_activity_the_newest_first(
    users: UsersApi,
) -> None:
    first, _ = await browsers(users, 2)
    users.identity.sources.time = START + 90
    assert (await users.get("/api/account", first)).status == 200
    await users.identity.activity.flush()
    newer, older = (await users.get(SESSIONS, first)).json()["items"]
    assert (newer["device"], newer["current"]) == ("Browser 1", False)
    assert older.pop("id")
    assert older == {
        "device": "Firefox",
        "client": "192.0.2.7",
        "createdAt": "2027-01-15T08:00:00.000Z",
        "lastActiveAt": "2027-01-15T08:01:30.000Z",
        "expiresAt": "2027-02-14T08:01:30.000Z",
        "current": True,
    }


async def test_sessions_are_listed_in_pages(users: UsersApi) -> None:
    first, *_ = await browsers(users, 5)
    seen: list[str] = []
    after, pages = "", 0
    while True:
        page = (await users.get(f"{SESSIONS}?limit=2{after}", first)).json()
        seen += [item["device"] for item in page["items"]]
        pages += 1
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == ["Browser 4", "Browser 3", "Browser 2", "Browser 1", "Firefox"]
    assert pages == 3


async def test_sessions_on_an_exactly_full_page_have_no_next(users: UsersApi) -> None:
    first, _ = await browsers(users, 2)
    page = (await users.get(f"{SESSIONS}?limit=2", first)).json()
    assert (len(page["items"]), page["next"]) == (2, None)


async def test_sessions_listed_with_an_invalid_page_are_refused(
    users: UsersApi,
) -> None:
    _, its_cookie = await users.account()
    for query in ("limit=0", "limit=501", "limit=x", "after=x", "before=1"):
        response = await users.get(f"{SESSIONS}?{query}", its_cookie)
        assert (response.status, response.code) == (400, "invalid_request")


async def test_expired_and_foreign_sessions_are_not_listed(users: UsersApi) -> None:
    ann, _ = await users.account()
    key = await users.key(ann)
    await users.account("bob@example.org")
    assert len((await users.get(SESSIONS, key)).json()["items"]) == 1
    users.identity.sources.time = START + 30 * 86_400
    assert (await users.get(SESSIONS, key)).json() == {"items": [], "next": None}


async def test_expired_session_is_removed_by_the_next_sign_in(users: UsersApi) -> None:
    await users.account()
    users.identity.sources.time = START + 30 * 86_400
    await users.sign_in()
    assert len(await users.identity.rows("SELECT 1 FROM sessions")) == 1


async def test_ended_session_is_signed_out_immediately(users: UsersApi) -> None:
    first, second = await browsers(users, 2)
    assert (await users.get("/api/account", second)).status == 200
    [newer, _] = (await users.get(SESSIONS, first)).json()["items"]
    response = await users.delete(f"{SESSIONS}/{newer['id']}", first, FROM_HERE)
    assert (response.status, response.json()) == (200, {"removed": True})
    assert (await users.get("/api/account", second)).code == "not_signed_in"
    assert (await users.get("/api/account", first)).status == 200


async def test_session_of_another_account_is_not_found(users: UsersApi) -> None:
    ann, ann_cookie = await users.account()
    _, bobs_cookie = await users.account("bob@example.org")
    target = f"{SESSIONS}/{ann.session.session_id}"
    theirs = await users.delete(target, bobs_cookie, FROM_HERE)
    nobodys = await users.delete(f"{SESSIONS}/{NOBODYS}", bobs_cookie, FROM_HERE)
    assert (theirs.status, theirs.code) == (404, "not_found")
    assert theirs.body == nobodys.body
    assert (await users.get("/api/account", ann_cookie)).status == 200


async def test_ending_other_sessions_keeps_that_of_the_request(
    users: UsersApi,
) -> None:
    cookies = await browsers(users, 4)
    for each in cookies:
        assert (await users.get("/api/account", each)).status == 200
    response = await users.post_nothing(OTHERS, cookies[1], FROM_HERE)
    assert (response.status, response.json()) == (200, {"ended": 3})
    statuses = [(await users.get("/api/account", each)).status for each in cookies]
    assert statuses == [401, 200, 401, 401]


async def test_ending_other_sessions_by_a_key_ends_all(users: UsersApi) -> None:
    made, its_cookie = await users.account()
    key = await users.key(made)
    assert (await users.post_nothing(OTHERS, key)).json() == {"ended": 1}
    assert (await users.get("/api/account", its_cookie)).status == 401
    assert (await users.get("/api/account", key)).status == 200


async def test_sessions_are_not_ended_by_another_origin(users: UsersApi) -> None:
    first, _ = await browsers(users, 2)
    for headers in ((first,), (first, FROM_ELSEWHERE)):
        response = await users.post_nothing(OTHERS, *headers)
        assert (response.status, response.code) == (403, "wrong_origin")
    assert len(await users.identity.rows("SELECT 1 FROM sessions")) == 2


async def test_locked_account_lists_and_ends_one_session_and_not_all_others(
    users: UsersApi,
) -> None:
    first, _ = await browsers(users, 2)
    made = (await users.get("/api/account", first)).json()
    await users.identity.set_state(made["id"], "locked")
    [newer, _] = (await users.get(SESSIONS, first)).json()["items"]
    response = await users.post_nothing(OTHERS, first, FROM_HERE)
    assert (response.status, response.code) == (423, "account_locked")
    assert (await users.delete(f"{SESSIONS}/{newer['id']}", first, FROM_HERE)).status == 200

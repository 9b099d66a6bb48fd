"""Listing and ending sessions."""

from tests.accounts.house import START
from tests.http.identity.front import (
    FROM_ELSEWHERE,
    FROM_HERE,
    Front,
    cookie_set_by,
)

SESSIONS = "/api/account/sessions"
OTHERS = f"{SESSIONS}/revoke-others"
NOBODYS = "01900000-0000-7000-8000-ffffffffffff"


async def browsers(front: Front, number: int) -> list[tuple[bytes, bytes]]:
    """The cookies of ``number`` sessions of one account, the oldest first."""
    _, first = await front.account()
    agents = [(b"user-agent", b"Browser %d" % at) for at in range(1, number)]
    answers = [await front.sign_in(headers=(FROM_HERE, agent)) for agent in agents]
    return [first, *map(cookie_set_by, answers)]


async def test_sessions_are_listed_with_device_and_activity_the_newest_first(
    front: Front,
) -> None:
    first, _ = await browsers(front, 2)
    front.house.chance.time = START + 90
    assert (await front.get("/api/account", first)).status == 200
    await front.house.activity.write_down()
    newer, older = (await front.get(SESSIONS, first)).json()["items"]
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


async def test_sessions_are_listed_in_pages(front: Front) -> None:
    first, *_ = await browsers(front, 5)
    seen: list[str] = []
    after, pages = "", 0
    while True:
        page = (await front.get(f"{SESSIONS}?limit=2{after}", first)).json()
        seen += [item["device"] for item in page["items"]]
        pages += 1
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == ["Browser 4", "Browser 3", "Browser 2", "Browser 1", "Firefox"]
    assert pages == 3


async def test_sessions_on_a_page_that_is_just_full_have_no_next(front: Front) -> None:
    first, _ = await browsers(front, 2)
    page = (await front.get(f"{SESSIONS}?limit=2", first)).json()
    assert (len(page["items"]), page["next"]) == (2, None)


async def test_sessions_listed_with_a_page_that_cannot_be_are_refused(front: Front) -> None:
    _, its_cookie = await front.account()
    for query in ("limit=0", "limit=501", "limit=x", "after=x", "before=1"):
        answer = await front.get(f"{SESSIONS}?{query}", its_cookie)
        assert (answer.status, answer.code) == (400, "invalid_request")


async def test_sessions_expired_and_of_others_are_not_listed(front: Front) -> None:
    ann, _ = await front.account()
    key = await front.key(ann)
    await front.account("bob@example.org")
    assert len((await front.get(SESSIONS, key)).json()["items"]) == 1
    front.house.chance.time = START + 30 * 86_400
    assert (await front.get(SESSIONS, key)).json() == {"items": [], "next": None}


async def test_session_expired_is_removed_by_the_next_sign_in(front: Front) -> None:
    await front.account()
    front.house.chance.time = START + 30 * 86_400
    await front.sign_in()
    assert len(await front.house.rows("SELECT 1 FROM sessions")) == 1


async def test_session_ended_is_signed_out_at_once(front: Front) -> None:
    first, second = await browsers(front, 2)
    assert (await front.get("/api/account", second)).status == 200
    [newer, _] = (await front.get(SESSIONS, first)).json()["items"]
    answer = await front.delete(f"{SESSIONS}/{newer['id']}", first, FROM_HERE)
    assert (answer.status, answer.json()) == (200, {"removed": True})
    assert (await front.get("/api/account", second)).code == "not_signed_in"
    assert (await front.get("/api/account", first)).status == 200


async def test_session_of_another_account_reads_as_none(front: Front) -> None:
    ann, ann_cookie = await front.account()
    _, bobs_cookie = await front.account("bob@example.org")
    target = f"{SESSIONS}/{ann.session.session_id}"
    theirs = await front.delete(target, bobs_cookie, FROM_HERE)
    nobodys = await front.delete(f"{SESSIONS}/{NOBODYS}", bobs_cookie, FROM_HERE)
    assert (theirs.status, theirs.code) == (404, "not_found")
    assert theirs.body == nobodys.body
    assert (await front.get("/api/account", ann_cookie)).status == 200


async def test_other_sessions_ended_are_all_but_that_of_the_request(front: Front) -> None:
    cookies = await browsers(front, 4)
    for each in cookies:
        assert (await front.get("/api/account", each)).status == 200
    answer = await front.post_nothing(OTHERS, cookies[1], FROM_HERE)
    assert (answer.status, answer.json()) == (200, {"ended": 3})
    statuses = [(await front.get("/api/account", each)).status for each in cookies]
    assert statuses == [401, 200, 401, 401]


async def test_other_sessions_ended_by_a_key_are_all(front: Front) -> None:
    made, its_cookie = await front.account()
    key = await front.key(made)
    assert (await front.post_nothing(OTHERS, key)).json() == {"ended": 1}
    assert (await front.get("/api/account", its_cookie)).status == 401
    assert (await front.get("/api/account", key)).status == 200


async def test_sessions_ended_from_elsewhere_are_not(front: Front) -> None:
    first, _ = await browsers(front, 2)
    for headers in ((first,), (first, FROM_ELSEWHERE)):
        answer = await front.post_nothing(OTHERS, *headers)
        assert (answer.status, answer.code) == (403, "wrong_origin")
    assert len(await front.house.rows("SELECT 1 FROM sessions")) == 2


async def test_account_locked_lists_and_ends_a_session_and_not_all_others(front: Front) -> None:
    first, _ = await browsers(front, 2)
    made = (await front.get("/api/account", first)).json()
    await front.house.set_state(made["id"], "locked")
    [newer, _] = (await front.get(SESSIONS, first)).json()["items"]
    answer = await front.post_nothing(OTHERS, first, FROM_HERE)
    assert (answer.status, answer.code) == (423, "account_locked")
    assert (await front.delete(f"{SESSIONS}/{newer['id']}", first, FROM_HERE)).status == 200

"""Who may see a page, and which forms are performed."""

import pytest

from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.page_reader import Installation, PageReader
from tests.fakes.users_api import ADDRESS, ORIGIN

PATHS = (
    "/account",
    "/account/password",
    "/account/sessions",
    "/account/keys",
    "/account/removal",
    "/workspaces",
    "/workspaces/01900000-0000-7000-8000-0000000000ff/members",
    "/administration/accounts",
)


@pytest.mark.parametrize("path", PATHS)
async def test_stranger_is_asked_to_sign_in(house: Installation, path: str) -> None:
    reader = house.stranger()
    await reader.open(path)
    assert (reader.path, reader.page.headings) == (f"/sign-in?next={path}", ["Sign in"])
    assert reader.cookies == {}


async def test_form_of_an_ended_session_asks_to_sign_in(ann: PageReader) -> None:
    await ann.open("/account")
    form = ann.form("Change the name")
    ann.cookies.clear()
    ann.headers["referer"] = "http://localhost/account?a=b"
    await ann.send(form.action, **form.fields)
    assert ann.path == "/sign-in?next=/account%3Fa%3Db"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": ORIGIN, "sec-fetch-site": "same-origin"}, 200),
        # Old browsers send no other header.
        ({"origin": ORIGIN, "sec-fetch-site": None}, 200),
        ({"origin": ORIGIN, "sec-fetch-site": "same-site"}, 403),
        ({"origin": ORIGIN, "sec-fetch-site": "cross-site"}, 403),
        ({"origin": ORIGIN, "sec-fetch-site": "none"}, 403),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 403),
        ({"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "null", "sec-fetch-site": "none"}, 403),
    ],
)
async def test_form_must_come_from_this_installation(
    ann: PageReader, headers: dict[str, str | None], status: int
) -> None:
    await ann.open("/account")
    for name, value in headers.items():
        ann.headers.pop(name, None)
        if value is not None:
            ann.headers[name] = value
    await ann.submit("Change the name", displayName="Mallory")
    assert ann.status == status
    ann.headers["origin"] = ORIGIN
    await ann.open("/account")
    assert ann.page.headings == (["Mallory"] if status == 200 else ["Ann"])


@pytest.mark.parametrize("token", ["", "0" * 64, None])
async def test_form_must_come_from_a_page_of_the_session(
    ann: PageReader, token: str | None
) -> None:
    await ann.open("/account")
    given = {"token-of-form": token, "displayName": "Mallory"}
    await ann.submit("Change the name", **given)
    assert (ann.status, ann.page.headings) == (403, ["This form is out of date"])
    assert (await ann.open("/account")).headings == ["Ann"]


async def test_token_of_another_session_is_refused(house: Installation, ann: PageReader) -> None:
    other = await house.signed_in(ADDRESS)
    await other.open("/account")
    await ann.open("/account")
    theirs = other.form("Change the name").fields["token-of-form"]
    await ann.submit("Change the name", **{"token-of-form": theirs, "displayName": "Mallory"})
    assert ann.status == 403


async def test_page_of_a_form_alone_is_not_found(ann: PageReader) -> None:
    await ann.open("/account/name")
    assert ann.status == 405


async def test_start_of_a_signed_in_person_is_the_workspaces(ann: PageReader) -> None:
    await ann.open("/")
    assert ann.path == "/workspaces"


async def test_invalid_cookie_is_ignored(house: Installation) -> None:
    reader = house.stranger()
    reader.cookies["__Host-octavo"] = "x" * 43
    await reader.open("/")
    assert (reader.status, reader.page.headings) == (200, ["Your notes, on your own server"])


async def test_pages_need_the_store(house: Installation, ann: PageReader) -> None:
    house.users.identity.store.away = True
    house.users.identity.sources.time += 10
    await ann.open("/account")
    assert ann.status == 503


async def test_form_for_anybody_that_was_opened_before_signing_in_is_performed(
    house: Installation, ann: PageReader
) -> None:
    early = house.stranger()
    form = await early.form_at("/sign-in", "Sign in")
    early.cookies |= ann.cookies
    await early.send_form(form, address=ADDRESS, password=PASSWORD)
    assert early.path == "/workspaces"


@pytest.mark.parametrize("referrer", ["http://[", "https://evil.example/account", "nonsense", ""])
async def test_any_referrer_leads_to_the_start(house: Installation, referrer: str) -> None:
    reader = house.stranger()
    reader.headers["referer"] = referrer
    await reader.send("/account/name", displayName="Mallory")
    assert reader.path == "/sign-in"


async def test_refusals_of_forms_are_reported_to_the_log(house: Installation) -> None:
    reported: list[str] = []
    client = house.app.test_client()
    for origin in (ORIGIN, "https://evil.example"):
        await client.post(
            "/sign-in",
            headers={"origin": origin},
            form={"address": "ann", "password": "x"},
            scope_base={"octavo.refused": reported.append},
        )
    assert reported == ["invalid_request", "wrong_origin"]


async def test_form_of_an_ended_session_says_that_nothing_was_changed(ann: PageReader) -> None:
    await ann.open("/workspaces")
    form = ann.form("Create")
    ann.cookies.clear()
    ann.headers["referer"] = "http://localhost/workspaces"
    page = await ann.send("/workspaces", **{**form.fields, "name": "Kitchen"})
    assert ann.path.startswith("/sign-in?next=")
    assert page.alerts[0].startswith("You are not signed in any more, so nothing was changed.")
    del ann.headers["referer"]
    await ann.submit("Sign in", address=ADDRESS, password=PASSWORD)
    assert ann.path == "/workspaces"
    assert "Kitchen" not in ann.text


async def test_form_of_another_session_leads_to_its_page(ann: PageReader) -> None:
    await ann.open("/workspaces")
    ann.form("Create").fields["token-of-form"] = "of another session"
    ann.headers["referer"] = "http://localhost/workspaces?after=b"
    page = await ann.submit("Create", name="Household")
    assert ann.status == 403
    assert "You have signed in again since the form was opened" in ann.text
    assert page.links["Open the page again"] == "/workspaces?after=b"


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/sign-in", "https://evil.example", 403),
        ("/sign-in/again", "https://evil.example", 403),
        ("/workspaces", "https://evil.example", 403),
        ("/account/name", ORIGIN, 303),
        ("/administration/installation", ORIGIN, 303),
        ("/sign-in", ORIGIN, 415),
    ],
)
async def test_origin_and_session_are_checked_before_the_form_is_read(
    house: Installation, path: str, origin: str, status: int
) -> None:
    client = house.app.test_client()
    headers = {"origin": origin, "content-type": "application/json"}
    response = await client.post(path, headers=headers, data=b"{")
    assert response.status_code == status


async def test_body_of_what_is_no_form_is_not_kept(house: Installation) -> None:
    response = await house.app.test_client().get("/sign-in", data=b"x" * 1_000_000)
    assert response.status_code == 200

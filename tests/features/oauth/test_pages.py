"""The page of consent, and the pages of connected programs."""

import re
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.features.oauth.rules.client import ClientMetadata, OAuthClient
from octavo.features.oauth.sql import oauth_clients
from octavo.model.access.account import ClientId
from tests.fakes.oauth_rig import CALLBACK, VERIFIER
from tests.fakes.page_reader import Installation, PageReader
from tests.features.publishing.pages.test_publications import NOTE, create_workspace

HOSTILE = "\"><script>alert('1')</script>&amp; Octavo"


async def request(house: Installation, name: str = "An assistant", **changed: str) -> str:
    """The path that a program sends a person to."""
    made = await house.users.oauth.clients.register(
        {
            "client_name": name,
            "redirect_uris": [CALLBACK, "http://127.0.0.1/cb", "cursor://editor/cb"],
            "token_endpoint_auth_method": "none",
        }
    )
    given = {
        "response_type": "code",
        "client_id": made.client.client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "scope": "notes:read notes:write",
        "state": "s",
        **changed,
    }
    return f"/oauth/authorize?{urlencode(given)}"


async def allow(ann: PageReader, path: str, **given: str | None) -> dict[str, list[str]]:
    await ann.open(path)
    assert ann.status == 200, ann.text
    await ann.submit("Allow", **given)
    assert ann.path.startswith(CALLBACK)
    return parse_qs(urlsplit(ann.path).query)


async def test_page_says_who_asks_for_what(house: Installation, ann: PageReader) -> None:
    await ann.open(await request(house))
    assert ann.page.headings == ["Allow access to your notes?"]
    assert "An assistant" in ann.text
    assert "client.example" in ann.text
    assert "Create, change, move and delete notes" in ann.text


async def test_program_that_only_reads_is_not_offered_more(
    house: Installation, ann: PageReader
) -> None:
    await ann.open(await request(house, scope="notes:read"))
    assert "Create, change" not in ann.text


@pytest.mark.parametrize(
    "client_id",
    ["01900000-0000-7000-8000-ffffffffffff", "not an id", "", "https://127.0.0.1/client.json"],
)
async def test_unknown_program_is_explained_without_asking_for_a_password(
    house: Installation, ann: PageReader, client_id: str
) -> None:
    await ann.open(await request(house, client_id=client_id))
    assert ann.status == 400
    assert "www-authenticate" not in ann.received
    assert ann.page.headings == ["This program can't be connected"]


async def test_name_of_a_program_is_text(house: Installation, ann: PageReader) -> None:
    await ann.open(await request(house, HOSTILE))
    assert "<script" not in ann.text
    assert "alert" in ann.text


@pytest.mark.parametrize(
    ("uri", "source"),
    [
        (CALLBACK, "https://client.example"),
        ("http://127.0.0.1:4711/cb", "http://127.0.0.1:4711"),
        ("cursor://editor/cb", "cursor:"),
    ],
)
async def test_form_may_lead_to_the_program_alone(
    house: Installation, ann: PageReader, uri: str, source: str
) -> None:
    await ann.open(await request(house, redirect_uri=uri))
    policy = ann.received["content-security-policy"]
    assert f"form-action 'self' {source};" in policy
    if uri != CALLBACK:
        assert "a program on this device" in ann.text


async def test_person_allows_reading_everything(house: Installation, ann: PageReader) -> None:
    response = await allow(ann, await request(house))
    assert (set(response), response["state"]) == ({"code", "state", "iss"}, ["s"])
    await ann.open("/account/connections")
    assert "An assistant allowed " in " ".join(re.sub("<[^>]+>", " ", ann.text).split())
    assert 'data-name="May">read<' in ann.text
    assert 'data-name="Workspaces" dir="auto">all<' in ann.text


async def test_ticked_workspace_beside_all_of_them_is_asked_about(
    house: Installation, ann: PageReader
) -> None:
    await create_workspace(house, ann, NOTE)
    await ann.open(await request(house))
    [name] = [each for each in ann.form("Allow").unchecked if each.startswith("workspace-")]
    await ann.submit("Allow", **{name: "on"})
    assert ann.status == 422
    assert "You have ticked workspaces" in ann.text
    await ann.submit("Allow", workspaces="chosen")
    assert ann.path.startswith(CALLBACK)
    await ann.open("/account/connections")
    assert ">Household</td>" in ann.text


async def test_person_allows_writing_in_one_workspace(house: Installation, ann: PageReader) -> None:
    await create_workspace(house, ann, NOTE)
    path = await request(house)
    await ann.open(path)
    [box] = [each for each in ann.form("Allow").unchecked if each.startswith("workspace-")]
    given: dict[str, str | None] = {"workspaces": "chosen", box: "on", "write": "on", "days": ""}
    await allow(ann, path, **given)
    await ann.open("/account/connections")
    assert 'data-name="May">read\u00a0and\u00a0write<' in ann.text
    assert ">Household</td>" in ann.text
    assert 'data-name="Ends">never<' in ann.text


async def test_workspaces_must_be_chosen(house: Installation, ann: PageReader) -> None:
    await ann.open(await request(house))
    await ann.submit("Allow", workspaces="chosen")
    assert ann.status == 422
    assert "Choose at least one workspace" in ann.text


async def test_person_refuses(house: Installation, ann: PageReader) -> None:
    await ann.open(await request(house))
    form = ann.form("Allow")
    await ann.send_form(form, decision="deny")
    assert (ann.status, ann.page.headings) == (200, ["Access not allowed"])
    assert "An assistant" in ann.text
    # The person decides whether to go back: the program is nobody that anybody trusts.
    found = parse_qs(urlsplit(ann.page.links["Go back to client.example"]).query)
    assert (found["error"], found["state"]) == (["access_denied"], ["s"])
    await ann.open("/account/connections")
    assert "No programs yet" in ann.text


async def test_stranger_comes_back_after_signing_in(house: Installation) -> None:
    path = await request(house)
    await house.users.identity.account()
    reader = house.stranger()
    await reader.open(path)
    assert reader.path.startswith("/sign-in?next=/oauth/authorize")
    await reader.submit("Sign in", address="ann@example.org", password="tulips on the moon")
    assert reader.page.headings == ["Allow access to your notes?"]


@pytest.mark.parametrize(
    "changed",
    [
        {"code_challenge_method": "plain"},
        {"scope": "everything"},
        {"resource": "https://evil.example/mcp"},
        {"response_type": "evil"},
        {"state": "s" * 5000},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "evil://editor/cb"},
    ],
)
async def test_fault_is_shown_and_leads_nowhere(
    house: Installation, ann: PageReader, changed: dict[str, str]
) -> None:
    path = await request(house, **changed)
    await ann.open(path)
    assert (ann.status, ann.path) == (400, path)
    assert ann.page.headings == ["This program can't be connected"]
    assert "got no access to your notes. Start again from there" in ann.text
    assert not [each for each in ann.page.links.values() if each[0] not in "/#"]
    assert "evil" not in ann.text


async def test_program_that_registered_an_address_before_it_was_refused_gets_nobody(
    house: Installation, ann: PageReader
) -> None:
    made = ClientId("01900000-0000-7000-8000-0000000000ff")
    metadata = ClientMetadata("An old program", ("ms-msdt:/id",), "none")
    await house.users.identity.store.write(
        oauth_clients.register(OAuthClient(made, metadata), b"d" * 32)
    )
    for changed in ({}, {"response_type": "token"}):
        await ann.open(await request(house, client_id=made, redirect_uri="ms-msdt:/id", **changed))
        assert (ann.status, "ms-msdt" in ann.text) == (400, False)


async def test_request_that_can_not_be_read_is_shown(house: Installation, ann: PageReader) -> None:
    await ann.open("/oauth/authorize")
    assert (ann.status, len(ann.page.headings)) == (400, 1)
    path = await request(house)
    await ann.open(f"{path}&scope=notes%3Aread")
    assert ann.status == 400


async def test_request_that_changes_after_it_was_shown_is_not_allowed(
    house: Installation, ann: PageReader
) -> None:
    path = await request(house, scope="notes:read")
    await ann.open(path)
    form = ann.form("Allow")
    for action, fields in (
        (form.action.replace("notes%3Aread", "notes%3Aread+notes%3Awrite"), form.fields),
        (form.action.replace(quote(CALLBACK, safe=""), "http%3A%2F%2F127.0.0.1%2Fcb"), form.fields),
        (form.action, {**form.fields, "fingerprint": ""}),
        (form.action, {each: form.fields[each] for each in form.fields if each != "fingerprint"}),
    ):
        await ann.send(action, **{**fields, "decision": "allow"})
        assert ann.status == 400, action
    await ann.open("/account/connections")
    assert "No programs yet" in ann.text


async def test_form_that_is_sent_twice_grants_once(house: Installation, ann: PageReader) -> None:
    await ann.open(await request(house))
    form = ann.form("Allow")
    paths = set()
    for _ in range(2):
        await ann.send_form(form, decision="allow")
        paths.add(ann.path)
    assert len(paths) == 1
    await ann.open("/account/connections")
    assert ann.text.count('data-name="May"') == 1


async def test_access_is_ended_after_a_question(house: Installation, ann: PageReader) -> None:
    await allow(ann, await request(house))
    await ann.open("/account/connections")
    await ann.open(ann.page.links["End the access of An assistant"])
    assert ann.page.headings == ["End the access of this program?"]
    await ann.submit("End the access")
    assert ann.path == "/account/connections"
    assert "No programs yet" in ann.text
    await ann.open("/account/connections/01900000-0000-7000-8000-ffffffffffff/revoke")
    assert ann.path == "/account/connections"


async def test_empty_list_says_how_to_connect(ann: PageReader) -> None:
    await ann.open("/account/connections")
    assert "No programs yet" in ann.text
    assert "https://notes.example/mcp" in ann.text

"""Reports of published links, from the form of a reader to the decision of an administrator."""

import pytest

from octavo.features.publishing.rules import LONGEST_NOTE, REASONS
from octavo.features.publishing.sql.link_reports import MAX_OPEN
from tests.fakes.asgi_client import Response, ask
from tests.fakes.notes_api import ADMINISTRATOR, Client, Json, NotesApi, Published, refusal

WHOLE = {"kind": "folder", "path": ""}
PASSWORD = "open sesame"
FORM = (b"content-type", b"application/x-www-form-urlencoded")
UNKNOWN = "A" * 32
UNKNOWN_ID = "01900000-0000-7000-8000-eeeeeeeeeeee"


@pytest.fixture
async def root(api: NotesApi) -> Client:
    """The administrator of the installation, who is no member of the workspace."""
    await api.member(ADMINISTRATOR, "")
    await api.execute("UPDATE accounts SET role = 'administrator' WHERE address = 'root'")
    await api.note("tea/green.md", "Green tea.")
    return api.client(ADMINISTRATOR)


async def report(api: NotesApi, token: str, form: str = "reason=spam") -> Response:
    return await ask(
        api.application,
        "POST",
        f"/published/{token}/report",
        headers=[FORM],
        body=[form.encode()],
    )


async def reports(root: Client) -> list[Json]:
    return await root.pages("/api/reports", 3)


async def test_report_reaches_administrators_and_no_text_of_a_note(
    api: NotesApi, root: Client
) -> None:
    link = await api.publish(WHOLE)
    response = await report(api, link.token, "reason=copyright&note=My+poem%2C%0D%0Atwice.")
    assert response.status == 200
    [found] = await reports(root)
    assert found["publicationId"] == link.id
    assert found["workspaceId"] == api.workspace_id
    assert (found["reason"], found["note"]) == ("copyright", "My poem,\ntwice.")
    assert link.token not in str(found)
    assert "tea" not in str(found)
    assert refusal(await root.get(api.place)) == (404, "not_found")


@pytest.mark.parametrize("reason", REASONS)
async def test_every_reason_of_the_form_is_accepted(
    api: NotesApi, root: Client, reason: str
) -> None:
    link = await api.publish(WHOLE)
    page = (await ask(api.application, "GET", f"{link.path}/report")).body.decode()
    assert f'value="{reason}"' in page
    assert (await report(api, link.token, f"reason={reason}&note=")).status == 200
    [found] = await reports(root)
    assert (found["reason"], found["note"]) == (reason, None)


async def test_form_and_its_response_are_the_same_for_every_token(
    api: NotesApi, root: Client
) -> None:
    link, closed = await api.publish(WHOLE), await api.publish(WHOLE, password=PASSWORD)
    tokens = (link.token, closed.token, UNKNOWN, "x")
    forms = [await ask(api.application, "GET", f"/published/{each}/report") for each in tokens]
    responses = [await report(api, each) for each in tokens]
    assert len({each.body for each in forms}) == 1
    assert len({each.body for each in responses}) == 1
    assert all(each.status == 200 for each in (*forms, *responses))
    assert len(await reports(root)) == 2


@pytest.mark.parametrize(
    "form",
    [
        "reason=boring",
        "note=x",
        "reason=spam&note=" + "x" * (LONGEST_NOTE + 1),
        "reason=spam&note=%00",
        "reason=spam&reason=spam",
        "reason=spam&more=x",
    ],
)
async def test_form_that_is_not_ours_is_refused(api: NotesApi, root: Client, form: str) -> None:
    link = await api.publish(WHOLE)
    assert refusal(await report(api, link.token, form)) == (400, "invalid_request")
    assert await reports(root) == []


async def test_longest_note_may_have_line_ends_of_browsers(api: NotesApi, root: Client) -> None:
    link = await api.publish(WHOLE)
    form = "reason=spam&note=" + "x%0D%0A" * (LONGEST_NOTE // 2 - 1) + "xx"
    assert (await report(api, link.token, form)).status == 200
    [found] = await reports(root)
    assert len(found["note"]) == LONGEST_NOTE


async def test_address_of_a_report_reads_as_the_link_does(api: NotesApi, root: Client) -> None:
    link, closed = await api.publish(WHOLE), await api.publish(WHOLE, password=PASSWORD)
    for each in (link, closed):
        await report(api, each.token)
    of_closed, of_link = [
        Published(api, "", each["address"].rpartition("/")[2]) for each in await reports(root)
    ]
    assert len(of_link.token) == len(link.token)
    assert await of_link.read() == await link.read()
    assert await of_closed.read() == await closed.read()
    assert await of_closed.open(PASSWORD) == await closed.open(PASSWORD)
    assert "green" in await of_closed.open(PASSWORD)


async def test_closed_report_has_no_address_any_more(api: NotesApi, root: Client) -> None:
    link = await api.publish(WHOLE)
    await report(api, link.token)
    [found] = await reports(root)
    address = Published(api, "", found["address"].rpartition("/")[2])
    dismissed = await root.delete(f"/api/reports/{found['id']}")
    assert dismissed.json() == {"removed": True}
    assert await reports(root) == []
    assert "green" in await link.read()
    assert await address.read() == await Published(api, "", UNKNOWN).read()
    assert refusal(await root.delete(f"/api/reports/{found['id']}")) == (404, "not_found")


async def test_takedown_ends_the_link_and_every_report_of_it(api: NotesApi, root: Client) -> None:
    link, other = await api.publish(WHOLE), await api.publish(WHOLE)
    for each in (link, link, other):
        await report(api, each.token)
    found = await reports(root)
    taken = await root.post(f"/api/reports/{found[-1]['id']}/takedown", None)
    assert taken.json() == {"removed": True}
    assert [each["publicationId"] for each in await reports(root)] == [other.id]
    assert await link.read() == await Published(api, "", UNKNOWN).read()
    assert "green" in await other.read()
    listed = (await api.owner.get(f"{api.place}/publications")).json()["items"]
    assert {each["id"]: each["state"] for each in listed} == {
        link.id: "taken_down",
        other.id: "live",
    }
    await api.owner.delete(f"{api.place}/publications/{link.id}")
    listed = (await api.owner.get(f"{api.place}/publications")).json()["items"]
    assert listed[-1]["state"] == "taken_down"
    missing = await root.post(f"/api/reports/{found[-1]['id']}/takedown", None)
    assert refusal(missing) == (404, "not_found")


async def test_only_administrators_see_and_decide_reports(api: NotesApi, root: Client) -> None:
    link = await api.publish(WHOLE)
    await report(api, link.token)
    [found] = await reports(root)
    place = f"/api/reports/{found['id']}"
    for response in (
        await api.owner.get("/api/reports"),
        await api.owner.delete(place),
        await api.owner.post(f"{place}/takedown", None),
    ):
        assert refusal(response) == (403, "forbidden")
    assert refusal(await root.delete(f"/api/reports/{UNKNOWN_ID}")) == (404, "not_found")


async def test_open_reports_of_one_link_are_limited(api: NotesApi, root: Client) -> None:
    link = await api.publish(WHOLE)
    for _ in range(MAX_OPEN + 2):
        await api.publishing.reports.submit(link.token, "spam", None)
    assert len(await reports(root)) == MAX_OPEN


async def test_report_of_a_closed_link_is_not_kept(api: NotesApi, root: Client) -> None:
    link = await api.publish(WHOLE)
    await api.owner.delete(f"{api.place}/publications/{link.id}")
    assert (await report(api, link.token)).status == 200
    assert await reports(root) == []

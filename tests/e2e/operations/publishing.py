"""Cases of published links, of what readers request, and of reports."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.operations.attachments import PNG, image
from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import hasty, limited
from tests.e2e.operations.world import LINKS, UNKNOWN, Json, World, fresh_id
from tests.e2e.people import client

PASSWORD = "open sesame"
FORM = {"content-type": "application/x-www-form-urlencoded"}


def vault(world: World) -> str:
    """A new workspace with a note in a folder; return its path."""
    made = world.ask("POST", "/api/workspaces", json={"name": "Vault"})
    path = f"/api/workspaces/{made.json()['id']}"
    note = {"path": "tea/green.md", "text": "# Green tea\n\nAt 80 degrees."}
    assert world.ask("POST", f"{path}/files", json=note).status_code == 201
    return path


def published(world: World, path: str = "", **how: object) -> Json:
    """A new link of the folder of a new workspace, or of the workspace at ``path``."""
    given = {"target": {"kind": "folder", "path": "tea"}, **how}
    made = world.ask("POST", f"{path or vault(world)}/publications", json=given)
    assert made.status_code == 201, made.text
    found: Json = made.json()
    return found


def read(world: World, link: Json, query: str = "") -> httpx.Response:
    return world.anybody("GET", f"/published/{link['token']}{query}")


def open_link(world: World, link: Json, password: str = "") -> httpx.Response:
    return world.anybody("POST", f"/published/{link['token']}", data={"password": password})


def reported(world: World, link: Json | None = None) -> Json:
    """A new report, as administrators see it."""
    token = (link or published(world))["token"]
    response = world.anybody("POST", f"/published/{token}/report", data={"reason": "spam"})
    assert response.status_code == 200, response.text
    listed = world.ask("GET", "/api/reports").json()
    found: Json = listed["items"][0]
    return found


@produces("createPublishedLink", "201")
def link_made(world: World) -> httpx.Response:
    expires = (datetime.now(UTC) + timedelta(days=30)).isoformat()
    target = {"kind": "folder", "path": "tea"}
    given = {"target": target, "label": "Tea for our guests", "expiresAt": expires}
    response = world.ask("POST", f"{vault(world)}/publications", json=given)
    made = response.json()
    assert made["address"] == f"{PUBLIC}/published/{made['token']}"
    page = read(world, made)
    assert "green" in page.text
    assert "set-cookie" not in page.headers
    return response


@produces("createPublishedLink", "not_found")
def link_made_of_nothing(world: World) -> httpx.Response:
    given = {"target": {"kind": "note", "fileId": UNKNOWN}}
    return world.ask("POST", f"{world.base}/publications", json=given)


@produces("createPublishedLink", "forbidden")
def link_made_by_who_may_not_publish(world: World) -> httpx.Response:
    path, me = vault(world), world.owner.account_id
    account = world.ask("GET", f"/api/accounts/{me}").json()
    revision = account["controls"]["revision"]

    def allow(publishing: bool, revision: int) -> None:
        controls = {"revision": revision, "publishing": publishing}
        changed = world.ask("PATCH", f"/api/accounts/{me}", json={"controls": controls})
        assert changed.status_code == 200, changed.text

    link = published(world, path)
    allow(False, revision)
    assert "green" not in read(world, link).text
    given = {"target": {"kind": "folder", "path": "tea"}}
    response = world.ask("POST", f"{path}/publications", json=given)
    allow(True, revision + 1)
    assert "green" in read(world, link).text
    return response


@produces("createPublishedLink", "too_many_links")
def links_made_beyond_the_limit(world: World) -> httpx.Response:
    path = vault(world)
    for _ in range(LINKS):
        published(world, path)
    given = {"target": {"kind": "folder", "path": "tea"}}
    return world.ask("POST", f"{path}/publications", json=given)


@produces("createPublishedLink", "invalid_path")
def link_made_of_an_impossible_folder(world: World) -> httpx.Response:
    given = {"target": {"kind": "folder", "path": "../tea"}}
    return world.ask("POST", f"{world.base}/publications", json=given)


@produces("createPublishedLink", "rate_limited")
def links_made_too_often(world: World) -> httpx.Response:
    headers = hasty(world)
    made = world.ask("POST", "/api/workspaces", json={"name": "Mine"}, headers=headers).json()
    path = f"/api/workspaces/{made['id']}"
    note = {"path": "tea/green.md", "text": ""}
    assert world.ask("POST", f"{path}/files", json=note, headers=headers).status_code == 201
    given = {"target": {"kind": "folder", "path": "tea"}}
    return limited(world, f"{path}/publications", given, headers)


@produces("listPublishedLinks", "200")
def links_listed(world: World) -> httpx.Response:
    path = vault(world)
    link = published(world, path, password=PASSWORD)
    response = world.ask("GET", f"{path}/publications")
    [listed] = response.json()["items"]
    assert (listed["id"], listed["hasPassword"]) == (link["id"], True)
    assert link["token"] not in response.text
    return response


@produces("listPublishedLinks", "forbidden")
def links_listed_by_a_reader(world: World) -> httpx.Response:
    return world.ask("GET", f"{world.base}/publications", headers=world.reader.by_key)


@produces("revokePublishedLink", "200")
def link_revoked(world: World) -> httpx.Response:
    path = vault(world)
    link = published(world, path)
    response = world.ask("DELETE", f"{path}/publications/{link['id']}")
    assert "green" not in read(world, link).text
    return response


@produces("revokePublishedLink", "not_found")
def link_revoked_that_does_not_exist(world: World) -> httpx.Response:
    return world.ask("DELETE", f"{world.base}/publications/{UNKNOWN}")


@produces("revokePublishedLink", "forbidden")
def link_revoked_by_a_reader(world: World) -> httpx.Response:
    path = f"{world.base}/publications/{UNKNOWN}"
    return world.ask("DELETE", path, headers=world.reader.by_key)


@produces("getPublishedPage", "200")
def note_read(world: World) -> httpx.Response:
    link = published(world)
    [note] = re.findall(r"\?note=[0-9a-f-]{36}", read(world, link).text)
    response = read(world, link, note)
    assert "At 80 degrees." in response.text
    head = world.anybody("HEAD", f"/published/{link['token']}{note}")
    assert head.headers["content-length"] == str(len(response.content))
    return response


@produces("openPublishedPage", "200")
def link_opened(world: World) -> httpx.Response:
    link = published(world, password=PASSWORD, openings=1)
    closed, wrong = read(world, link), open_link(world, link, "wrong password")
    assert closed.content == wrong.content
    response = open_link(world, link, PASSWORD)
    [address] = set(re.findall(r'href="[^"?]*(\?note=[^"]*)"', response.text))
    note = read(world, link, unescape(address))
    assert "At 80 degrees." in note.text
    assert open_link(world, link, PASSWORD).content == closed.content
    return response


def too_often(world: World, path: str, form: dict[str, str]) -> httpx.Response:
    """Send a form from another address after all attempts that one client has.

    The attempts have no form: each counts before its body is read, and no password is hashed.
    """
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    with client(str(world.http.base_url), transport=transport) as http:
        for _ in range(200):
            if http.post(path, json={}).status_code == 429:
                break
        return http.post(path, data=form)


@produces("openPublishedPage", "rate_limited")
def link_opened_too_often(world: World) -> httpx.Response:
    response = too_often(world, f"/published/{fresh_id()}", {"password": PASSWORD})
    assert int(response.headers["retry-after"]) > 0
    return response


@produces("openPublishedPage", "body_too_large")
def long_password_given(world: World) -> httpx.Response:
    return open_link(world, {"token": UNKNOWN}, "x" * 20_000)


def shown_image(world: World, data: bytes = PNG) -> tuple[str, Json]:
    """The address of an image of a published note, and the image."""
    picture = image(world, data)
    text = f"![A picture](/{picture['path']})"
    note = world.note(text)
    given = {"target": {"kind": "note", "fileId": note["fileId"]}}
    made = world.ask("POST", f"{world.base}/publications", json=given)
    assert made.status_code == 201, made.text
    link = made.json()
    [address] = re.findall(r'src="([^"]*/attachments/[^"]*)"', read(world, link).text)
    revoke = f"{world.base}/publications/{link['id']}"
    world.together["link", revoke] = made
    return f"/published/{unescape(address)}", picture


def forget_links(world: World) -> None:
    """Revoke the links of the shared workspace, which may have few."""
    for kind, path in [*world.together]:
        if kind == "link":
            del world.together[kind, path]
            assert world.ask("DELETE", path).status_code == 200


@produces("getPublishedAttachment", "200")
def published_image_read(world: World) -> httpx.Response:
    address, picture = shown_image(world)
    response = world.anybody("GET", address)
    whole = world.ask("GET", f"{world.file(picture)}/content")
    assert response.content == whole.content
    forget_links(world)
    assert world.anybody("GET", address).status_code == 404
    return response


@produces("getPublishedAttachment", "304")
def known_published_image_read(world: World) -> httpx.Response:
    address, picture = shown_image(world)
    headers = {"if-none-match": f'"{picture["revision"]["id"]}.published"'}
    response = world.anybody("GET", address, headers=headers)
    forget_links(world)
    return response


@produces("getPublishedAttachment", "not_found")
def image_read_that_no_note_shows(world: World) -> httpx.Response:
    link, picture = published(world), image(world)
    path = f"{picture['fileId']}/{picture['revision']['id']}"
    return world.anybody("GET", f"/published/{link['token']}/attachments/{path}")


@produces("getReportPage", "200")
def report_form_shown(world: World) -> httpx.Response:
    response = world.anybody("GET", f"/published/{published(world)['token']}/report")
    assert world.anybody("GET", "/published/x/report").content == response.content
    return response


@produces("reportPublishedLink", "200")
def link_reported(world: World) -> httpx.Response:
    token = published(world)["token"]
    data = {"reason": "personal_data", "note": "My address."}
    response = world.anybody("POST", f"/published/{token}/report", data=data)
    assert world.anybody("POST", "/published/x/report", data=data).content == response.content
    return response


@produces("reportPublishedLink", "invalid_request")
def link_reported_for_no_reason(world: World) -> httpx.Response:
    return world.anybody("POST", "/published/x/report", data={"reason": "boring"})


@produces("reportPublishedLink", "body_too_large")
def long_report_sent(world: World) -> httpx.Response:
    data = {"reason": "other", "note": "x" * 40_000}
    return world.anybody("POST", "/published/x/report", data=data)


@produces("listReports", "200")
def reports_listed(world: World) -> httpx.Response:
    link = published(world)
    reported(world)
    report = reported(world, link)
    assert report["publicationId"] == link["id"]
    token = report["address"].rpartition("/")[2]
    seen = world.anybody("GET", f"/published/{token}")
    assert "green" in seen.text
    assert seen.text.replace(token, link["token"]) == read(world, link).text
    return world.ask("GET", "/api/reports?limit=1")


@produces("listReports", "forbidden")
def reports_listed_by_a_member(world: World) -> httpx.Response:
    return world.ask("GET", "/api/reports", headers=world.stranger.by_key)


@produces("dismissReport", "200")
def report_dismissed(world: World) -> httpx.Response:
    link = published(world)
    response = world.ask("DELETE", f"/api/reports/{reported(world, link)['id']}")
    assert "green" in read(world, link).text
    return response


@produces("dismissReport", "not_found")
def report_dismissed_that_does_not_exist(world: World) -> httpx.Response:
    return world.ask("DELETE", f"/api/reports/{UNKNOWN}")


@produces("takeDownReportedLink", "200")
def link_taken_down(world: World) -> httpx.Response:
    path = vault(world)
    link = published(world, path)
    response = world.ask("POST", f"/api/reports/{reported(world, link)['id']}/takedown")
    assert "green" not in read(world, link).text
    [listed] = world.ask("GET", f"{path}/publications").json()["items"]
    assert listed["state"] == "taken_down"
    return response


@produces("takeDownReportedLink", "not_found")
def link_taken_down_without_a_report(world: World) -> httpx.Response:
    return world.ask("POST", f"/api/reports/{UNKNOWN}/takedown")


@produces("takeDownReportedLink", "forbidden")
def link_taken_down_by_a_member(world: World) -> httpx.Response:
    path = f"/api/reports/{reported(world)['id']}/takedown"
    return world.ask("POST", path, headers=world.stranger.by_key)


@produces("reportPublishedLink", "rate_limited")
def links_reported_too_often(world: World) -> httpx.Response:
    return too_often(world, "/published/x/report", {"reason": "spam"})

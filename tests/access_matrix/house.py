"""The workspace that everybody asks for, and how its people and their credentials come to be."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.accounts.password_reset import create_reset_token
from octavo.model.access.account import Address
from tests.access_matrix.installation import Installation
from tests.access_matrix.world import (
    ARCHIVE,
    IMAGE,
    JSON,
    JSON_ANSWERED,
    OF_FOLDER,
    OF_INVITED,
    OF_LINKS,
    OF_NAME,
    OF_NOTES,
    OF_PROGRAM,
    OF_PUBLISHED,
    Json,
    Person,
    World,
    access_request,
    as_json,
    token_request,
    tool_call,
)
from tests.fakes.notes_api import form
from tests.fakes.oauth_rig import PROGRAM
from tests.fakes.users_api import bearer, cookie


async def inhabited(installation: Installation) -> World:
    """The world, as every call finds it."""
    world = World(installation)
    owner = await world.person("owner")
    made = await world.done(owner, "POST", "/api/workspaces", {"name": f"The {OF_NAME}"})
    world.house["workspaceId"] = made["id"]
    for name, role in MEMBERS.items():
        person = await world.person(name)
        await world.change(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, $3, 0)",
            made["id"],
            person.ids["accountId"],
            role,
        )
    await world.person("outsider")
    await world.person("root", "administrator")
    await world.person("second root", "administrator")
    world.house["accountId"] = world.people["guest"].ids["accountId"]
    await _write(world, owner)
    await _publish(world, owner)
    await _connect(world, owner)
    opened = await world.done(owner, "POST", "/api/account/portal", {"path": "billing"})
    [world.secrets["portal"]] = parse_qs(urlsplit(opened["address"]).query)["token"]
    _, token = await create_reset_token(
        installation.service.kernel.audit,
        Address("guest@example.org"),
        now=now,
        new_token=new_entropy,
    )
    world.secrets["reset"] = str(token)
    for name, value in KEYS.items():
        limits = value(world)
        made = await world.done(owner, "POST", "/api/account/keys", {"name": name, **limits})
        world.secrets[name] = made["secret"]
    await _end(world, owner, made["id"])
    await _leave(world, owner)
    # The indexes follow.
    await world.done(owner, "GET", f"{world.place}/search?q={OF_NOTES}")
    await world.done(owner, "GET", f"{world.place}/links/unresolved")
    installation.store.keep()
    return world


MEMBERS = {
    "manager": "administrator",
    "editor": "editor",
    "reader": "reader",
    "guest": "reader",
    "locked": "owner",
    "disabled": "owner",
    "removed": "owner",
}


KEYS: dict[str, Any] = {
    "key": lambda _: {},
    "key: read": lambda _: {"scopes": ["notes:read"]},
    "key: write": lambda _: {"scopes": ["notes:write"]},
    "key: folder": lambda world: {
        "scopes": ["notes:write"],
        "workspaceIds": [world.house["workspaceId"]],
        "folder": "tea",
    },
    "key: elsewhere": lambda world: {
        "scopes": ["notes:write"],
        "workspaceIds": [world.people["owner"].ids["workspaceId"]],
    },
    "key: revoked": lambda _: {},
}


async def _write(world: World, owner: Person) -> None:
    """Notes and an image outside the folder and in it, deleted notes, an import, a restoration."""
    for ids, gone, folder, mark in (
        (world.house, world.deleted[0], "", OF_NOTES),
        (world.folder, world.deleted[1], "tea/", OF_FOLDER),
    ):
        mutation = new_id()
        text = f"# A {mark}\n\n[[nowhere {mark}]]\n"
        note = {"path": f"{folder}{mark}.md", "text": text, "mutationId": mutation}
        made = await world.done(owner, "POST", f"{world.place}/files", note)
        ids |= {
            "fileId": made["fileId"],
            "revisionId": made["revision"]["id"],
            "mutationId": mutation,
            "path": folder,
        }
        full = await world.done(owner, "GET", f"{world.place}/files/{made['fileId']}")
        ids["epoch"] = full["document"]["epoch"]
        note = {"path": f"{folder}gone {mark}.md", "text": text}
        made = await world.done(owner, "POST", f"{world.place}/files", note)
        tag = (b"if-match", f'"{made["revision"]["id"]}"'.encode())
        file = f"{world.place}/files/{made['fileId']}"
        made = await world.done(owner, "DELETE", file, None, tag)
        gone |= {"fileId": made["fileId"], "revisionId": made["revision"]["id"]}
    image = {"path": f"attachments/{OF_NOTES}.png"}
    place = f"{world.place}/attachments/{await _uploaded(world, owner)}/finalize"
    made = await world.done(owner, "POST", place, image)
    world.house |= {"imageId": made["fileId"], "imageRevision": made["revision"]["id"]}
    world.house["objectId"] = await _uploaded(world, owner)
    begun = await world.done(owner, "POST", f"{world.place}/imports", {})
    world.house["importId"] = begun["importId"]
    raw = (b"content-type", b"application/octet-stream")
    part = f"{world.place}/imports/{begun['importId']}/parts/1"
    await world.done(owner, "PUT", part, None, raw, body=ARCHIVE)
    position = {"position": 6}
    restored = await world.done(owner, "POST", f"{world.place}/restorations", position)
    world.house["restorationId"] = restored["restorationId"]


async def _uploaded(world: World, owner: Person) -> str:
    body, kind = form(IMAGE, "a.png")
    typed = (b"content-type", kind.encode())
    made = await world.done(owner, "POST", f"{world.place}/attachments", None, typed, body=body)
    return str(made["objectId"])


async def _publish(world: World, owner: Person) -> None:
    """A link to a note, a report of it, and invitations."""
    path = f"attachments/{OF_PUBLISHED}.png"
    place = f"{world.place}/attachments/{await _uploaded(world, owner)}/finalize"
    made = await world.done(owner, "POST", place, {"path": path})
    world.house |= {"shownId": made["fileId"], "shownRevision": made["revision"]["id"]}
    text = f"# {OF_PUBLISHED}\n\n![]({path})\n"
    note = {"path": f"{OF_PUBLISHED}.md", "text": text}
    made = await world.done(owner, "POST", f"{world.place}/files", note)
    target = {"kind": "note", "fileId": made["fileId"]}
    link = {"target": target, "label": f"For {OF_PUBLISHED}"}
    published = await world.done(owner, "POST", f"{world.place}/publications", link)
    world.house |= {"publicationId": published["id"], "token": published["token"]}
    link |= {"label": f"For {OF_LINKS}", "password": f"{OF_LINKS} {OF_LINKS}"}
    await world.done(owner, "POST", f"{world.place}/publications", link)
    form_type = (b"content-type", b"application/x-www-form-urlencoded")
    report = f"/published/{published['token']}/report"
    sent = await world.installation.ask("POST", report, [form_type], b"reason=spam")
    assert sent.status == 200, sent.body
    root = world.people["root"]
    [found] = (await world.done(root, "GET", "/api/reports"))["items"]
    world.house["reportId"] = found["id"]
    invited = {"role": "reader", "address": f"{OF_INVITED}@example.org"}
    made = await world.done(owner, "POST", f"{world.place}/invitations", invited)
    world.house["invitationId"] = made["id"]
    made = await world.done(owner, "POST", f"{world.place}/invitations", {"role": "reader"})
    world.house["invitation"] = made["token"]


async def _connect(world: World, owner: Person) -> None:
    """A program with access to all notes of the owner, with tokens that are still unused."""
    program = {**PROGRAM, "client_name": f"Assistant {OF_PROGRAM}"}
    made = await world.done(owner, "POST", "/oauth/register", program)
    world.house["client"] = made["client_id"]
    world.secrets["registration"] = made["registration_access_token"]
    world.secrets["code"] = await _code(world, owner)
    issued = await _issued(world, await _code(world, owner))
    world.secrets |= {"grant": issued["access_token"], "refresh": issued["refresh_token"]}
    of_another = await _issued(world, await _code(world, world.people["outsider"]))
    world.secrets["grant elsewhere"] = of_another["access_token"]
    arguments = {"workspace_id": world.house["workspaceId"], "path": "program.md", "text": "a"}
    message = tool_call("create_note", arguments)
    headers = [bearer(issued["access_token"]), JSON, JSON_ANSWERED]
    written = await world.installation.ask("POST", "/mcp", headers, as_json(message))
    assert not written.json()["result"].get("isError"), written.body
    [found] = (await world.done(owner, "GET", f"{world.place}/clients"))["items"]
    world.program = {"client": found["client"], "account": found["accountId"]}
    world.program["since"] = found["firstAt"]
    found = await world.done(owner, "GET", "/api/account/connections")
    world.house["connectionId"] = found["items"][0]["id"]


async def _code(world: World, owner: Person) -> str:
    body = {"parameters": access_request(world), "allow": True}
    decided = await world.done(owner, "POST", "/api/account/access-requests", body)
    return parse_qs(urlsplit(str(decided["redirect"])).query)["code"][0]


async def _issued(world: World, code: str) -> Json:
    fields = token_request(world, code)
    form_type = (b"content-type", b"application/x-www-form-urlencoded")
    response = await world.installation.ask("POST", "/oauth/token", [form_type], fields)
    assert response.status == 200, response.body
    issued: Json = response.json()
    return issued


async def _end(world: World, owner: Person, key_id: str) -> None:
    """End a session, and revoke a key; both were used a moment ago."""
    for used in (cookie(owner.ended), bearer(world.secrets["key: revoked"])):
        response = await world.installation.ask("GET", f"{world.place}/files", [used])
        assert response.status == 200, response.body
    await world.done(owner, "DELETE", f"/api/account/sessions/{owner.ids['endedId']}")
    await world.done(owner, "DELETE", f"/api/account/keys/{key_id}")


async def _leave(world: World, owner: Person) -> None:
    """Lock and disable an owner each; the last one used the workspace, and is removed from it."""
    gone = world.people["removed"]
    await world.done(gone, "GET", f"{world.place}/files")
    member = f"{world.place}/members/{gone.ids['accountId']}"
    await world.done(owner, "DELETE", member)
    for state in ("locked", "disabled"):
        account = world.people[state].ids["accountId"]
        await world.change("UPDATE accounts SET state = $2 WHERE id = $1::uuid", account, state)

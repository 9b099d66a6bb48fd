"""A workspace of others, with marked texts in everything that a person writes, and its people."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from octavo_rules.identity import AccountId

from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.accounts.argon2id import encoded_hash
from octavo.features.accounts.password_reset import create_reset_token
from octavo.features.accounts.sign_in import SessionMaker
from octavo.features.accounts.sql import sessions
from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.access.account import Address
from octavo.model.access.token import digest_of, operator_token
from octavo.store.transaction import Transaction
from tests.access_matrix.installation import ORIGIN, Installation
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import CHEAP, PASSWORD
from tests.fakes.image_files import encoded, picture
from tests.fakes.notes_api import form
from tests.fakes.oauth_rig import CALLBACK, PROGRAM, VERIFIER
from tests.fakes.users_api import bearer, cookie

Json = dict[str, Any]
Ids = dict[str, str]
Header = tuple[bytes, bytes]

OF_NAME = "kolibri7351"
"""In the name of the workspace."""
OF_NOTES = "pelikan9462"
"""In paths and texts of notes and images."""
OF_FOLDER = "zeisig3518"
"""In those below the folder ``tea``, which a key is limited to."""
OF_LINKS = "wachtel2604"
"""In the label and the password of a published link."""
OF_INVITED = "eisvogel4960"
"""In an invited address."""
OF_ACCOUNT = "flamingo8127"
"""In the name of a key of the owner, and in those of the browsers that she uses."""
OF_PROGRAM = "rotmilan6235"
"""In the name of a program that she uses, which has changed a note."""
OF_PUBLISHED = "albatros5093"
"""In a note with a published link, and in the label of the link."""
OF_CALLER = "steinadler7043"
"""In what callers send, which is in no line of the log either."""

FROM_HERE = (b"origin", ORIGIN.encode())
JSON = (b"content-type", b"application/json")
JSON_ANSWERED = (b"accept", b"application/json, text/event-stream")
SYNC = (b"sync-protocol", b"1")
IMAGE = encoded(picture((2, 2)), "PNG")
ARCHIVE = b"PK\5\6" + bytes(18)
"""An empty archive."""
OPERATOR = operator_token(bytes(32))
SETTINGS: Json = {
    "mcp": True,
    "mcp_write": True,
    "portal": "billing=https://billing.example/start",
    "operator_tokens": digest_of(OPERATOR.encode()).hex(),
}


@dataclass
class Person:
    """An account with a session, a key, and a workspace of its own.

    Attributes:
        ids: what belongs to the person, by the names that paths have for it.
        ended: the token of a session that may end.
    """

    name: str
    token: str
    ended: str = ""
    ids: Ids = field(default_factory=dict)

    @property
    def headers(self) -> tuple[Header, ...]:
        """Those of the browser of the person."""
        return (cookie(self.token), FROM_HERE)


class World:
    """The people, and what belongs to the workspace ``house``.

    Attributes:
        people: by name.
        house: ids of the workspace and of what is in it.
        folder: ids of what is different below its folder ``tea``.
        deleted: ids of deleted notes, outside the folder and in it.
        secrets: keys and tokens of the owner, by what they are for.
        program: what names the changes of a program.
    """

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.people: dict[str, Person] = {}
        self.house: Ids = {}
        self.folder: Ids = {}
        self.deleted: tuple[Ids, Ids] = ({}, {})
        self.secrets: dict[str, str] = {}
        self.program: dict[str, str] = {}

    @property
    def place(self) -> str:
        return f"/api/workspaces/{self.house['workspaceId']}"

    async def person(self, name: str, role: str = "member") -> Person:
        """Add an account with three sessions, a key and a workspace."""
        account = AccountId(new_id())
        password = encoded_hash(PASSWORD, "00" * 32, CHEAP.passes, CHEAP.memory, CHEAP.lanes)
        maker = SessionMaker(now=now, new_id=new_id, new_entropy=new_entropy)
        device = f"Browser {OF_ACCOUNT}" if name == "owner" else "Browser"
        made = [maker.make(account, device, None) for _ in range(3)]

        async def add(transaction: Transaction) -> None:
            await transaction.execute(
                "INSERT INTO accounts (id, address, display_name, password, role, state,"
                " created_at, updated_at)"
                " VALUES ($1::uuid, $2, $3, $4, $5, 'enabled', 0, 0)",
                account,
                f"{name}@example.org",
                name.title(),
                password,
                role,
            )
            for session, token in made:
                await sessions.insert(transaction, session, digest_of(token.encode()))

        await self.installation.store.write(add)
        person = self.people[name] = Person(name, made[0][1])
        person.ids = {"accountId": account, "sessionId": made[1][0].session_id}
        person.ids["endedId"], person.ended = made[2][0].session_id, made[2][1]
        key = f"key {OF_ACCOUNT}" if name == "owner" else "key"
        created = await self.done(person, "POST", "/api/account/keys", {"name": key})
        person.ids["keyId"] = created["id"]
        own = await self.done(person, "POST", "/api/workspaces", {"name": f"Of {name}"})
        person.ids["workspaceId"] = own["id"]
        return person

    async def ask(
        self,
        person: Person,
        method: str,
        target: str,
        document: object = None,
        *headers: Header,
        body: bytes = b"",
    ) -> Response:
        if document is not None:
            body, headers = as_json(document), (*headers, JSON)
        sent = [*person.headers, SYNC, *headers]
        return await self.installation.ask(method, target, sent, body)

    async def done(
        self,
        person: Person,
        method: str,
        target: str,
        document: object = None,
        *headers: Header,
        body: bytes = b"",
    ) -> Any:  # noqa: ANN401 - a document has any shape
        """What an operation returns that succeeds."""
        response = await self.ask(person, method, target, document, *headers, body=body)
        assert response.status < 300, (method, target, response.body)
        return response.json() if response.body else None

    async def change(self, sql: str, *values: str) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *values)

        await self.installation.store.write(script)


def as_json(document: object) -> bytes:
    return json.dumps(document).encode()


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


def tool_call(name: str, arguments: Json) -> Json:
    """A message to the MCP endpoint."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def access_request(world: World) -> dict[str, str]:
    """The parameters with which the program asks for access."""
    return {
        "response_type": "code",
        "client_id": world.house["client"],
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "scope": "notes:read notes:write",
    }


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


def token_request(world: World, code: str) -> bytes:
    """The fields with which the program exchanges a code."""
    return urlencode(
        {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": world.house["client"],
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
            "resource": f"{ORIGIN}/mcp",
        }
    ).encode()


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

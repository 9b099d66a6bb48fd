"""The people, what belongs to them and to a workspace of theirs, and the marks in their texts."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from octavo_rules.identity import AccountId

from octavo.access.entropy import new_entropy, new_id, now
from octavo.features.accounts.argon2id import encoded_hash
from octavo.features.accounts.sign_in import SessionMaker
from octavo.features.accounts.sql import sessions
from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.access.token import digest_of, operator_token
from octavo.store.transaction import Transaction
from tests.access_matrix.installation import ORIGIN, Installation
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import CHEAP, PASSWORD
from tests.fakes.image_files import encoded, picture
from tests.fakes.oauth_rig import CALLBACK, VERIFIER
from tests.fakes.users_api import cookie

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

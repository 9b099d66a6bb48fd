"""Programs that a person connects to real servers, and what they ask at the MCP endpoint."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from octavo.features.oauth.rules.authorization_request import challenge_of
from tests.e2e.octavo_process import Octavo
from tests.e2e.people import Person, client, join

CALLBACK = "https://client.example/cb"
VERIFIER = "v" * 43


@dataclass
class Servers:
    """The servers of an installation; what ends, ends at the first."""

    each: list[Octavo]
    root: Person
    database: str | None
    urls: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.urls = [each.url for each in self.each]

    def guest(self) -> Person:
        """A new account."""
        return join(self.each[0].folder, self.database)

    def send(self, person: Person, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # what JSON holds
        """Perform an operation as a person at the first server; return its document."""
        with client(self.urls[0], person) as http:
            response = http.request(method, path, json=body)
        assert response.status_code < 300, response.text
        return response.json()


@dataclass
class Program:
    """A program, what manages it, and its tokens."""

    servers: Servers
    person: Person
    client_id: str
    management: str
    code: str = ""
    tokens: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def allowed(cls, servers: Servers, person: Person) -> "Program":
        """A new program that a person allows everything."""
        document = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
        made = servers.send(person, "POST", "/oauth/register", document)
        program = cls(servers, person, made["client_id"], made["registration_access_token"])
        asked = {
            "response_type": "code",
            "client_id": program.client_id,
            "redirect_uri": CALLBACK,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "scope": "notes:read notes:write",
        }
        decision = {"parameters": asked, "allow": True}
        decided = servers.send(person, "POST", "/api/account/access-requests", decision)
        program.code = parse_qs(urlsplit(decided["redirect"]).query)["code"][0]
        exchanged = program.exchange()
        assert exchanged.status_code == 200, exchanged.text
        program.tokens = exchanged.json()
        return program

    def post(self, path: str, /, *, at: int = 0, **fields: str) -> httpx.Response:
        """Send a form to the server ``at``."""
        with client(self.servers.urls[at]) as http:
            return http.post(path, data={"client_id": self.client_id, **fields})

    def exchange(self) -> httpx.Response:
        return self.post(
            "/oauth/token",
            grant_type="authorization_code",
            code=self.code,
            code_verifier=VERIFIER,
            redirect_uri=CALLBACK,
        )

    def renew(self, *, at: int = 0, **fields: str) -> httpx.Response:
        token = self.tokens["refresh_token"]
        fields = {"grant_type": "refresh_token", "refresh_token": token, **fields}
        return self.post("/oauth/token", at=at, **fields)

    def remove(self) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.management}"}
        with client(self.servers.urls[0]) as http:
            return http.delete(f"/oauth/register/{self.client_id}", headers=headers)

    def ask(self, method: str, **params: object) -> list[httpx.Response]:
        """Send a message to each server."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {
            "authorization": f"Bearer {self.tokens['access_token']}",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        }
        found = []
        for url in self.servers.urls:
            with client(url) as http:
                found.append(http.post("/mcp", json=message, headers=headers))
        return found

    def call(self, tool: str, **arguments: object) -> list[dict[str, Any]]:
        """Call a tool at each server; return the results."""
        found = self.ask("tools/call", name=tool, arguments=arguments)
        assert {each.status_code for each in found} == {200}
        return [each.json()["result"] for each in found]

    def names(self) -> set[str]:
        """The tools that are listed for the program at the first server."""
        found: dict[str, Any] = self.ask("tools/list")[0].json()["result"]
        return {each["name"] for each in found["tools"]}

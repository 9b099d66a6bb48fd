"""Attacks on the authorization server and on the endpoint, over sockets.

One server and its registered programs serve all tests: each attack leaves it as it was.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import unescape
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest

from octavo.features.oauth.rules.authorization_request import challenge_of
from octavo.model.access.token import ENTROPY, access_token
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import Person, client, join, settle
from tests.e2e.test_oauth import CALLBACK, VERIFIER, Flow, call, content

WEB = "https://client.example/cb"
APP = "com.example.app:/cb"
RESOURCE = f"{PUBLIC}/mcp"
MARK = "evil"
"""Occurs in every address of an attacker."""


@dataclass(frozen=True)
class Attacked:
    """A server, a person who is signed in, and two programs with several addresses each.

    Attributes:
        flow: the person, and the program that is attacked.
        other: the program of the attacker.
        stranger: the account of the attacker.
    """

    octavo: Octavo
    flow: Flow
    other: str
    stranger: Person

    @property
    def http(self) -> httpx.Client:
        return self.flow.http

    def open(self, query: str, **headers: str) -> httpx.Response:
        """Open the page of consent as the person."""
        given = {"cookie": self.flow.person.cookie, **headers}
        return self.http.get(f"/oauth/authorize?{query}", headers=given)

    def grants(self) -> int:
        """The number of programs that the person and the attacker have allowed access."""
        found = 0
        for each in (self.flow.person, self.stranger):
            listed = self.http.get("/api/account/connections", headers=each.by_key)
            found += len(listed.json()["items"])
        return found

    def tokens(self) -> dict[str, str]:
        """New tokens of the program."""
        found: dict[str, str] = self.flow.exchange(self.flow.allow()["code"][0]).json()
        return found


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    with (
        data_folder() as folder,
        running(folder, "--mcp", "true", "--mcp-write", "true") as octavo,
        client(octavo.url) as http,
    ):
        person = settle(octavo)
        programs = []
        for name in ("An assistant", "Another program"):
            document = {
                "client_name": name,
                "redirect_uris": ["http://127.0.0.1/callback", WEB, APP],
                "token_endpoint_auth_method": "none",
            }
            made = http.post("/oauth/register", json=document)
            assert made.status_code == 201, made.text
            programs.append(made.json()["client_id"])
        yield Attacked(octavo, Flow(http, person, programs[0]), programs[1], join(folder))
        assert octavo.stop() == (0, [])


def refused(response: httpx.Response) -> str:
    """The text of a page that says why nothing is allowed, and leads to no program."""
    assert response.status_code == 400, response.text
    assert "location" not in response.headers
    assert not re.findall(r'(?:href|action|src)="(?![/#])', response.text)
    return response.text


def denied(attacked: Attacked, **changed: str) -> dict[str, str]:
    """The parameters that a program gets if a person who refused goes back to it.

    Each is there once; nothing else is in the address.
    """
    page = attacked.flow.decide({"decision": "deny"}, **changed)
    assert (page.status_code, "location" in page.headers) == (200, False), page.text
    [link] = re.findall(r'<a class="button" href="(?![/#])([^"]*)"', page.text)
    address = urlsplit(unescape(link))
    assert (address.scheme, address.netloc, address.path) == ("http", "127.0.0.1:3000", "/callback")
    assert not address.fragment
    pairs = parse_qsl(address.query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


# Where the response goes


@pytest.mark.parametrize(
    "uri",
    [
        # Another path
        "https://client.example/cb/evil",
        "https://client.example/cb/../evil",
        "https://client.example/cb/..%2fevil",
        "https://client.example/evil/../cb",
        "https://client.example//cb",
        "https://client.example/cb/",
        "https://client.example/CB",
        "https://client.example/cb;evil",
        "https://client.example/cb%00evil",
        "https://client.example",
        # Another query, a fragment
        "https://client.example/cb?to=evil",
        "https://client.example/cb?",
        "https://client.example/cb#evil",
        # A user
        "https://evil@client.example/cb",
        "https://client.example@evil.example/cb",
        "https://client.example:pw@evil.example/cb",
        "https://client.example%40evil.example/cb",
        # Another host
        "https://evil.example/cb",
        "https://client.example.evil.example/cb",
        "https://evilclient.example/cb",
        "https://evil.client.example/cb",
        "https://client.example./cb",
        "https://client.example:444/cb",
        "https://CLIENT.example/cb",
        "https://client.example\\.evil.example/cb",
        "https://evil.example\\@client.example/cb",
        "https:/\\evil.example/cb",
        "//evil.example/cb",
        "/cb",
        # Unicode
        "https://\u0441lient.example/cb",
        "https://client\u3002example/cb",
        "https://client.example\uff0fcb",
        "https://client.example/cb\u200b",
        "https://xn--lient-9cf.example/cb",
        # Another scheme
        "http://client.example/cb",
        "com.example.app:/evil",
        "com.example.app://evil.example/cb",
        "com.example.evil:/cb",
        "javascript:alert('evil')//https://client.example/cb",
        "data:text/html,evil",
        "vbscript:evil",
        # The loopback interface: only the port may differ
        "http://127.0.0.1:3000/evil",
        "http://127.0.0.1:3000/callback/../evil",
        "http://127.0.0.1:3000/callback?to=evil",
        "http://127.0.0.1:3000/callback#evil",
        "http://localhost:3000/callback",
        "http://127.0.0.2:3000/callback",
        "http://127.1:3000/callback",
        "http://2130706433:3000/callback",
        "http://0x7f000001:3000/callback",
        "http://[::1]:3000/callback",
        "http://[::ffff:127.0.0.1]:3000/callback",
        "http://127.0.0.1.evil.example:3000/callback",
        "http://127.0.0.1:3000@evil.example/callback",
        "http://evil.example#@127.0.0.1:3000/callback",
        "http://evil@127.0.0.1:3000/callback",
        "http://127.0.0.1:99999/callback",
        "https://127.0.0.1:3000/callback",
        # Further headers
        "https://client.example/cb\r\nset-cookie: evil=1",
        "http://127.0.0.1:3000/callback\r\nlocation: https://evil.example/",
        "",
    ],
)
def test_nothing_is_sent_to_an_address_that_was_not_registered(
    attacked: Attacked, uri: str
) -> None:
    response = attacked.open(attacked.flow.query(redirect_uri=uri))
    assert response.status_code == 400, response.headers
    assert "location" not in response.headers
    assert MARK not in response.text
    assert MARK not in str(response.headers)


@pytest.mark.parametrize("address", ["http://127.0.0.1:4000/callback", WEB, APP])
def test_registered_addresses_are_used(attacked: Attacked, address: str) -> None:
    # Otherwise the table above could refuse everything.
    assert attacked.open(attacked.flow.query(redirect_uri=address)).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        ("&redirect_uri=https%3A%2F%2Fevil.example%2Fcb"),
        ("&redirect_uri=http%3A%2F%2F127.0.0.1%3A3000%2Fcallback"),
        ("&client_id=evil"),
        ("&state=evil"),
        ("&scope=notes%3Aread"),
        ("&resource=https%3A%2F%2Fevil.example%2Fmcp"),
        ("&code_challenge=" + "e" * 43),
    ],
)
def test_repeated_parameter_is_refused(attacked: Attacked, changed: str) -> None:
    for query in (attacked.flow.query() + changed, changed[1:] + "&" + attacked.flow.query()):
        response = attacked.open(query)
        assert response.status_code == 400
        assert "location" not in response.headers
        assert MARK not in response.text


def test_program_with_several_addresses_must_name_one(attacked: Attacked) -> None:
    named = f"redirect_uri={quote(CALLBACK, safe='')}"
    query = attacked.flow.query()
    assert named in query
    response = attacked.open(query.replace(f"&{named}", ""))
    assert response.status_code == 400
    assert "location" not in response.headers


# Mix-up


@pytest.mark.parametrize(
    "changed",
    [
        {"response_type": "token"},
        {"response_type": "code token"},
        {"response_type": ""},
        {"scope": "everything"},
        {"resource": "https://evil.example/mcp"},
        {"resource": PUBLIC},
        {"resource": f"{PUBLIC}/mcp/"},
        {"resource": f"{PUBLIC}/mcp?evil"},
        {"resource": f"{PUBLIC}/api"},
        {"resource": ""},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": ""},
        {"code_challenge_method": "s256"},
        {"code_challenge": ""},
        {"code_challenge": VERIFIER[:42]},
        {"code_challenge": challenge_of(VERIFIER) + "="},
    ],
)
def test_faulty_request_redirects_nobody(attacked: Attacked, changed: dict[str, str]) -> None:
    assert MARK not in refused(attacked.open(attacked.flow.query(**changed)))


@pytest.mark.parametrize("missing", ["code_challenge", "code_challenge_method"])
def test_request_without_pkce_is_refused(attacked: Attacked, missing: str) -> None:
    query = re.sub(f"&{missing}=[^&]*", "", attacked.flow.query())
    assert f"{missing}=" not in query
    assert "code_challenge" in refused(attacked.open(query))


def test_response_to_a_decision_names_its_issuer(attacked: Attacked) -> None:
    allowed = attacked.flow.allow()
    assert set(allowed) == {"code", "state", "iss"}
    assert allowed["iss"] == [PUBLIC]
    found = denied(attacked)
    assert set(found) == {"error", "error_description", "state", "iss"}
    assert (found["error"], found["iss"]) == ("access_denied", PUBLIC)


# State


@pytest.mark.parametrize(
    "state",
    [
        "a\r\nset-cookie: evil=1",
        "a\r\n\r\n<script>evil</script>",
        "a&code=evil&iss=https://evil.example",
        "a#code=evil",
        "a?error=evil;b",
        "%0d%0aevil: 1",
        "\x00\x1b[31m\u2028\u202e",
        'é"><img src=x>😀',
        " ",
        "",
        "s" * 4096,
    ],
)
def test_state_comes_back_as_it_was_and_adds_nothing(attacked: Attacked, state: str) -> None:
    found = denied(attacked, state=state)
    assert set(found) == {"error", "error_description", "state", "iss"}
    assert (found["state"], found["iss"]) == (state, PUBLIC)
    page = attacked.open(attacked.flow.query(state=state))
    assert page.status_code == 200
    assert "<script" not in page.text
    assert "<img" not in page.text


# Huge requests


@pytest.mark.parametrize(
    ("name", "size", "status"),
    [
        ("state", 4097, 400),
        ("scope", 5_000, 400),
        ("resource", 5_000, 400),
        ("code_challenge", 5_000, 400),
        ("redirect_uri", 5_000, 400),
        ("client_id", 5_000, 400),
        ("state", 60_000, 414),
        ("unknown", 60_000, 414),
    ],
)
def test_huge_parameter_is_refused(attacked: Attacked, name: str, size: int, status: int) -> None:
    response = attacked.open(attacked.flow.query(**{name: "e" * size}))
    assert response.status_code == status
    assert "e" * 100 not in response.text
    assert "location" not in response.headers


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/oauth/token", {"data": {"grant_type": "refresh_token", "code": "c" * 17_000}}, 413),
        ("/oauth/revoke", {"data": {"token": "t" * 17_000}}, 413),
        ("/oauth/register", {"json": {"redirect_uris": [WEB], "x": "x" * 66_000}}, 413),
        ("/oauth/register", {"json": {"redirect_uris": [f"{WEB}{n}" for n in range(21)]}}, 400),
        ("/oauth/register", {"json": {"redirect_uris": [WEB + "x" * 2_000]}}, 400),
    ],
)
def test_huge_body_is_refused(
    attacked: Attacked, path: str, given: dict[str, object], status: int
) -> None:
    response = attacked.http.post(path, **given)  # type: ignore[arg-type]
    assert response.status_code == status
    assert "error" in response.json()
    assert len(response.content) < 1_000


# Codes and tokens


def test_of_concurrent_exchanges_of_a_code_one_succeeds_and_its_tokens_end(
    attacked: Attacked,
) -> None:
    code = attacked.flow.allow()["code"][0]
    with ThreadPoolExecutor(4) as threads:
        answers = [*threads.map(lambda _: attacked.flow.exchange(code), range(4))]
    [won] = [each.json() for each in answers if each.status_code == 200]
    assert [each.status_code for each in answers].count(400) == 3
    assert call(attacked.flow, won["access_token"], "list_workspaces").status_code == 401
    assert renew(attacked, won["refresh_token"]).json()["error"] == "invalid_grant"


def test_of_concurrent_renewals_one_succeeds_and_its_tokens_end(attacked: Attacked) -> None:
    first = attacked.tokens()
    content(call(attacked.flow, first["access_token"], "list_workspaces"))
    with ThreadPoolExecutor(4) as threads:
        answers = [*threads.map(lambda _: renew(attacked, first["refresh_token"]), range(4))]
    [won] = [each.json() for each in answers if each.status_code == 200]
    assert [each.status_code for each in answers].count(400) == 3
    for each in (first, won):
        assert call(attacked.flow, each["access_token"], "list_workspaces").status_code == 401
    assert renew(attacked, won["refresh_token"]).json()["error"] == "invalid_grant"


def renew(attacked: Attacked, token: str, **changed: str) -> httpx.Response:
    return attacked.flow.token(grant_type="refresh_token", refresh_token=token, **changed)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"client_id": "{other}"}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"code_verifier": challenge_of(VERIFIER)}, "invalid_grant"),
        ({"code_verifier": VERIFIER[:42]}, "invalid_grant"),
        ({"code_verifier": VERIFIER + "v"}, "invalid_grant"),
        ({"redirect_uri": WEB}, "invalid_grant"),
        ({"redirect_uri": ""}, "invalid_grant"),
        ({"resource": PUBLIC}, "invalid_target"),
        ({"resource": f"{RESOURCE}/"}, "invalid_target"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
    ],
)
def test_code_is_worth_nothing_without_its_program_proof_and_target(
    attacked: Attacked, changed: dict[str, str], error: str
) -> None:
    code = attacked.flow.allow()["code"][0]
    given = {name: value.format(other=attacked.other) for name, value in changed.items()}
    refused = attacked.flow.exchange(code, **given)
    assert (refused.status_code, refused.json()["error"]) == (400, error)
    # The attempt of a thief does not use it up.
    assert attacked.flow.exchange(code).status_code == 200


def test_code_without_its_verifier_is_refused(attacked: Attacked) -> None:
    code = attacked.flow.allow()["code"][0]
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    refused = attacked.flow.token(**fields)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"client_id": "{other}"}, "invalid_grant"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"scope": "notes:read notes:write"}, "invalid_scope"),
        ({"refresh_token": "{access}"}, "invalid_grant"),
    ],
)
def test_refresh_token_is_worth_nothing_to_others_or_for_more(
    attacked: Attacked, changed: dict[str, str], error: str
) -> None:
    tokens = attacked.tokens()
    names = {"other": attacked.other, "access": tokens["access_token"]}
    given = {name: value.format(**names) for name, value in changed.items()}
    fields = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], **given}
    refused = attacked.flow.token(**fields)
    assert (refused.status_code, refused.json()["error"]) == (400, error)
    assert renew(attacked, tokens["refresh_token"]).status_code == 200


def test_nothing_but_an_access_token_opens_the_endpoint(attacked: Attacked) -> None:
    code = attacked.flow.allow()["code"][0]
    tokens = attacked.tokens()
    person = attacked.flow.person
    session = person.cookie.partition("=")[2]
    for token in (
        code,
        tokens["refresh_token"],
        person.key,
        session,
        tokens["access_token"][:-1],
        tokens["access_token"] + "A",
        tokens["access_token"].swapcase(),
        # Of another installation: well-formed, and unknown here.
        access_token(b"\x01" * ENTROPY),
        access_token(b"\x01" * ENTROPY)[:-1] + "0",
    ):
        refused = call(attacked.flow, token, "list_workspaces")
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_token")
        assert "resource_metadata=" in refused.headers["www-authenticate"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with_cookie = attacked.http.post("/mcp", json=message, headers=person.by_cookie)
    assert with_cookie.status_code == 401
    in_address = f"/mcp?access_token={tokens['access_token']}"
    assert attacked.http.post(in_address, json=message).status_code == 401
    content(call(attacked.flow, tokens["access_token"], "list_workspaces"))


def test_access_token_opens_no_operation_of_the_api(attacked: Attacked) -> None:
    by_token = {"authorization": f"Bearer {attacked.tokens()['access_token']}"}
    document = attacked.http.get("/api/openapi.json").json()
    refused = 0
    for path, methods in document["paths"].items():
        address = re.sub(r"\{[^}]*\}", "01900000-0000-7000-8000-000000000000", path)
        for method, operation in methods.items():
            if not operation.get("security") or path == "/mcp":
                continue
            response = attacked.http.request(method, address, headers=by_token)
            assert response.status_code in (401, 404), f"{method} {path}: {response.text}"
            # The API of the operator is off.
            if response.status_code == 404:
                assert response.json()["code"] == "operator_off", f"{method} {path}"
            refused += response.status_code == 401
    assert refused > 70
    page = attacked.http.get("/account", headers=by_token)
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=/account")


# The page of consent


def form_of(attacked: Attacked) -> tuple[str, dict[str, str]]:
    """The address of the form of consent, and its fields, as the person has them."""
    query = attacked.flow.query()
    page = attacked.open(query)
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
    return f"/oauth/authorize?{query}", {**fields, "decision": "allow", "workspaces": "all"}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": f"{PUBLIC}.evil.example"},
        {"origin": PUBLIC.replace("https", "http")},
        {"origin": f"{PUBLIC}:444"},
        {"origin": PUBLIC, "sec-fetch-site": "cross-site"},
        {"origin": PUBLIC, "sec-fetch-site": "same-site"},
        {},
    ],
)
def test_form_from_elsewhere_allows_nothing(attacked: Attacked, headers: dict[str, str]) -> None:
    before = attacked.grants()
    address, fields = form_of(attacked)
    given = {"cookie": attacked.flow.person.cookie, **headers}
    response = attacked.http.post(address, data=fields, headers=given)
    assert response.status_code == 403
    assert attacked.grants() == before


@pytest.mark.parametrize("sender", ["nobody", "the attacker", "an API key", "an access token"])
def test_form_of_a_person_is_worth_nothing_without_the_session(
    attacked: Attacked, sender: str
) -> None:
    tokens = attacked.tokens()
    before = attacked.grants()
    address, fields = form_of(attacked)
    headers = {
        "nobody": {},
        "the attacker": {"cookie": attacked.stranger.cookie},
        "an API key": attacked.flow.person.by_key,
        "an access token": {"authorization": f"Bearer {tokens['access_token']}"},
    }[sender]
    response = attacked.http.post(address, data=fields, headers={**headers, "origin": PUBLIC})
    assert response.status_code in (303, 401, 403)
    assert "code=" not in response.headers.get("location", "")
    assert attacked.grants() == before


@pytest.mark.parametrize("hidden", ["token-of-form", "fingerprint"])
@pytest.mark.parametrize("value", [None, "", "0" * 64])
def test_form_without_its_hidden_values_allows_nothing(
    attacked: Attacked, hidden: str, value: str | None
) -> None:
    before = attacked.grants()
    address, fields = form_of(attacked)
    assert len(fields.pop(hidden)) == 64
    if value is not None:
        fields[hidden] = value
    headers = {**attacked.flow.person.by_cookie, "sec-fetch-site": "same-origin"}
    response = attacked.http.post(address, data=fields, headers=headers)
    assert response.status_code in (400, 403)
    assert "location" not in response.headers
    assert attacked.grants() == before


def test_no_page_on_the_way_can_be_framed(attacked: Attacked) -> None:
    query = attacked.flow.query()
    sign_in = attacked.http.get(f"/oauth/authorize?{query}")
    pages = (
        attacked.open(query),
        attacked.open(attacked.flow.query(redirect_uri="https://evil.example/")),
        sign_in,
        attacked.http.get(sign_in.headers["location"]),
        attacked.open(attacked.flow.query(response_type="token")),
        attacked.http.get("/account/connections", headers=attacked.flow.person.by_cookie),
    )
    assert [each.status_code for each in pages] == [200, 400, 303, 200, 400, 200]
    for page in pages:
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"


# Registrations


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "ms-msdt:/id",
        "search-ms:query=a",
        "data:text/html,x",
        "http://client.example/cb",
        "http://169.254.169.254/cb",
        "https://user@client.example/cb",
        "https://client.example/cb#x",
        "https://client.example/cb\r\nx: y",
        "https://\u0441lient.example/cb",
        "//client.example/cb",
    ],
)
def test_address_that_is_dangerous_is_not_registered(attacked: Attacked, uri: str) -> None:
    response = attacked.http.post("/oauth/register", json={"redirect_uris": [WEB, uri]})
    assert (response.status_code, response.json()["error"]) == (400, "invalid_redirect_uri")


def test_registration_is_managed_by_no_other_token(attacked: Attacked) -> None:
    other = attacked.http.post("/oauth/register", json={"redirect_uris": [WEB]}).json()
    path = f"/oauth/register/{attacked.flow.client_id}"
    body = {"client_id": attacked.flow.client_id, "redirect_uris": ["https://evil.example/cb"]}
    for token in (
        other["registration_access_token"],
        other["client_secret"],
        attacked.tokens()["access_token"],
        attacked.flow.person.key,
        "0" * 43,
    ):
        headers = {"authorization": f"Bearer {token}"}
        for method in ("GET", "PUT", "DELETE"):
            sent = body if method == "PUT" else None
            response = attacked.http.request(method, path, json=sent, headers=headers)
            assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert attacked.open(attacked.flow.query()).status_code == 200

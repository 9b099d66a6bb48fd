"""Legal documents, consent and open registration on running servers, also on two at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from octavo.access.attempts import RATES
from octavo.model.access.account import Versions
from octavo.model.access.token import digest_of, operator_token
from tests.e2e.databases import execute, new_database
from tests.e2e.listening import listening
from tests.e2e.octavo_process import PUBLIC, Octavo, data_folder, running
from tests.e2e.people import PASSWORD, Person, client, register, settle
from tests.e2e.prepared import start
from tests.e2e.server import PATIENCE

FIRST = {"termsVersion": "1", "privacyVersion": "1"}
ACCEPTED = Versions(terms="1", privacy="1")
SECOND = {**FIRST, "termsVersion": "2"}
NOTICE = ("--privacy-notice", "https://elsewhere.example/privacy", "--privacy-version", "1")
MAIL = ("--smtp-host", "127.0.0.1", "--smtp-security", "none", "--mail-from", "a@example.org")
OPEN = ("--registration-policy", "open")
PORTAL = ("--portal", "billing=https://billing.example/start")
OURS = {"origin": PUBLIC}

Serve = Callable[..., Octavo]


def write_terms(folder: Path, version: str) -> tuple[str, ...]:
    """Write terms of a version next to a data folder; return the options that name them."""
    path = folder.parent / f"terms-{version}.md"
    path.write_text(f"---\nversion: {version}\n---\n# Terms {version}\n")
    return "--terms", str(path), *NOTICE


@pytest.fixture(params=["sqlite", "postgres"])
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Starts servers on one database, with terms of a version and further options."""
    database: tuple[str, ...] = ()
    if request.param == "postgres":
        database = ("--database", request.getfixturevalue("postgres_database"))
    with ExitStack() as stack:
        folder = stack.enter_context(data_folder())

        def start_server(version: str, *options: str) -> Octavo:
            given = (*write_terms(folder, version), *database, *options)
            return stack.enter_context(running(folder, *given))

        yield start_server


@pytest.fixture
def pair(postgres_server: str) -> Iterator[tuple[Octavo, Octavo]]:
    """Two servers on one PostgreSQL database."""
    token = operator_token(bytes(32))
    with ExitStack() as stack:
        database = stack.enter_context(new_database(postgres_server))
        options = ("--database", database, "--operator-tokens", digest_of(token.encode()).hex())
        folders = [stack.enter_context(data_folder()) for _ in range(2)]
        one, other = (
            stack.enter_context(
                running(folder, *write_terms(folder, "1"), *options, *MAIL, *PORTAL)
            )
            for folder in folders
        )
        yield one, other
        for server in (one, other):
            assert server.stop() == (0, [])


def registered(url: str, **given: object) -> httpx.Response:
    body = {"password": PASSWORD, "displayName": "Somebody", **given}
    with client(url) as http:
        return http.post("/api/registrations", json=body, headers=OURS)


def code(response: httpx.Response) -> str:
    return str(response.json()["code"])


def create_workspace(octavo: Octavo, headers: dict[str, str]) -> httpx.Response:
    with client(octavo.url) as http:
        return http.post("/api/workspaces", json={"name": "Notes"}, headers=headers)


def accept(octavo: Octavo, person: Person, versions: dict[str, str]) -> httpx.Response:
    with client(octavo.url, person) as http:
        return http.post("/api/account/consent", json=versions)


def choose(octavo: Octavo, person: Person, policy: str) -> httpx.Response:
    with client(octavo.url, person) as http:
        return http.put("/api/installation", json={"registrationPolicy": policy})


async def test_new_terms_must_be_accepted_before_anything_else(serve: Serve) -> None:
    octavo = serve("1")
    person = register(octavo.url, octavo.invitation(), consent=FIRST)
    assert create_workspace(octavo, person.by_key).status_code == 201
    assert octavo.stop() == (0, [])
    octavo = serve("2")
    for headers in (person.by_key, person.by_cookie):
        refused = create_workspace(octavo, headers)
        assert (refused.status_code, code(refused)) == (409, "consent_required")
        assert refused.json()["required"] == {
            **SECOND,
            "termsAddress": f"{PUBLIC}/legal/terms",
            "privacyAddress": "https://elsewhere.example/privacy",
        }
    async with listening(octavo.port, person.by_key):
        pass
    assert code(accept(octavo, person, FIRST)) == "consent_required"
    assert accept(octavo, person, SECOND).status_code == 200
    for headers in (person.by_key, person.by_cookie):
        assert create_workspace(octavo, headers).status_code == 201
    assert octavo.stop() == (0, [])


def test_consent_holds_at_the_other_server_immediately(pair: tuple[Octavo, Octavo]) -> None:
    one, other = pair
    person = settle(one, ACCEPTED)
    database = one.options[one.options.index("--database") + 1]
    for first, second in (pair, (other, one)):
        execute(database, "UPDATE accounts SET consent_terms = '0'")
        for server in pair:
            assert code(create_workspace(server, person.by_key)) == "consent_required"
        assert accept(first, person, FIRST).status_code == 200
        assert create_workspace(second, person.by_key).status_code == 201


def test_policy_holds_at_the_other_server_immediately(pair: tuple[Octavo, Octavo]) -> None:
    one, other = pair
    person = settle(one, ACCEPTED)
    new = {"address": "new@example.org", "consent": FIRST}
    assert code(registered(other.url, **new)) == "not_found"
    assert choose(one, person, "open").json()["registrationPolicy"] == "open"
    assert registered(other.url, **new).json()["role"] == "member"
    assert choose(other, person, "invitation").status_code == 200
    assert code(registered(one.url, **{**new, "address": "late@example.org"})) == "not_found"


def test_of_concurrent_redemptions_one_wins(pair: tuple[Octavo, Octavo]) -> None:
    one, other = pair
    person = settle(one, ACCEPTED)
    operator = {"authorization": f"Bearer {operator_token(bytes(32))}"}

    def redeem(server: Octavo, token: str) -> int:
        with client(server.url) as http:
            path = "/api/operator/portal/redeem"
            return http.post(path, json={"token": token}, headers=operator).status_code

    with ThreadPoolExecutor(8) as threads, client(one.url, person) as http:
        for _ in range(5):
            address = http.post("/api/account/portal", json={"path": "billing"}).json()["address"]
            [token] = parse_qs(urlsplit(address).query)["token"]
            results = list(threads.map(redeem, (one, other) * 4, [token] * 8))
            assert sorted(results) == [200] + [404] * 7


def test_administrators_open_the_registration(serve: Serve) -> None:
    octavo = serve("1", *MAIL)
    person = settle(octavo, ACCEPTED)
    assert choose(octavo, person, "open").json() == {
        "registrationPolicy": "open",
        "lockedBy": None,
        "mailTransport": True,
        "legalDocuments": True,
    }
    assert registered(octavo.url, address="a@example.org", consent=FIRST).status_code == 201
    assert code(registered(octavo.url, address="b@example.org")) == "consent_required"
    assert octavo.stop() == (0, [])
    # Without a mail server, the policy is not in force.
    octavo = serve("1")
    with client(octavo.url, person) as http:
        found = http.get("/api/installation").json()
    assert (found["registrationPolicy"], found["mailTransport"]) == ("invitation", False)
    assert code(registered(octavo.url, address="b@example.org", consent=FIRST)) == "not_found"
    assert octavo.stop() == (0, [])


def test_settings_open_the_registration(serve: Serve) -> None:
    octavo = serve("1", *MAIL, *OPEN)
    person = settle(octavo, ACCEPTED)
    refused = choose(octavo, person, "invitation")
    assert (refused.status_code, code(refused)) == (409, "setting_locked")
    with client(octavo.url, person) as http:
        found = http.get("/api/installation").json()
    assert (found["registrationPolicy"], found["lockedBy"]) == ("open", "environment")
    assert registered(octavo.url, address="a@example.org", consent=FIRST).status_code == 201
    assert octavo.stop() == (0, [])


def test_person_registers_on_the_page(serve: Serve) -> None:
    octavo = serve("1", *MAIL, *OPEN)
    given = {
        "invitation": "",
        "address": "a@example.org",
        "displayName": "A",
        "password": PASSWORD,
        **FIRST,
    }
    with client(octavo.url) as http:
        form = http.get("/register").text
        assert f'href="{PUBLIC}/legal/terms"' in form
        assert 'name="termsVersion" value="1"' in form
        refused = http.post("/register", data=given, headers=OURS)
        assert refused.status_code == 409
        assert "accept the documents below" in refused.text
        done = http.post("/register", data={**given, "accept": "yes"}, headers=OURS)
        assert (done.status_code, done.headers["location"]) == (303, "/workspaces")
        cookie = {"cookie": done.headers["set-cookie"].partition(";")[0]}
        found = http.get("/api/account", headers=cookie).json()
    assert found["consent"]["accepted"]["termsVersion"] == "1"
    assert found["consent"]["required"] is None
    assert octavo.stop() == (0, [])


def test_registration_forms_are_limited_for_each_client(serve: Serve) -> None:
    octavo = serve("1", *MAIL, *OPEN)
    most = RATES["registration"].client.count
    given = {"displayName": "A", "password": PASSWORD, **FIRST, "accept": "yes"}
    responses = []
    with client(octavo.url) as http:
        for number in range(most + 1):
            # An invitation that is not valid, so that no account is created.
            path = f"/register?invitation={'0' * 43}"
            form = {**given, "address": f"a{number}@example.org"}
            # A client that no proxy is trusted for can't choose its address.
            claimed = f"192.0.2.{number}"
            forged = {"remote-addr": claimed, "x-forwarded-for": claimed, "forwarded": claimed}
            responses.append(http.post(path, data=form, headers={**OURS, **forged}))
        limited = http.post("/api/registrations", json={}, headers=OURS)
    assert [each.status_code for each in responses] == [404] * most + [429]
    assert limited.status_code == 429
    assert octavo.stop() == (0, [])


def refusal_to_start(folder: Path, *options: str) -> tuple[int, str]:
    given = ("--bind", "127.0.0.1:0", "--data-dir", str(folder / "data"))
    with start(*given, *options, folder=folder) as process:
        _, output = process.communicate(timeout=PATIENCE)
    return process.returncode, output


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff", "is not UTF-8"), (b"a" * 300_000, "is larger than 262144 bytes")],
)
def test_unusable_document_stops_the_start(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "terms.md").write_bytes(content)
    exit_code, output = refusal_to_start(tmp_path, "--terms", "terms.md")
    assert exit_code == 1
    assert f"the document terms.md {reason}" in output
    assert "Traceback" not in output


def test_open_policy_without_what_it_requires_stops_the_start(tmp_path: Path) -> None:
    exit_code, output = refusal_to_start(tmp_path, *OPEN)
    assert exit_code == 2
    needed = "OCTAVO_SMTP_HOST, OCTAVO_TERMS, OCTAVO_PRIVACY_NOTICE"
    assert f"open registration needs a mail server, terms and a privacy notice: give {needed}" in (
        output
    )

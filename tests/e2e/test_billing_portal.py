"""The example of a portal, with a real server: the whole hand-off."""

import re
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from examples.billing_portal import STORAGE, Json, Operator, portal
from octavo.model.access.token import digest_of, operator_token
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import Person, client, register
from tests.e2e.server import PATIENCE
from tests.e2e.threaded_server import serving
from tests.project.source import ROOT

TOKEN = operator_token(bytes(32))


class Interrupted(Operator):
    """An operator whose account is changed by somebody else before each of its first changes."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.interruptions = 0

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        if method == "PATCH" and body is not None and self.interruptions:
            self.interruptions -= 1
            super().call(method, path, {**body, "storageBytes": 1})
        return super().call(method, path, body)


@pytest.fixture
def scene() -> Iterator[tuple[Interrupted, httpx.Client, Person]]:
    """The operator, a client of an account, and the account."""
    operator = Interrupted("", TOKEN)
    with serving(portal(operator, 0)) as address, data_folder() as folder:
        digest = digest_of(TOKEN.encode()).hex()
        options = ("--operator-tokens", digest, "--portal", f"billing={address}/start?lang=en")
        with running(folder, *options) as octavo:
            operator.url = octavo.url
            person = register(octavo.url, octavo.invitation())
            with client(octavo.url, person) as http:
                yield operator, http, person
            assert octavo.stop() == (0, [])


def storage(http: httpx.Client) -> object:
    return http.get("/api/account").json()["controls"]["storageBytes"]


def test_person_buys_storage(scene: tuple[Interrupted, httpx.Client, Person]) -> None:
    operator, http, person = scene
    opened = http.post("/api/account/portal", json={"path": "billing"}).json()["address"]
    with httpx.Client(timeout=PATIENCE, trust_env=False) as browser:
        page = browser.get(opened)
        assert page.status_code == 200
        assert f"{person.address} uses 0 of unlimited bytes" in page.text
        found = re.search("value=([^>]+)>", page.text)
        assert found is not None
        operator.interruptions = 2
        bought = browser.post(opened, data={"session": found[1]})
        assert (bought.status_code, str(STORAGE) in bought.text) == (200, True)
        assert storage(http) == STORAGE
        assert operator.interruptions == 0
        # The token has been used.
        again = browser.get(opened)
        assert (again.status_code, "has expired" in again.text) == (404, True)
        assert browser.post(opened, data={"session": "other"}).status_code == 404


def test_example_starts_as_its_description_says() -> None:
    environment = {"OCTAVO": "http://localhost:1", "OPERATOR_TOKEN": TOKEN}
    with subprocess.Popen(
        [sys.executable, "examples/billing_portal.py", "0"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch("The portal is at http://localhost:([0-9]+)/start\n", line)
            assert found is not None, line
            address = f"http://127.0.0.1:{found[1]}/start"
            response = httpx.get(address, timeout=PATIENCE, trust_env=False)
            # There is no Octavo.
            assert response.status_code == 502
        finally:
            process.kill()

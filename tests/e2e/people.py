"""Accounts of a running server, and clients authenticated as them."""

from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import httpx
import trio

from octavo import service
from octavo.settings import Settings
from octavo.settings.addresses import DatabaseUrl
from tests.e2e.octavo_process import PUBLIC
from tests.e2e.server import PATIENCE

PASSWORD = "correct horse battery staple"

_numbers = count(1)


@dataclass(frozen=True)
class Person:
    """An account with a session and a key."""

    account_id: str
    address: str
    cookie: str
    key: str

    @property
    def by_key(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    @property
    def by_cookie(self) -> dict[str, str]:
        """The headers of a page; over plain http, clients withhold the secure cookie otherwise."""
        return {"cookie": self.cookie, "origin": PUBLIC}


def client(url: str, person: Person | None = None) -> httpx.Client:
    """A client of the server at ``url``, with the key of ``person``."""
    headers = {} if person is None else person.by_key
    return httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False)


def async_client(url: str, person: Person) -> httpx.AsyncClient:
    """As `client`, for tests on trio."""
    return httpx.AsyncClient(base_url=url, headers=person.by_key, timeout=PATIENCE, trust_env=False)


def invite(folder: Path, database: str | None = None) -> str:
    """A new invitation token: as ``octavo invite`` makes it, in less time."""
    url = None if database is None else DatabaseUrl.parse(database)
    settings = Settings(data_dir=folder, database=url)
    return trio.run(partial(service.invite, settings, administrator=False, address=None))


def reset_token(folder: Path, database: str | None, address: str) -> str:
    """A new token to choose a password: as ``octavo recover`` makes it, in less time."""
    url = None if database is None else DatabaseUrl.parse(database)
    return trio.run(service.recover, Settings(data_dir=folder, database=url), address)


def register(url: str, invitation: str, **more: object) -> Person:
    """Create an account with ``invitation`` and ``more`` members, and a key of it."""
    address = f"person{next(_numbers)}@example.org"
    given = {
        "invitation": invitation,
        "address": address,
        "password": PASSWORD,
        "displayName": "Somebody",
        **more,
    }
    with client(url) as anybody:
        made = anybody.post("/api/registrations", json=given, headers={"origin": PUBLIC})
        assert made.status_code == 201, made.text
        cookie = made.headers["set-cookie"].partition(";")[0]
        person = Person(made.json()["id"], address, cookie, "")
        key = anybody.post("/api/account/keys", json={"name": "tests"}, headers=person.by_cookie)
        assert key.status_code == 201, key.text
    return Person(person.account_id, address, cookie, key.json()["secret"])

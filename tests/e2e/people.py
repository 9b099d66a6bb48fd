"""Accounts of a running server, and clients authenticated as them."""

import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import count, pairwise
from pathlib import Path

import httpx
import trio
from octavo_rules.identity import AccountId

from octavo.access.attempts import Attempts
from octavo.access.audit import command_audit
from octavo.access.entropy import jitter, new_entropy, new_id, now
from octavo.features.accounts.argon2id import encoded_hash
from octavo.features.accounts.commands import recover as recovery
from octavo.features.accounts.rules.password import hashed_form
from octavo.features.accounts.rules.session import ApiKey
from octavo.features.accounts.sign_in import SessionMaker
from octavo.features.accounts.sql import api_keys
from octavo.features.members import invitations_of_terminal
from octavo.features.members.invitations import Invitations
from octavo.features.members.sql import invitations
from octavo.model.access.account import Account, Address, Consent, KeyId, Versions
from octavo.model.access.token import api_key, digest_of
from octavo.service.features import LISTENERS
from octavo.service.settings import Settings
from octavo.settings.addresses import DatabaseUrl
from octavo.store.engine import open_engine
from tests.e2e.octavo_process import PUBLIC, Octavo
from tests.e2e.prepared import HASH_COST
from tests.e2e.served_contract import check_head
from tests.e2e.server import PATIENCE

PASSWORD = "correct horse battery staple"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

_numbers = count(1)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Shared by all clients: each would read the certificates of all authorities, for plain HTTP."""


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


def client(
    url: str, person: Person | None = None, transport: httpx.BaseTransport | None = None
) -> httpx.Client:
    """A client of the server at ``url``, with the key of ``person``.

    It raises `Undocumented` for a response that the contract does not document.
    """
    return httpx.Client(
        base_url=url,
        headers={} if person is None else person.by_key,
        timeout=PATIENCE,
        verify=NO_TLS,
        trust_env=False,
        transport=transport,
        event_hooks={"response": [check_documented]},
    )


def async_client(url: str, person: Person) -> httpx.AsyncClient:
    """As `client`, for tests on trio."""

    async def check(response: httpx.Response) -> None:
        check_documented(response)

    return httpx.AsyncClient(
        base_url=url,
        headers=person.by_key,
        timeout=PATIENCE,
        verify=NO_TLS,
        trust_env=False,
        event_hooks={"response": [check]},
    )


def check_documented(response: httpx.Response) -> None:
    """Raise `Undocumented` if the contract does not document the head of ``response``."""
    path = response.request.url.raw_path.decode().partition("?")[0]
    headers = response.headers.multi_items()
    check_head(response.request.method, path, response.status_code, headers)


def settings_of(folder: Path, database: str | None) -> Settings:
    """The settings by which a command finds an installation."""
    url = None if database is None else DatabaseUrl.parse(database)
    return Settings(data_dir=folder, database=url)


def invite(folder: Path, database: str | None = None) -> str:
    """A new invitation token: as ``octavo invite`` makes it, in less time."""
    settings = settings_of(folder, database)
    return trio.run(
        partial(invitations_of_terminal.invite, settings, administrator=False, address=None)
    )


def reset_token(folder: Path, database: str | None, address: str) -> str:
    """A new token to choose a password: as ``octavo recover`` makes it, in less time."""
    return trio.run(recovery.recover, settings_of(folder, database), Address(address))


def settle(octavo: Octavo, accepted: Versions | None = None) -> Person:
    """The first administrator of a new installation; as `join`."""
    options = dict(pairwise(octavo.options))
    return join(octavo.folder, options.get("--database"), accepted, octavo.invitation())


def join(
    folder: Path,
    database: str | None = None,
    accepted: Versions | None = None,
    invitation: str | None = None,
) -> Person:
    """A new account beside the running server, with what `register` gives one.

    All have the same hash of `PASSWORD`: the server hashes in the time that everything else
    leaves, which may be seconds. Runs in a loop of its own, also when the test has one.
    """
    settings = settings_of(folder, database)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(trio.run, _join, settings, accepted, invitation).result()


async def _join(settings: Settings, accepted: Versions | None, invitation: str | None) -> Person:
    async with open_engine(settings, LISTENERS, random=jitter, serving=False) as engine:
        audit = command_audit(engine.store)
        if invitation is None:
            inviting = Invitations(
                engine.store,
                Attempts(),
                audit=audit,
                now=now,
                new_id=new_id,
                new_token=new_entropy,
            )
            _, invitation = await inviting.create(None)
        number, account_id = next(_numbers), AccountId(new_id())
        address = f"person{number}@example.org"
        maker = SessionMaker(now=now, new_id=new_id, new_entropy=new_entropy)
        session, token = maker.make(account_id, BROWSER, "203.0.113.7")
        made = session.created_at
        account = Account(
            account_id,
            Address(address),
            f"Person{number}",
            "member",
            "enabled",
            made,
            made,
            None if accepted is None else Consent(accepted, made),
        )
        use = invitations.use(
            digest_of(invitation.encode()), account, _encoded(), session, digest_of(token.encode())
        )
        registered = audit.entry(
            "account_registered", actor=account_id, subject=account_id, detail={"role": "member"}
        )
        await audit.write(use, registered)
        key = ApiKey(KeyId(new_id()), account_id, "Laptop", made, None, used_at=None)
        secret = api_key(new_entropy())
        create = api_keys.create(key, digest_of(secret.encode()))
        created = audit.entry("key_created", actor=account_id, subject=key.key_id)
        await audit.write(create, created)
    return Person(account_id, address, f"__Host-octavo={token}", secret)


@cache
def _encoded() -> str:
    form, cost = hashed_form(PASSWORD), HASH_COST
    assert form is not None
    return encoded_hash(form, new_entropy().hex(), cost.passes, cost.memory, cost.lanes)


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

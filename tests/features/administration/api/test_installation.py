"""The settings of the installation, and registration under an open policy."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from octavo.features.legal.rules import LegalText, LegalTexts
from octavo.features.members.rules import Prerequisites, RegistrationPolicy
from octavo.store import Store
from tests.fakes.asgi_client import Response
from tests.fakes.identity_fixture import IdentityFixture
from tests.fakes.stores import open_inline
from tests.fakes.users_api import ADDRESS, FROM_HERE, UsersApi, cookie_set_by

INSTALLATION = "/api/installation"
LEGAL = LegalTexts(LegalText("1", "/legal/terms"), LegalText("2", "/legal/privacy"))
CONSENT = {"termsVersion": "1", "privacyVersion": "2"}
READY = Prerequisites(mail_transport=True, legal_documents=True)


class Installations:
    """One database, served with one configuration after the other."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def serve(self, prerequisites: Prerequisites) -> UsersApi:
        return UsersApi(IdentityFixture(self._store, LEGAL, prerequisites))


@pytest.fixture
def installations() -> Iterator[Installations]:
    store = open_inline()
    try:
        yield Installations(store)
    finally:
        store.close()


@pytest.fixture
def ready(installations: Installations) -> UsersApi:
    """An installation that can be opened."""
    return installations.serve(READY)


async def put(users: UsersApi, policy: object, cookie: tuple[bytes, bytes]) -> Response:
    return await users.put(INSTALLATION, {"registrationPolicy": policy}, cookie, FROM_HERE)


async def opened(users: UsersApi) -> tuple[bytes, bytes]:
    """Open the registration; return the cookie of the administrator."""
    _, cookie = await users.account("admin@example.org", "administrator")
    assert (await put(users, "open", cookie)).status == 200
    return cookie


async def test_policy_is_changed_by_administrators(ready: UsersApi) -> None:
    _, cookie = await ready.account(role="administrator")
    before = {
        "registrationPolicy": "invitation",
        "lockedBy": None,
        "mailTransport": True,
        "legalDocuments": True,
    }
    assert (await ready.get(INSTALLATION, cookie)).json() == before
    after = {**before, "registrationPolicy": "open"}
    response = await put(ready, "open", cookie)
    assert (response.status, response.json()) == (200, after)
    assert (await ready.get(INSTALLATION, cookie)).json() == after
    assert (await put(ready, "invitation", cookie)).json() == before


async def test_members_neither_read_nor_change_it(ready: UsersApi) -> None:
    _, cookie = await ready.account()
    assert (await ready.get(INSTALLATION, cookie)).code == "forbidden"
    assert (await put(ready, "open", cookie)).code == "forbidden"


async def test_administrator_demoted_meanwhile_changes_nothing(ready: UsersApi) -> None:
    _, cookie = await ready.account(role="administrator")
    assert (await ready.get(INSTALLATION, cookie)).status == 200
    await ready.identity.execute("UPDATE accounts SET role = 'member'")
    assert (await put(ready, "open", cookie)).code == "forbidden"
    assert await ready.identity.rows("SELECT registration_policy FROM installation") == [
        ("invitation",)
    ]


@pytest.mark.parametrize("policy", ["invitation", "open"])
@pytest.mark.parametrize("wanted", ["invitation", "open"])
async def test_policy_of_the_settings_cannot_be_changed(
    installations: Installations, policy: RegistrationPolicy, wanted: str
) -> None:
    users = installations.serve(replace(READY, policy=policy))
    _, cookie = await users.account(role="administrator")
    response = await put(users, wanted, cookie)
    assert (response.status, response.code) == (409, "setting_locked")
    found = (await users.get(INSTALLATION, cookie)).json()
    assert (found["registrationPolicy"], found["lockedBy"]) == (policy, "environment")


@pytest.mark.parametrize(
    ("mail", "documents", "missing"),
    [(False, True, "a mail server"), (True, False, "terms and a privacy notice")],
)
async def test_open_policy_requires_mail_and_documents(
    installations: Installations, mail: bool, documents: bool, missing: str
) -> None:
    users = installations.serve(Prerequisites(mail_transport=mail, legal_documents=documents))
    _, cookie = await users.account(role="administrator")
    response = await put(users, "open", cookie)
    assert (response.status, response.code) == (409, "setting_required")
    assert missing in response.json()["detail"]
    assert (await put(users, "invitation", cookie)).status == 200


async def test_open_policy_is_not_in_force_without_what_it_requires(
    installations: Installations,
) -> None:
    cookie = await opened(installations.serve(READY))
    users = installations.serve(Prerequisites(legal_documents=True))
    found = (await users.get(INSTALLATION, cookie)).json()
    assert (found["registrationPolicy"], found["mailTransport"]) == ("invitation", False)
    assert (await users.register(None, consent=CONSENT)).code == "not_found"
    # It comes back with the mail server.
    assert (await installations.serve(READY).register(None, consent=CONSENT)).status == 201


async def test_other_policies_are_refused(ready: UsersApi) -> None:
    _, cookie = await ready.account(role="administrator")
    for policy in ("closed", None, 1):
        assert (await put(ready, policy, cookie)).code == "invalid_request"


async def test_under_an_open_policy_everybody_becomes_a_member(ready: UsersApi) -> None:
    await opened(ready)
    response = await ready.register(None, consent=CONSENT)
    assert response.status == 201
    assert (response.json()["address"], response.json()["role"]) == (ADDRESS, "member")
    found = await ready.get("/api/account", cookie_set_by(response))
    assert found.json() == response.json()


async def test_open_registration_requires_consent(ready: UsersApi) -> None:
    await opened(ready)
    assert (await ready.register(None)).code == "consent_required"


async def test_open_registration_of_a_taken_address_is_refused(ready: UsersApi) -> None:
    await opened(ready)
    assert (await ready.register(None, consent=CONSENT)).status == 201
    assert (await ready.register(None, consent=CONSENT)).code == "address_taken"


async def test_unusable_invitation_is_refused_under_an_open_policy(ready: UsersApi) -> None:
    await opened(ready)
    for invitation in ("", "x" * 43):
        assert (await ready.register(invitation, consent=CONSENT)).code == "not_found"


async def test_policy_that_closes_during_the_request_refuses_it(ready: UsersApi) -> None:
    cookie = await opened(ready)
    hash_it = ready.identity.passwords.hash

    async def hash_and_close(password: str) -> str:
        assert (await put(ready, "invitation", cookie)).status == 200
        return await hash_it(password)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ready.identity.passwords, "hash", hash_and_close)
        assert (await ready.register(None, consent=CONSENT)).code == "not_found"
    assert len(await ready.identity.rows("SELECT 1 FROM accounts")) == 1


async def test_invitations_work_under_an_open_policy(ready: UsersApi) -> None:
    await opened(ready)
    invitation = await ready.identity.invite(role="administrator")
    response = await ready.register(invitation, consent=CONSENT)
    assert response.json()["role"] == "administrator"

"""Consent to the legal documents of the installation."""

from collections.abc import Iterator

import pytest

from octavo.features.legal.rules import LegalText, LegalTexts
from octavo.http.contract.assembly import contract_of
from octavo.http.contract.operation import Locked, Security
from octavo.model.access.token import digest_of, operator_token
from tests.fakes.asgi_client import Response, ask_json
from tests.fakes.identity_fixture import PASSWORD, IdentityFixture, identity_fixture
from tests.fakes.publishing_users import PublishingUsers
from tests.fakes.stores import open_inline
from tests.fakes.users_api import ADDRESS, FROM_HERE, UsersApi, bearer, cookie_set_by

TERMS = LegalText("2", "https://notes.example/legal/terms")
PRIVACY = LegalText("8c1f0a9b3d57", "https://elsewhere.example/privacy")
BOTH = LegalTexts(TERMS, PRIVACY)
CONSENT = {"termsVersion": TERMS.version, "privacyVersion": PRIVACY.version}
REQUIRED = {**CONSENT, "termsAddress": TERMS.address, "privacyAddress": PRIVACY.address}
TOKEN = operator_token(bytes(32))


def api_with(identity: IdentityFixture) -> UsersApi:
    return UsersApi(identity, [digest_of(TOKEN.encode()).hex()])


@pytest.fixture
def bound() -> Iterator[UsersApi]:
    """An installation with both documents."""
    with identity_fixture(legal=BOTH) as made:
        yield api_with(made)


async def outdate(users: UsersApi) -> None:
    """Let every account have accepted earlier terms only."""
    await users.identity.execute("UPDATE accounts SET consent_terms = '1'")
    for row in await users.identity.rows("SELECT id FROM accounts"):
        users.identity.credentials.forget(row[0])


async def accept(users: UsersApi, given: object, *headers: tuple[bytes, bytes]) -> Response:
    return await users.post("/api/account/consent", given, *headers, FROM_HERE)


async def consent_of(users: UsersApi, *headers: tuple[bytes, bytes]) -> object:
    return (await users.get("/api/account", *headers)).json()["consent"]


async def test_registration_with_the_versions_in_force_records_them(bound: UsersApi) -> None:
    response = await bound.register(await bound.identity.invite(), consent=CONSENT)
    accepted = {**CONSENT, "acceptedAt": "2027-01-15T08:00:00.000Z"}
    assert response.status == 201
    assert response.json()["consent"] == {"accepted": accepted, "required": None}
    found = await bound.get("/api/account", cookie_set_by(response))
    assert found.json() == response.json()


@pytest.mark.parametrize(
    "given",
    [
        None,
        {**CONSENT, "termsVersion": "1"},
        {**CONSENT, "privacyVersion": None},
    ],
)
async def test_registration_without_them_creates_nothing(
    bound: UsersApi, given: dict[str, object] | None
) -> None:
    invitation = await bound.identity.invite()
    response = await bound.register(invitation, consent=given)
    assert (response.status, response.code) == (409, "consent_required")
    assert response.json()["required"] == REQUIRED
    assert response.header("set-cookie") is None
    assert await bound.identity.rows("SELECT 1 FROM accounts") == []
    assert (await bound.register(invitation)).code == "consent_required"
    assert (await bound.register(invitation, consent=CONSENT)).status == 201


async def test_registration_that_accepts_what_does_not_exist_is_refused(users: UsersApi) -> None:
    invitation = await users.identity.invite()
    assert (await users.register(invitation, consent=CONSENT)).code == "consent_required"
    nothing = {"termsVersion": None, "privacyVersion": None}
    assert (await users.register(invitation, consent=nothing)).status == 201


async def test_every_operation_but_those_of_locked_accounts_requires_consent(
    bound: UsersApi,
) -> None:
    made, cookie = await bound.account(role="administrator")
    key = await bound.key(made)
    await outdate(bound)
    secured = [
        each
        for each in contract_of([type(group) for group in bound.groups])
        if each.security is Security.SESSION_OR_KEY and each.id != "removeOwnAccount"
    ]
    for each in secured:
        for credential in (cookie, key):
            path = "/".join(
                "01900000-0000-7000-8000-ffffffffffff" if part.startswith("{") else part
                for part in each.path.split("/")
            )
            response = await ask_json(
                bound.application, each.method, path, {}, (credential, FROM_HERE)
            )
            due = response.status == 409 and response.code == "consent_required"
            if each.id == "acceptLegalDocuments":
                assert response.status == 400
            else:
                assert due is (each.locked is Locked.REFUSED), each.id
            if due:
                assert response.json()["required"] == REQUIRED


async def test_export_requires_consent_unless_the_workspace_is_owned_alone() -> None:
    with identity_fixture(legal=BOTH) as identity:
        users = PublishingUsers(identity)
        _, cookie = await users.account()
        made = [
            (await users.post("/api/workspaces", {"name": name}, cookie, FROM_HERE)).json()["id"]
            for name in ("Own", "Shared")
        ]
        own, shared = [f"/api/workspaces/{each}/export" for each in made]
        other, _ = await users.account("bob@example.org")
        await identity.execute(
            "INSERT INTO members (workspace_id, account_id, role, joined_at)"
            " VALUES ($1::uuid, $2::uuid, 'reader', 0)",
            made[1],
            other.account.account_id,
        )
        await outdate(users)
        async with users.running():
            head = await ask_json(users.application, "HEAD", own, None, (cookie,))
            assert head.status == 200
        refused = await users.get(shared, cookie)
        assert (refused.status, refused.code) == (409, "consent_required")
        assert refused.json()["required"] == REQUIRED


async def test_password_is_changed_with_consent_only(bound: UsersApi) -> None:
    _, cookie = await bound.account()
    await outdate(bound)
    given = {"currentPassword": PASSWORD, "newPassword": "another tulip on the moon"}
    response = await bound.post("/api/auth/change-password", given, cookie, FROM_HERE)
    assert (response.status, response.code) == (409, "consent_required")
    assert response.json()["message"] == response.json()["detail"]
    assert (await bound.sign_in()).status == 200


async def test_consent_takes_effect_immediately(bound: UsersApi) -> None:
    made, cookie = await bound.account()
    key = await bound.key(made)
    await outdate(bound)
    for credential in (cookie, key):
        assert (await bound.get("/api/workspaces", credential)).status == 200
        refused = await bound.post("/api/workspaces", {"name": "A"}, credential, FROM_HERE)
        assert refused.code == "consent_required"
    before = await consent_of(bound, cookie)
    assert isinstance(before, dict)
    assert before["required"] == REQUIRED
    assert before["accepted"]["termsVersion"] == "1"
    bound.identity.sources.time += 60
    response = await accept(bound, CONSENT, cookie)
    recorded = {**CONSENT, "acceptedAt": "2027-01-15T08:01:00.000Z"}
    assert (response.status, response.json()) == (200, recorded)
    for credential in (cookie, key):
        made_one = await bound.post("/api/workspaces", {"name": "A"}, credential, FROM_HERE)
        assert made_one.status == 201
        assert await consent_of(bound, credential) == {"accepted": recorded, "required": None}


@pytest.mark.parametrize(
    "given",
    [
        {**CONSENT, "termsVersion": "1"},
        {**CONSENT, "termsVersion": None},
        {**CONSENT, "privacyVersion": ""},
        {"termsVersion": PRIVACY.version, "privacyVersion": TERMS.version},
    ],
)
async def test_other_versions_record_nothing(bound: UsersApi, given: dict[str, object]) -> None:
    _, cookie = await bound.account()
    await outdate(bound)
    before = await consent_of(bound, cookie)
    response = await accept(bound, given, cookie)
    assert (response.status, response.code) == (409, "consent_required")
    assert response.json()["required"] == REQUIRED
    assert await consent_of(bound, cookie) == before


async def test_repeated_consent_is_recorded_with_its_time(bound: UsersApi) -> None:
    _, cookie = await bound.account()
    bound.identity.sources.time += 60
    response = await accept(bound, CONSENT, cookie)
    assert response.json()["acceptedAt"] == "2027-01-15T08:01:00.000Z"


async def test_locked_account_that_owes_consent_is_locked_and_can_accept(bound: UsersApi) -> None:
    made, cookie = await bound.account()
    await outdate(bound)
    await bound.identity.set_state(made.account.account_id, "locked")
    refused = await bound.post("/api/workspaces", {"name": "A"}, cookie, FROM_HERE)
    assert refused.code == "account_locked"
    assert (await accept(bound, CONSENT, cookie)).status == 200


async def test_operator_needs_no_consent(bound: UsersApi) -> None:
    await bound.account()
    await outdate(bound)
    found = await bound.get(f"/api/operator/accounts?address={ADDRESS}", bearer(TOKEN))
    assert found.status == 200


@pytest.mark.parametrize(
    ("legal", "given", "due"),
    [
        (LegalTexts(TERMS), {"termsVersion": TERMS.version, "privacyVersion": None}, True),
        (LegalTexts(None, PRIVACY), {**CONSENT, "termsVersion": None}, True),
        (LegalTexts(), {"termsVersion": None, "privacyVersion": None}, False),
    ],
)
async def test_version_of_a_document_that_is_not_named_is_null(
    legal: LegalTexts, given: dict[str, object], due: bool
) -> None:
    store = open_inline()
    try:
        _, cookie = await api_with(IdentityFixture(store)).account()
        users = api_with(IdentityFixture(store, legal))
        assert (await users.get("/api/account", cookie)).json()["consent"]["accepted"] is None
        made = await users.post("/api/workspaces", {"name": "A"}, cookie, FROM_HERE)
        assert made.status == (409 if due else 201)
        assert (await accept(users, given, cookie)).status == 200
        made = await users.post("/api/workspaces", {"name": "A"}, cookie, FROM_HERE)
        assert made.status == 201
        # The documents are removed again: nothing is due.
        later = api_with(IdentityFixture(store))
        assert (await later.get("/api/account", cookie)).json()["consent"]["required"] is None
    finally:
        store.close()


async def test_consent_of_an_account_that_was_removed_meanwhile_is_not_recorded(
    bound: UsersApi,
) -> None:
    _, cookie = await bound.account()
    assert (await bound.get("/api/account", cookie)).status == 200
    await bound.identity.execute("DELETE FROM accounts")
    assert (await accept(bound, CONSENT, cookie)).code == "not_signed_in"

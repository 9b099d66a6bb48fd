"""Identity on PostgreSQL: its statements, and concurrent changes."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import trio
from octavo_rules.identity import AccountId
from octavo_rules.problems import Problem

from octavo.features.accounts.rules.refusal import (
    InvalidResetToken,
    InvitationUnusable,
    TooManyKeys,
)
from octavo.features.accounts.sql import accounts
from octavo.model.access.account import Address
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture
from tests.fakes.postgres_server import running_server
from tests.fakes.stores import open_postgres

ANN = Address("ann@example.org")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server() as server:
        yield server.url()


@pytest.fixture
async def identity(url: str) -> AsyncIterator[IdentityFixture]:
    async with open_postgres(url, random=random.Random(1).random) as store:
        made = IdentityFixture(store)
        for table in ("accounts", "invitations", "audit"):
            await made.execute(f"DELETE FROM {table}")
        yield made


async def refusals(*tasks: Callable[[], Awaitable[object]]) -> list[type[Problem]]:
    """Run all ``tasks`` concurrently; return what the refused ones raise."""
    found: list[type[Problem]] = []

    async def run(task: Callable[[], Awaitable[object]]) -> None:
        try:
            await task()
        except Problem as refusal:
            found.append(type(refusal))

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(run, task)
    return found


async def test_account_works_from_its_invitation_to_its_last_session(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    account_id = made.account.account_id
    found = await identity.own_account.read(account_id)
    assert found.account == made.account
    identity.sources.time = START + 90
    later = await identity.signing_in.sign_in(ANN, PASSWORD, "Safari", None)
    key, secret = await identity.own_keys.create(account_id, "a", None, remote_address=None)
    assert await identity.own_keys.list(account_id) == [key]
    assert await identity.credentials.of_key(secret.encode())
    assert await identity.credentials.of_session(made.token.encode())
    await identity.activity.flush()
    [used] = await identity.own_keys.list(account_id)
    assert used.used_at == (START + 90) * 1000
    newest, oldest = await identity.own_sessions.list(account_id, None, 10)
    assert (newest, oldest.active_at) == (later.session, (START + 90) * 1000)
    assert await identity.own_sessions.list(account_id, newest.session_id, 10) == [oldest]
    assert (
        await identity.own_sessions.end_others(account_id, newest.session_id, remote_address=None)
        == 1
    )
    await identity.signing_in.sign_out(later.token.encode(), remote_address=None)
    await identity.own_keys.revoke(account_id, key.key_id, remote_address=None)
    assert await identity.credentials.of_key(secret.encode()) is None
    assert await identity.credentials.of_session(later.token.encode()) is None


async def test_concurrent_registrations_with_one_invitation_create_one_account(
    identity: IdentityFixture,
) -> None:
    invitation = await identity.invite()

    def register(number: int) -> Callable[[], Awaitable[object]]:
        address = Address(f"a{number}@example.org")
        return lambda: identity.registration.register(invitation, address, PASSWORD, "A", "", None)

    assert await refusals(*map(register, range(4))) == [InvitationUnusable] * 3
    assert await identity.rows("SELECT COUNT(*) FROM accounts") == [(1,)]


async def test_concurrent_key_creation_stops_at_twenty_five(identity: IdentityFixture) -> None:
    account_id = (await identity.account()).account.account_id
    for _ in range(23):
        await identity.own_keys.create(account_id, "a", None, remote_address=None)

    def create() -> Awaitable[object]:
        return identity.own_keys.create(account_id, "a", None, remote_address=None)

    assert await refusals(*[create] * 4) == [TooManyKeys] * 2
    assert await identity.rows("SELECT COUNT(*) FROM api_keys") == [(25,)]


async def test_one_of_several_concurrent_uses_of_a_reset_token_wins(
    identity: IdentityFixture,
) -> None:
    await identity.account()
    token = await identity.reset_token()

    def use(password: str) -> Callable[[], Awaitable[object]]:
        return lambda: identity.password_reset.perform(token, password, remote_address=None)

    chosen = [f"daisies on the sun {number}" for number in range(4)]
    assert await refusals(*map(use, chosen)) == [InvalidResetToken] * 3
    changes = [entry for entry in identity.audited if entry.kind == "password_changed"]
    assert len(changes) == 1


async def test_names_of_accounts_are_found_by_their_ids(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    await identity.account("ben@example.org")
    names = accounts.display_names([ann, AccountId(identity.sources.new_id())])
    assert await identity.store.read(names) == {ann: "Ann"}

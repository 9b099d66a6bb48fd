"""Identity on PostgreSQL: its statements, and concurrent changes."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import trio

from octavo.model.accounts.address import Address
from octavo.model.accounts.refusal import InvitationUnusable, TooManyKeys
from octavo.model.refusal import DomainError
from octavo.store.postgres import open_postgres
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture
from tests.fakes.postgres_server import running_server

ANN = Address("ann@example.org")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server() as server:
        yield server.url()


@pytest.fixture
async def home(url: str) -> AsyncIterator[IdentityFixture]:
    async with open_postgres(url, random=random.Random(1).random) as store:
        made = IdentityFixture(store)
        for table in ("accounts", "invitations"):
            await made.execute(f"DELETE FROM {table}")
        yield made


async def refusals(*tasks: Callable[[], Awaitable[object]]) -> list[type[DomainError]]:
    """Run all ``tasks`` concurrently; return what the refused ones raise."""
    found: list[type[DomainError]] = []

    async def run(task: Callable[[], Awaitable[object]]) -> None:
        try:
            await task()
        except DomainError as refusal:
            found.append(type(refusal))

    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(run, task)
    return found


async def test_account_works_from_its_invitation_to_its_last_session(home: IdentityFixture) -> None:
    made = await home.account()
    account_id = made.account.account_id
    assert await home.own_account.read(account_id) == made.account
    home.chance.time = START + 90
    later = await home.signing_in.sign_in(ANN, PASSWORD, "Safari", None)
    key, secret = await home.own_keys.create(account_id, "a", None)
    assert await home.own_keys.list(account_id) == [key]
    assert await home.credentials.of_key(secret.encode())
    assert await home.credentials.of_session(made.token.encode())
    await home.activity.flush()
    [used] = await home.own_keys.list(account_id)
    assert used.used_at == (START + 90) * 1000
    newest, oldest = await home.own_sessions.list(account_id, None, 10)
    assert (newest, oldest.active_at) == (later.session, (START + 90) * 1000)
    assert await home.own_sessions.list(account_id, newest.session_id, 10) == [oldest]
    assert await home.own_sessions.end_others(account_id, newest.session_id) == 1
    await home.signing_in.sign_out(later.token.encode())
    await home.own_keys.revoke(account_id, key.key_id)
    assert await home.credentials.of_key(secret.encode()) is None
    assert await home.credentials.of_session(later.token.encode()) is None


async def test_concurrent_registrations_with_one_invitation_create_one_account(
    home: IdentityFixture,
) -> None:
    invitation = await home.invite()

    def register(number: int) -> Callable[[], Awaitable[object]]:
        address = Address(f"a{number}@example.org")
        return lambda: home.registration.register(invitation, address, PASSWORD, "A", "", None)

    assert await refusals(*map(register, range(4))) == [InvitationUnusable] * 3
    assert await home.rows("SELECT COUNT(*) FROM accounts") == [(1,)]


async def test_concurrent_key_creation_stops_at_twenty_five(home: IdentityFixture) -> None:
    account_id = (await home.account()).account.account_id
    for _ in range(23):
        await home.own_keys.create(account_id, "a", None)

    def create() -> Awaitable[object]:
        return home.own_keys.create(account_id, "a", None)

    assert await refusals(*[create] * 4) == [TooManyKeys] * 2
    assert await home.rows("SELECT COUNT(*) FROM api_keys") == [(25,)]

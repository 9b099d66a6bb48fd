"""Signing in while the account changes."""

from collections import Counter
from functools import partial

import pytest
import trio
from octavo_rules.identity import AccountId

from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.device_token import KnownDevice
from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.model.access.account import Address, TooManyAttempts
from tests.fakes.identity_fixture import (
    CHEAP,
    PASSWORD,
    IdentityFixture,
    hash_inline,
    identity_fixture,
)

ANN = Address("ann@example.org")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET password = 'another'",
        "UPDATE accounts SET state = 'disabled'",
        "DELETE FROM accounts",
    ],
)
async def test_sign_in_while_the_account_changes_is_refused(
    identity: IdentityFixture, change: str
) -> None:
    await identity.account()
    await identity.execute("DELETE FROM sessions")
    verify = identity.passwords.verify

    async def change_behind(
        password: str,
        encoded: str | None,
        *,
        known: AccountId | None = None,
        placed: bool = False,
    ) -> bool:
        matches = await verify(password, encoded, known=known, placed=placed)
        await identity.execute(change)
        return matches

    identity.passwords.verify = change_behind  # type: ignore[method-assign]
    with pytest.raises(InvalidCredentials):
        await identity.signing_in.sign_in(ANN, PASSWORD, "", None)
    assert await identity.rows("SELECT 1 FROM sessions") == []


async def test_sign_in_counts_attempts_for_an_unknown_address(identity: IdentityFixture) -> None:
    for _ in range(10):
        with pytest.raises(InvalidCredentials):
            await identity.signing_in.sign_in(ANN, PASSWORD, "", None)
    with pytest.raises(TooManyAttempts):
        await identity.signing_in.sign_in(ANN, PASSWORD, "", None)


async def test_sign_in_to_an_unknown_address_still_verifies_a_password(
    identity: IdentityFixture,
) -> None:
    asked: list[str | None] = []
    verify = identity.passwords.verify

    async def listened(
        password: str,
        encoded: str | None,
        *,
        known: AccountId | None = None,
        placed: bool = False,
    ) -> bool:
        asked.append(encoded)
        return await verify(password, encoded, known=known, placed=placed)

    identity.passwords.verify = listened  # type: ignore[method-assign]
    with pytest.raises(InvalidCredentials):
        await identity.signing_in.sign_in(ANN, PASSWORD, "", None)
    assert asked == [None]


async def test_sign_in_cancelled_before_its_commit_began_no_session() -> None:
    async def wait(point: str) -> None:
        if point == "store.before_commit" and signing_in.is_set():
            reached.set()
            await trio.sleep_forever()

    signing_in, reached = trio.Event(), trio.Event()
    with identity_fixture(wait) as identity:
        await identity.account()
        signing_in.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(identity.signing_in.sign_in, ANN, PASSWORD, "", None)
            await reached.wait()
            nursery.cancel_scope.cancel(reason="the client left")
        assert len(await identity.rows("SELECT 1 FROM sessions")) == 1


async def test_ended_session_whose_response_was_lost_is_looked_up_again() -> None:
    async def wait(point: str) -> None:
        if point == "store.after_commit" and ending.is_set():
            reached.set()
            await trio.sleep_forever()

    ending, reached = trio.Event(), trio.Event()
    with identity_fixture(wait) as identity:
        made = await identity.account()
        token = made.token.encode()
        assert await identity.credentials.of_session(token)
        ending.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(identity.signing_in.sign_out, token, remote_address=None))
            await reached.wait()
            nursery.cancel_scope.cancel(reason="the client left")
        assert await identity.credentials.of_session(token) is None


@pytest.mark.parametrize("recognized", [True, False])
async def test_concurrent_sign_ins_that_find_no_place_cost_no_attempt(
    identity: IdentityFixture, recognized: bool
) -> None:
    made = await identity.account()
    known = KnownDevice(bytes(16), made.account.account_id) if recognized else None
    identity.signing_in._passwords = Passwords(
        new_entropy=identity.sources.new_entropy,
        cost=CHEAP,
        run=hash_inline,
        at_once=1,
        waiting=1,
    )
    outcomes: Counter[str] = Counter()

    async def sign_in(password: str) -> None:
        try:
            await identity.signing_in.sign_in(ANN, password, "", None, known=known)
        except (InvalidCredentials, TooManyAttempts) as refusal:
            outcomes[refusal.code] += 1
        else:
            outcomes["signed in"] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(sign_in, "not this one")
    assert outcomes == {InvalidCredentials.code: 2, TooManyAttempts.code: 28}
    for _ in range(8):
        await sign_in(PASSWORD)
    assert outcomes["signed in"] == 8
    await sign_in(PASSWORD)
    assert outcomes["signed in"] == 8

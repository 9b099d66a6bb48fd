"""Whoever holds something of an account in memory learns of its removal, however that went."""

import pytest
import trio

from octavo.model.access.account import AccountGone
from octavo.store import StoreUnavailable
from tests.fakes.identity_fixture import PASSWORD, IdentityFixture

CLIENT = "192.0.2.7"


async def test_removal_that_seems_to_fail_is_told_as_it_may_have_been_committed(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    identity.store.fail = StoreUnavailable("gone", outcome_unknown=True)
    identity.store.commits_anyway = True
    with pytest.raises(StoreUnavailable):
        await identity.remove_own(made.account.account_id, PASSWORD, remote_address=CLIENT)
    assert len(identity.removals) == 1
    with pytest.raises(AccountGone):
        await identity.remove_own(made.account.account_id, PASSWORD, remote_address=CLIENT)
    assert len(identity.removals) == 1


async def test_removal_that_is_cancelled_is_committed_before_it_is_told(
    identity: IdentityFixture,
) -> None:
    made = await identity.account()
    with trio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()
            await trio.lowlevel.checkpoint()

        identity.store.before_write = cancel
        await identity.remove_own(made.account.account_id, PASSWORD, remote_address=CLIENT)
    assert len(identity.removals) == 1
    with pytest.raises(AccountGone):
        await identity.remove_own(made.account.account_id, PASSWORD, remote_address=CLIENT)


async def test_account_that_is_removed_meanwhile_is_gone(identity: IdentityFixture) -> None:
    account_id = (await identity.account()).account.account_id
    proof = await identity.own_password.prove(account_id, PASSWORD, "a", remote_address=CLIENT)
    await identity.removal.remove_own(account_id, proof.encoded)
    with pytest.raises(AccountGone):
        await identity.removal.remove_own(account_id, proof.encoded)

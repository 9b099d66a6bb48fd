"""Whoever holds something of an account in memory learns of its removal, however that went."""

from random import Random

import pytest
import trio
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.members.sql import members
from octavo.model.access.account import AccountGone
from octavo.store import StoreUnavailable
from octavo.store.queries import workspaces
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from octavo.store.transaction import Script
from tests.fakes.identity_fixture import PASSWORD, IdentityFixture
from tests.fakes.stores import open_postgres

CLIENT = "192.0.2.7"
HERE = WorkspaceId("01900000-0000-7000-8000-00000000aaaa")


def joined(account_id: AccountId) -> Script[object]:
    """Make an editor of an account."""
    return lambda transaction: members.join(transaction, HERE, account_id, "editor", 1)


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


async def test_removal_ends_with_the_password_that_was_proven(identity: IdentityFixture) -> None:
    made = await identity.account()
    account_id = made.account.account_id
    proof = await identity.own_password.prove(account_id, PASSWORD, "a", remote_address=CLIENT)
    await identity.own_password.change(
        account_id,
        PASSWORD,
        "daisies on the sun",
        session=made.session.session_id,
        end_others=False,
        remote_address=CLIENT,
    )
    with pytest.raises(AccountGone):
        await identity.removal.remove_own(account_id, proof.encoded)
    assert await identity.rows("SELECT id FROM accounts") == [(account_id,)]


async def test_workspaces_of_others_stay_as_they_are(identity: IdentityFixture) -> None:
    ann, ben, cleo = [
        (await identity.account(f"{name}@example.org")).account.account_id
        for name in ("ann", "ben", "cleo")
    ]
    await identity.store.write(workspaces.create(HERE, "Notes", ann, 0))
    for who in (ben, cleo):
        await identity.store.write(joined(who))
    # Nobody who owns it can act, which makes no owner of somebody else when an editor goes.
    await identity.set_state(ann, "disabled")
    await identity.remove_own(ben, PASSWORD, remote_address=CLIENT)
    rows = await identity.rows("SELECT account_id, role FROM members ORDER BY joined_at")
    assert rows == [(ann, "owner"), (cleo, "editor")]


async def test_other_processes_learn_of_the_removal_and_of_the_new_owner(
    postgres_url: str,
) -> None:
    async with open_postgres(postgres_url, random=Random(1).random) as store:
        identity = IdentityFixture(store)
        ann, ben = [
            (await identity.account(f"{name}@example.org")).account.account_id
            for name in ("ann", "ben")
        ]
        await store.write(workspaces.create(HERE, "Notes", ann, 0))
        await store.write(joined(ben))
        async with store.listen(CHANNEL) as messages:
            await identity.remove_own(ann, PASSWORD, remote_address=CLIENT)
            with trio.fail_after(10):
                heard = [await anext(messages) for _ in range(2)]
        assert {read_notice(each) for each in heard if isinstance(each, str)} == {
            AccessNotice(ann),
            AccessNotice(ben),
        }
    assert identity.audited[-1].subject == ben
    assert identity.audited[-1].detail == {"workspaceId": HERE, "role": "owner"}

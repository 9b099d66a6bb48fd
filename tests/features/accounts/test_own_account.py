"""What an account does for itself, also when it was disabled a moment ago."""

import pytest

from octavo.features.accounts.password_reset import create_reset_token
from octavo.features.accounts.rules.refusal import InvalidCredentials
from octavo.model.access.account import AccountGone, Address
from tests.fakes.identity_fixture import PASSWORD, IdentityFixture


async def test_disabled_account_is_neither_shown_nor_proven(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    await identity.set_state(ann, "disabled")
    with pytest.raises(AccountGone):
        await identity.own_account.read(ann)
    with pytest.raises(AccountGone):
        await identity.own_password.prove(ann, PASSWORD, "changePassword", remote_address=None)


async def test_wrong_password_is_recorded_with_what_it_was_for(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    with pytest.raises(InvalidCredentials):
        await identity.own_password.prove(
            ann, "not the password", "removeOwnAccount", remote_address="192.0.2.7"
        )
    await identity.audit.refused.flush()
    refused = identity.audited[-1]
    assert (refused.outcome, refused.subject) == ("refused", ann)
    assert "removeOwnAccount" in refused.detail.values()


async def test_refused_sign_in_of_a_disabled_account_is_recorded(
    identity: IdentityFixture,
) -> None:
    ann = (await identity.account()).account.account_id
    await identity.set_state(ann, "disabled")
    with pytest.raises(InvalidCredentials):
        await identity.signing_in.sign_in(Address("ann@example.org"), PASSWORD, "", "192.0.2.7")
    await identity.audit.refused.flush()
    refused = identity.audited[-1]
    assert (refused.outcome, refused.subject) == ("refused", ann)
    assert "signInWithPassword" in refused.detail.values()


async def test_command_makes_no_token_for_a_disabled_account(identity: IdentityFixture) -> None:
    ann = (await identity.account()).account.account_id
    await identity.set_state(ann, "disabled")
    before = len(identity.audited)
    account, token = await create_reset_token(
        identity.audit,
        Address("ann@example.org"),
        now=identity.sources.now,
        new_token=identity.sources.new_entropy,
    )
    assert (account.account_id, token) == (ann, None)
    assert await identity.rows("SELECT digest FROM password_resets") == []
    assert identity.audited[before:] == []

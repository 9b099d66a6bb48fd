"""Invitations from the command line, and the first start."""

import pytest

from octavo.features.accounts.rules.refusal import InvitationUnusable
from octavo.features.members.invitations import FIRST_INVITATION_LASTS, has_accounts, invite
from octavo.model.access.account import Address
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture


async def test_installation_without_accounts_has_none_until_one_is_created(
    identity: IdentityFixture,
) -> None:
    assert not await has_accounts(identity.store)
    await identity.account()
    assert await has_accounts(identity.store)


async def test_invitation_of_the_first_start_creates_an_administrator(
    identity: IdentityFixture,
) -> None:
    sources = identity.sources
    token = await invite(
        identity.audit,
        now=sources.now,
        new_id=sources.new_id,
        new_token=sources.new_entropy,
        role="administrator",
        address=None,
        expires_in=FIRST_INVITATION_LASTS,
    )
    identity.sources.time = START + 3_599.9
    made = await identity.registration.register(
        token, Address("ann@example.org"), PASSWORD, "Ann", "", None
    )
    assert (made.account.role, made.account.state) == ("administrator", "enabled")


async def test_invitation_of_the_first_start_lasts_an_hour(identity: IdentityFixture) -> None:
    token = await identity.invite(role="administrator", expires_in=FIRST_INVITATION_LASTS)
    identity.sources.time = START + 3_600
    with pytest.raises(InvitationUnusable):
        await identity.registration.register(
            token, Address("ann@example.org"), PASSWORD, "Ann", "", None
        )


async def test_invitation_is_stored_without_its_token(identity: IdentityFixture) -> None:
    token = await identity.invite()
    assert token not in repr(await identity.rows("SELECT * FROM invitations"))

"""Invitations from the command line, and the first start."""

import pytest

from octavo.accounts.invitations import FIRST_INVITATION_LASTS, has_accounts, invite
from octavo.model.accounts.address import Address
from octavo.model.accounts.refusal import InvitationUnusable
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture


async def test_installation_without_accounts_has_none_until_one_is_created(
    home: IdentityFixture,
) -> None:
    assert not await has_accounts(home.store)
    await home.account()
    assert await has_accounts(home.store)


async def test_invitation_of_the_first_start_creates_an_administrator(
    home: IdentityFixture,
) -> None:
    chance = home.chance
    token = await invite(
        home.store,
        now=chance.now,
        new_id=chance.new_id,
        new_token=chance.new_entropy,
        role="administrator",
        address=None,
        expires_in=FIRST_INVITATION_LASTS,
    )
    home.chance.time = START + 3_599.9
    made = await home.registration.register(
        token, Address("ann@example.org"), PASSWORD, "Ann", "", None
    )
    assert (made.account.role, made.account.state) == ("administrator", "enabled")


async def test_invitation_of_the_first_start_lasts_an_hour(home: IdentityFixture) -> None:
    token = await home.invite(role="administrator", expires_in=FIRST_INVITATION_LASTS)
    home.chance.time = START + 3_600
    with pytest.raises(InvitationUnusable):
        await home.registration.register(
            token, Address("ann@example.org"), PASSWORD, "Ann", "", None
        )


async def test_invitation_is_stored_without_its_token(home: IdentityFixture) -> None:
    token = await home.invite()
    assert token not in repr(await home.rows("SELECT * FROM invitations"))

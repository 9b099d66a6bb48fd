"""Invitations from the command line, and the first start."""

import pytest

from octavo.features.accounts.rules.refusal import InvitationUnusable
from octavo.features.members.invitations_of_terminal import FIRST_INVITATION_LASTS, first_invitation
from octavo.model.access.account import Address
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture


async def test_first_invitation_is_made_only_without_accounts(identity: IdentityFixture) -> None:
    assert await first_invitation(identity.store, identity.audit) is not None
    await identity.account()
    assert await first_invitation(identity.store, identity.audit) is None


async def test_invitation_of_the_first_start_creates_an_administrator(
    identity: IdentityFixture,
) -> None:
    token = await identity.invite(role="administrator", expires_in=FIRST_INVITATION_LASTS)
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

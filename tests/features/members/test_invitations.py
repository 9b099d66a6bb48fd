"""Invitations from the command line, and the first start; what they prove, and when they end."""

import pytest
from octavo_rules.identity import WorkspaceId

from octavo.features.accounts.rules.refusal import InvitationUnusable
from octavo.features.members.invitations import Invitations
from octavo.features.members.invitations_of_terminal import FIRST_INVITATION_LASTS, first_invitation
from octavo.model.access.account import AccountGone, Address
from octavo.store.queries import workspaces
from tests.fakes.identity_fixture import PASSWORD, START, IdentityFixture

HERE = WorkspaceId("01900000-0000-7000-8000-00000000b001")


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


@pytest.mark.parametrize(("address", "proven"), [(None, 0), ("ann@example.org", 1)])
async def test_invitation_that_names_the_address_proves_it(
    identity: IdentityFixture, address: str | None, proven: int
) -> None:
    await identity.registration.register(
        await identity.invite(address=address),
        Address("ann@example.org"),
        PASSWORD,
        "Ann",
        "",
        None,
    )
    [row] = await identity.rows("SELECT address_proven FROM accounts")
    assert row[0] == proven


@pytest.fixture
def invitations(identity: IdentityFixture) -> Invitations:
    sources = identity.sources
    return Invitations(
        identity.store,
        identity.attempts,
        audit=identity.audit,
        now=sources.now,
        new_id=sources.new_id,
        new_token=sources.new_entropy,
    )


async def test_account_that_the_operator_locked_joins_no_workspace(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    await identity.store.write(workspaces.create(HERE, "A", ann, 0))
    _, token = await invitations.create(None, workspace_id=HERE, workspace_role="editor")
    await identity.execute("UPDATE accounts SET controls_locked = 1 WHERE id = $1::uuid", ben)
    with pytest.raises(AccountGone):
        await invitations.accept(ben, token, remote_address=None)
    await identity.execute("UPDATE accounts SET controls_locked = 0")
    assert await invitations.accept(ben, token, remote_address=None) == HERE


async def test_invitation_that_was_used_is_not_revoked(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    made, token = await invitations.create(None)
    signed_in = await identity.registration.register(
        token, Address("ann@example.org"), PASSWORD, "Ann", "", None
    )
    ann = signed_in.account.account_id
    await invitations.revoke(made.invitation_id, None, actor=ann, remote_address=None)
    assert [entry.kind for entry in identity.audited] == [
        "invitation_created",
        "account_registered",
    ]

"""Invitations from the command line, and the first start; what they prove, and when they end."""

from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from random import Random
from typing import ParamSpec, TypeVar

import pytest
import trio
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.attempts import GRANTS, RATES
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.refusal import AddressTaken, InvitationUnusable
from octavo.features.members.invitations import Invitations
from octavo.features.members.invitations_of_terminal import FIRST_INVITATION_LASTS, first_invitation
from octavo.features.members.members import Members
from octavo.features.members.rules import (
    INVITATION_SECONDS,
    MAX_OPEN,
    MAX_OPEN_OF_WORKSPACE,
    InvitedInto,
    Prerequisites,
)
from octavo.features.members.sql import members
from octavo.features.members.sql.invitations import accept, register_openly
from octavo.model.access.account import AccountGone, Address, SessionId, TooManyAttempts
from octavo.model.access.token import digest_of
from octavo.model.workspace import MAX_OWNED
from octavo.store.queries import workspaces
from octavo.store.queries.process_notices import CHANNEL, AccessNotice, read_notice
from tests.fakes.identity_fixture import (
    CHEAP,
    PASSWORD,
    START,
    IdentityFixture,
    PredictableSources,
    hash_inline,
    identity_fixture,
)
from tests.fakes.stores import open_inline, open_postgres
from tests.project.source import ROOT

P = ParamSpec("P")
T = TypeVar("T")
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


async def test_people_may_create_only_so_many_invitations(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account()).account.account_id
    rate = RATES[GRANTS].account
    assert rate is not None
    for _ in range(rate.count):
        identity.attempts.admit_account(GRANTS, ann)
    with pytest.raises(TooManyAttempts):
        await invitations.create(ann, role="member")
    # The server and commands are not counted.
    for _ in range(2):
        await invitations.create(None, role="member")


async def test_invitation_is_recorded_with_who_invites(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account(role="administrator")).account.account_id
    await invitations.create(ann, role="member", remote_address="192.0.2.7")
    await invitations.create(None, role="member")
    made = [entry for entry in identity.audited if entry.kind == "invitation_created"]
    assert [entry.actor for entry in made[-2:]] == [ann, "system"]


async def test_disabled_account_joins_no_workspace(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    await identity.store.write(workspaces.create(HERE, "Notes", ann, 0))
    _, token = await invitations.create(ann, workspace_id=HERE, workspace_role="reader")
    await identity.set_state(ben, "disabled")
    with pytest.raises(AccountGone):
        await invitations.accept(ben, token, remote_address=None)
    assert await identity.rows("SELECT role FROM members") == [("owner",)]


async def test_only_an_open_invitation_shows_who_invites(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    registration = identity.registration
    ann = (await identity.account()).account.account_id
    await identity.store.write(workspaces.create(HERE, "Notes", ann, 0))
    _, token = await invitations.create(ann, workspace_id=HERE, workspace_role="reader")
    to_installation = await identity.invite()
    assert await registration.invited_into(token) == InvitedInto("Ann", HERE, "Notes", "reader")
    assert await registration.opens(token)
    for other in (to_installation, "unknown"):
        assert await registration.invited_into(other) is None
    assert not await registration.opens("unknown")
    identity.sources.time += INVITATION_SECONDS
    assert await registration.invited_into(token) is None
    assert not await registration.opens(token)


@pytest.mark.parametrize("why", ["unknown", "for another", "expired", "closed", "taken"])
async def test_refused_registration_costs_no_hash(why: str) -> None:
    hashed: list[str] = []

    async def noted(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        hashed.append(function.__name__)
        return await hash_inline(function, *arguments, **named)

    sources = PredictableSources()
    passwords = Passwords(new_entropy=sources.new_entropy, cost=CHEAP, run=noted)
    with closing(open_inline()) as store:
        made = IdentityFixture(store, sources=sources, passwords=passwords)
        await made.account()
        token: str | None = await made.invite(address="ben@example.org")
        address = Address("ben@example.org")
        match why:
            case "unknown":
                token = "unknown"
            case "for another":
                address = Address("eve@example.org")
            case "expired":
                sources.time += 3600
            case "closed":
                token = None
            case _:
                token, address = await made.invite(), Address("ann@example.org")
        before = len(hashed)
        with pytest.raises(AddressTaken if why == "taken" else InvitationUnusable):
            await made.registration.register(token, address, PASSWORD, "Ben", "", None)
        assert len(hashed) == before > 0


async def states(identity: IdentityFixture) -> list[tuple[int | None, int | None]]:
    """When each invitation was used and revoked, the oldest first."""
    rows = await identity.rows("SELECT used_at, revoked_at FROM invitations ORDER BY id")
    return [(row[0], row[1]) for row in rows]


async def test_one_invitation_is_revoked_once(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account(role="administrator")).account.account_id
    [used] = await states(identity)
    made = [(await invitations.create(ann, role="member"))[0] for _ in range(3)]
    times = []
    for _ in range(2):
        await invitations.revoke(made[1].invitation_id, None, actor=ann, remote_address=None)
        times.append(int(identity.sources.time * 1000))
        identity.sources.time += 1
    assert await states(identity) == [used, (None, None), (None, times[0]), (None, None)]
    [entry] = [entry for entry in identity.audited if entry.kind == "invitation_revoked"]
    assert (entry.actor, entry.subject) == (ann, made[1].invitation_id)
    assert await invitations.list(None, None, 2) == [
        made[2],
        replace(made[1], revoked_at=times[0]),
    ]


async def test_first_account_ends_the_invitations_of_other_starts(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ended, _ = await invitations.create(None, role="administrator", of_start=True)
    await identity.execute("UPDATE invitations SET revoked_at = 7")
    for of_start in (True, False, True):
        _, token = await invitations.create(None, role="administrator", of_start=of_start)
    await identity.registration.register(
        token, Address("ann@example.org"), PASSWORD, "Ann", "", None
    )
    now = int(identity.sources.time * 1000)
    assert await states(identity) == [(None, 7), (None, now), (None, None), (now, None)]
    assert ended.of_start


async def test_account_that_was_removed_meanwhile_joins_no_workspace(
    identity: IdentityFixture, invitations: Invitations
) -> None:
    ann = (await identity.account()).account.account_id
    await identity.store.write(workspaces.create(HERE, "Notes", ann, 0))
    _, token = await invitations.create(ann, workspace_id=HERE, workspace_role="reader")
    accepts = accept(
        digest_of(token.encode()),
        AccountId("01900000-0000-7000-8000-00000000dead"),
        Address("ben@example.org"),
        int(identity.sources.time * 1000),
    )
    with pytest.raises(AccountGone):
        await identity.store.write(accepts)
    assert await identity.registration.opens(token)


@pytest.mark.parametrize("ends", ["demoted", "removed"])
async def test_invitation_does_not_come_back_with_the_right_to_invite(
    identity: IdentityFixture, invitations: Invitations, ends: str
) -> None:
    ann = (await identity.account()).account.account_id
    ben = (await identity.account("ben@example.org")).account.account_id
    write = identity.store.write
    await write(workspaces.create(HERE, "Notes", ann, 0))
    await write(lambda transaction: members.join(transaction, HERE, ben, "administrator", 1))
    invite = partial(invitations.create, workspace_id=HERE, workspace_role="reader")
    _, of_ben = await invite(ben)
    _, of_ann = await invite(ann)
    await write(members.change(HERE, ann, ben, "administrator", 2))
    assert await identity.registration.opens(of_ben)
    if ends == "demoted":
        await write(members.change(HERE, ann, ben, "editor", 3))
        await write(members.change(HERE, ann, ben, "administrator", 4))
    else:
        await write(members.remove(HERE, ann, ben, 3))
        await write(lambda transaction: members.join(transaction, HERE, ben, "administrator", 4))
    assert not await identity.registration.opens(of_ben)
    assert await identity.registration.opens(of_ann)
    assert (await states(identity))[-2:] == [(None, 3), (None, None)]


async def test_open_registration_proves_no_address_and_takes_none_away() -> None:
    with identity_fixture(
        prerequisites=Prerequisites(mail_transport=True, legal_documents=True)
    ) as made:
        await made.execute("UPDATE installation SET registration_policy = 'open'")
        register = partial(made.registration.register, None, display_name="Ann", device="")
        address = Address("ann@example.org")
        await register(address, PASSWORD, remote_address=None)
        assert await made.rows("SELECT address_proven FROM accounts") == [(0,)]
        with pytest.raises(AddressTaken):
            await register(address, PASSWORD, remote_address=None)


async def test_other_processes_are_notified_of_each_change_of_a_membership(
    postgres_url: str,
) -> None:
    async with open_postgres(postgres_url, random=Random(1).random) as store:
        made = IdentityFixture(store)
        ann = (await made.account()).account.account_id
        ben = (await made.account("ben@example.org")).account.account_id
        await store.write(workspaces.create(HERE, "Notes", ann, 0))
        of_workspace = Members(store, audit=made.audit, now=made.sources.now)
        changes: list[Callable[[], Awaitable[object]]] = [
            lambda: store.write(lambda each: members.join(each, HERE, ben, "reader", 1)),
            partial(of_workspace.change, HERE, ann, ben, "editor", remote_address=None),
            partial(of_workspace.remove, HERE, ann, ben, remote_address=None),
        ]
        async with store.listen(CHANNEL) as messages:
            for change in changes:
                await change()
                with trio.fail_after(10):
                    heard = await anext(messages)
                assert isinstance(heard, str)
                assert read_notice(heard) == AccessNotice(ben)


async def test_address_that_is_taken_meanwhile_is_refused_by_the_transaction(
    identity: IdentityFixture,
) -> None:
    await identity.execute("UPDATE installation SET registration_policy = 'open'")
    signed_in = await identity.account()
    other = replace(signed_in.account, account_id=AccountId("01900000-0000-7000-8000-00000000dead"))
    session = replace(
        signed_in.session,
        session_id=SessionId("01900000-0000-7000-8000-00000000beef"),
        account_id=other.account_id,
    )
    ready = Prerequisites(mail_transport=True, legal_documents=True)
    with pytest.raises(AddressTaken):
        await identity.store.write(register_openly(ready, other, "encoded", session, bytes(32)))
    assert len(await identity.rows("SELECT 1 FROM accounts")) == 1


def test_page_on_accounts_says_what_is_limited() -> None:
    page = (ROOT / "docs/accounts.md").read_text()
    assert (
        f"At most {MAX_OPEN_OF_WORKSPACE} invitations into a workspace and {MAX_OPEN:,} to the "
        "installation may be open"
    ) in page
    assert f"An account that owns {MAX_OWNED:,} workspaces makes no more" in page

"""What people do to each other: invitations, memberships, decisions and removals."""

from random import Random

import trio

from octavo.features.accounts.rules.decisions import ControlsChange, DecisionsChange
from octavo.features.members.rules import InvitationId
from octavo.model.workspace import ROLES
from tests.features.accounts.simulation.account_acts import new_password, of_kind, ready
from tests.features.accounts.simulation.process import IdentityProcess
from tests.features.accounts.simulation.town import CELLAR, GARDEN, WORKSPACES, Person, Town

HOMES = {"eve": GARDEN, "tom": GARDEN, "ann": CELLAR, "kim": CELLAR}
"""The workspace that each mostly invites into; the others invite to the installation."""


async def invite(town: Town, person: Person, random: Random) -> None:
    """Invite somebody to the installation or into a workspace; anybody may use it."""
    home = HOMES.get(person.name)
    workspace = random.choice([None, home, home, *WORKSPACES])
    role = None if workspace is None else random.choice(ROLES)

    async def act(process: IdentityProcess, remote_address: str) -> None:
        invitation, token = await process.invitations.create(
            ready(person),
            remote_address=remote_address,
            workspace_id=workspace,
            workspace_role=role,
        )
        town.invitations.append((token, invitation.invitation_id))

    await town.deeds.attempt(random, "invite", ("invitation_created",), act)


async def register(town: Town, person: Person, random: Random) -> None:
    """Register with an invitation that others may use as well."""
    if not town.invitations:
        return
    token, _ = random.choice(town.invitations[-3:])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await town.register(process, person, token, new_password(random), remote_address)

    await town.deeds.attempt(random, "register", ("account_registered",), act, once=token)


async def accept(town: Town, person: Person, random: Random) -> None:
    """Join a workspace with an invitation that others may use as well."""
    if not town.invitations:
        return
    token, _ = random.choice(town.invitations[-4:])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.invitations.accept(ready(person), token, remote_address=remote_address)

    await town.deeds.attempt(random, "accept", ("invitation_accepted",), act, once=token)


async def withdraw(town: Town, person: Person, random: Random) -> None:
    """Revoke an invitation, which is recorded unless it was used or revoked before."""
    if not town.invitations:
        return
    _, invitation_id = random.choice(town.invitations)

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.invitations.revoke(
            InvitationId(invitation_id), None, actor=ready(person), remote_address=remote_address
        )

    await town.deeds.attempt(random, "withdraw", ("invitation_revoked",), act, silent=True)


async def change_role(town: Town, person: Person, random: Random) -> None:
    """Give a member another role, perhaps oneself, as for handing over a workspace."""
    workspace, other = random.choice(WORKSPACES), town.other(random)
    role = random.choice(["owner", *ROLES])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.members.change(
            workspace, ready(person), ready(other), role, remote_address=remote_address
        )

    await town.deeds.attempt(random, "change role", ("member_changed",), act)


async def leave(town: Town, person: Person, random: Random) -> None:
    """Leave a workspace, or remove another member."""
    workspace, other = random.choice(WORKSPACES), random.choice([person, town.other(random)])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        await process.members.remove(
            workspace, ready(person), ready(other), remote_address=remote_address
        )

    await town.deeds.attempt(random, "leave", ("member_removed",), act)


async def decide(town: Town, person: Person, random: Random) -> None:
    """Change the role or the state of an account, often of an administrator."""
    other = random.choice([person, town.people["ann"], town.people["ben"], town.other(random)])
    change = random.choice(
        [
            *[DecisionsChange(role="member")] * 2,
            *[DecisionsChange(role="administrator")] * 2,
            DecisionsChange(state="locked"),
            DecisionsChange(state="disabled"),
            *[DecisionsChange(state="enabled")] * 3,
        ]
    )
    sessions = of_kind(other, "session") if change.state == "disabled" else []

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await process.identity.administration.decide(
            ready(other), change, actor=ready(person), remote_address=remote_address
        )
        return True

    if await town.deeds.attempt(random, "decide", ("account_changed",), act):
        if change.state == "disabled":
            await town.deeds.check_disabled(ready(other), of_kind(other, "token")[-3:])
        await town.deeds.end(sessions, "the account was disabled")


async def control(town: Town, person: Person, random: Random) -> None:
    """Change the controls of an account as the operator, based on the revision that was read."""
    other, locked = town.other(random), random.random() < 0.4
    # Somebody else may decide meanwhile.
    thinking = random.choice([0.0, 0.1, 0.6])

    async def act(process: IdentityProcess, remote_address: str) -> None:
        administration = process.identity.administration
        revision = (await administration.read(ready(other))).decisions.controls.revision
        await trio.sleep(thinking)
        await administration.decide(
            ready(other),
            DecisionsChange(controls=ControlsChange(revision, locked)),
            actor="operator",
            remote_address=remote_address,
        )

    await town.deeds.attempt(random, "control", ("controls_changed",), act)


async def remove(town: Town, person: Person, random: Random) -> None:
    """Remove an account as an administrator or as the operator."""
    other, by_operator = town.other(random), random.random() < 0.3
    account_id, held = ready(other), [*other.credentials]

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        removal = process.identity.removal
        if by_operator:
            await removal.remove_by_operator(account_id, remote_address=remote_address)
        else:
            await removal.remove(account_id, actor=ready(person), remote_address=remote_address)
        return True

    if await town.deeds.attempt(random, "remove", ("account_removed",), act):
        await town.deeds.end(held, "the account was removed")


async def remove_own(town: Town, person: Person, random: Random) -> None:
    """Remove the own account."""
    account_id, held = ready(person), [*person.credentials]

    async def act(process: IdentityProcess, remote_address: str) -> bool:
        await process.identity.remove_own(
            account_id, person.passwords[-1], remote_address=remote_address
        )
        return True

    mark = f"{account_id} itself"
    if await town.deeds.attempt(random, "remove own", ("account_removed",), act, mark=mark):
        await town.deeds.end(held, "the account was removed")

"""What people do in a run of access: they write, change who may see what, and look."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

import trio
from greenroom.testing import note
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, MutationId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.access.ports import milliseconds
from octavo.actors.workspace.messages import ChangesetRefused, NoWorkspace, Push
from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.rules.session import Session
from octavo.features.accounts.sql import sessions
from octavo.model.access.account import KeyId, SessionId
from octavo.model.access.token import digest_of, opaque_token
from octavo.model.files.changeset import Changeset, CreateFile, fingerprint
from octavo.model.workspace import ROLES
from octavo.store import Transaction
from octavo.store.queries import workspaces
from tests.fakes.identity_fixture import START
from tests.features.accounts.simulation.process import Sources
from tests.simulation.access_process import AccessProcess
from tests.simulation.asking import Asking, NothingDone, Unsettled

GARDEN, CELLAR, ATTIC = WORKSPACES = tuple(
    WorkspaceId(f"01900000-0000-7000-8f00-{n:012x}") for n in (1, 2, 3)
)
NAMES = ("ann", "ben", "eve", "tom")
FIRST_MEMBERS = {
    GARDEN: {"ann": "administrator", "eve": "owner", "tom": "editor"},
    CELLAR: {"ann": "owner", "ben": "reader", "eve": "editor"},
    ATTIC: {"tom": "owner", "eve": "reader"},
}
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Held:
    """A session or a key that a person has."""

    kind: str
    credential_id: str
    secret: str
    expires_at: float = NEVER


@dataclass(slots=True)
class Somebody:
    """A person with an account and credentials."""

    name: str
    account_id: AccountId
    held: list[Held] = field(default_factory=list)


@dataclass(slots=True)
class Done:
    """A change that was attempted.

    Attributes:
        ended: when its outcome was known; until then, infinity.
        certain: whether it is known to be over: acknowledged or refused.
    """

    name: str
    began: float
    ended: float = NEVER
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """A request to a workspace.

    Attributes:
        held: the credential that it was made with.
        account_id: whose that is.
        found: the role that it was served with; None if it was refused.
    """

    began: float
    ended: float
    held: Held
    account_id: AccountId
    workspace_id: WorkspaceId
    found: str | None


@dataclass
class Crowd:
    """Everybody, and what they did.

    Attributes:
        done: every change, in the order of their beginnings.
        looked: every look.
        revoked: the credentials whose end was acknowledged, and when.
        sights: what occurred, how often.
    """

    asking: Asking[AccessProcess]
    sources: Sources
    people: dict[str, Somebody] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    looked: list[Looked] = field(default_factory=list)
    revoked: dict[str, float] = field(default_factory=dict)
    sights: list[str] = field(default_factory=list)

    async def attempt(
        self,
        random: Random,
        name: str,
        act: Callable[[AccessProcess], Awaitable[object]],
        *about: str,
    ) -> bool:
        """Attempt a change in some process; return whether it was acknowledged.

        ``about`` is what it concerns, for reports.
        """
        done = Done(name, trio.current_time())
        self.done.append(done)
        outcome, what = "acknowledged", f"{name} #{len(self.done)}"
        try:
            await self.asking.ask(random, lambda process, _: act(process), what, *about)
            done.certain = True
        except (Problem, ChangesetRefused, NoWorkspace):
            outcome, done.certain = "refused", True
        except NothingDone:
            outcome = "not-executed"
        except Unsettled:
            outcome = "unknown"
        done.ended = trio.current_time()
        note(f"{what}: {outcome}", *about)
        self.sights.append(f"{name}: {outcome}")
        return outcome == "acknowledged"


Act = Callable[[Crowd, Somebody, Random], Awaitable[None]]


async def found(transaction: Transaction) -> None:
    """Create everybody and every workspace."""
    for number, name in enumerate(NAMES):
        await transaction.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at) VALUES ($1::uuid, $2, $3, '', $4, 'enabled', 0, 0)",
            account_of(name),
            f"{name}@example.org",
            name.title(),
            "administrator" if number < 2 else "member",
        )
    for workspace_id, members in FIRST_MEMBERS.items():
        await transaction.execute(
            "INSERT INTO workspaces (id, name, position, created_at)"
            " VALUES ($1::uuid, 'Vault', 0, 0)",
            workspace_id,
        )
        for name, role in members.items():
            await transaction.execute(
                "INSERT INTO members (workspace_id, account_id, role, joined_at)"
                " VALUES ($1::uuid, $2::uuid, $3, 0)",
                workspace_id,
                account_of(name),
                role,
            )


def account_of(name: str) -> AccountId:
    """Return the account of a person."""
    return AccountId(f"01900000-0000-7000-8a00-{NAMES.index(name) + 1:012x}")


OWNERS = {
    workspace_id: next(account_of(name) for name, role in members.items() if role == "owner")
    for workspace_id, members in FIRST_MEMBERS.items()
}
"""Those who may change the members at first."""


async def look_as(
    crowd: Crowd,
    other: Somebody,
    workspace_id: WorkspaceId,
    random: Random,
    held: Held | None = None,
) -> None:
    """Send a request to a workspace, for which a process looks up the caller and the role."""
    if held is None and other.held:
        held = random.choice(other.held[-3:])
    if held is None:
        return
    kind, secret = held.kind, held.secret.encode()

    async def find(process: AccessProcess) -> str | None:
        credentials = process.identity.credentials
        find_caller = credentials.of_key if kind == "key" else credentials.of_session
        caller = await find_caller(secret)
        if caller is None:
            return None
        return await process.access.role(workspace_id, caller.account_id)

    began = trio.current_time()
    about = (held.credential_id, workspace_id, other.account_id)
    what = f"look #{len(crowd.looked)} at {workspace_id} with {held.credential_id}"
    try:
        role = await crowd.asking.ask(random, lambda process, _: find(process), what, *about)
    except (NothingDone, Unsettled):
        return
    looked = Looked(began, trio.current_time(), held, other.account_id, workspace_id, role)
    crowd.looked.append(looked)
    note(f"{what}: {'refused' if role is None else f'served as {role}'}", *about)
    crowd.sights.append("refused" if role is None else "served")


async def write(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Create a note."""
    workspace_id = random.choice([GARDEN, GARDEN, *WORKSPACES])
    file_id = FileId(crowd.sources.new_id())
    made = (CreateFile(file_id, f"{file_id}.md", note_text("")),)
    mutation = MutationId(crowd.sources.new_id())
    changeset = Changeset(mutation, fingerprint(made), person.account_id, made)

    async def act(process: AccessProcess) -> None:
        await process.directory.ask(workspace_id, Push(changeset))

    await crowd.attempt(random, "write", act, workspace_id, person.account_id)


async def begin_session(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Begin a session."""
    token = opaque_token(crowd.sources.new_entropy())
    now = milliseconds(crowd.sources.now())
    session = Session(
        SessionId(crowd.sources.new_id()), person.account_id, "Firefox", "192.0.2.1", now, now
    )

    async def begin(transaction: Transaction) -> None:
        rows = await transaction.fetch_all(
            "SELECT 1 FROM accounts WHERE id = $1::uuid AND state = 'enabled'", person.account_id
        )
        if rows:
            await sessions.insert(transaction, session, digest_of(token.encode()))

    async def act(process: AccessProcess) -> None:
        await process.store.write(begin)
        person.held.append(Held("session", session.session_id, token))

    await crowd.attempt(random, "begin session", act, person.account_id)


async def create_key(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Create a key, which may expire soon."""
    life = random.choice([None, 4.0, 12.0])
    expires_at = None if life is None else milliseconds(crowd.sources.now() + life)

    async def act(process: AccessProcess) -> None:
        key, secret = await process.identity.own_keys.create(
            person.account_id, "script", expires_at, remote_address=None
        )
        until = NEVER if expires_at is None else expires_at / 1000 - START
        person.held.append(Held("key", key.key_id, secret, until))

    await crowd.attempt(random, "create key", act, person.account_id)


async def revoke(crowd: Crowd, person: Somebody, random: Random) -> None:
    """End a session or revoke a key, mostly the newest."""
    if not person.held:
        return
    keys = [each for each in person.held if each.kind == "key"]
    which = random.choice([*person.held, *person.held[-1:] * 2, *keys[-1:] * 3])

    async def act(process: AccessProcess) -> None:
        identity = process.identity
        if which.kind == "key":
            key_id = KeyId(which.credential_id)
            await identity.own_keys.revoke(person.account_id, key_id, remote_address=None)
        else:
            session_id = SessionId(which.credential_id)
            await identity.own_sessions.end(person.account_id, session_id, remote_address=None)

    workspace_id = random.choice(WORKSPACES)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look_as, crowd, person, workspace_id, random, which)
        if await crowd.attempt(
            random, f"revoke {which.kind}", act, which.credential_id, person.account_id
        ):
            crowd.revoked.setdefault(which.credential_id, trio.current_time())
    await look_as(crowd, person, workspace_id, random, which)


async def end_others(crowd: Crowd, person: Somebody, random: Random) -> None:
    """End all sessions but one."""
    kept = [SessionId(each.credential_id) for each in person.held if each.kind == "session"]

    async def act(process: AccessProcess) -> None:
        await process.identity.own_sessions.end_others(
            person.account_id, random.choice(kept) if kept else None, remote_address=None
        )

    await crowd.attempt(random, "end others", act, person.account_id)


async def change_role(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Give a member another role."""
    workspace_id = random.choice(WORKSPACES)
    other = crowd.people[random.choice([*FIRST_MEMBERS[workspace_id]])]
    role, actor = (
        random.choice(ROLES),
        random.choice([person.account_id, *[OWNERS[workspace_id]] * 3]),
    )

    async def act(process: AccessProcess) -> None:
        await process.members.change(
            workspace_id, actor, other.account_id, role, remote_address=None
        )

    await look_as(crowd, other, workspace_id, random)
    await crowd.attempt(random, "change role", act, workspace_id, other.account_id)
    await look_as(crowd, other, workspace_id, random)


async def leave(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Leave a workspace, or remove another member."""
    workspace_id = random.choice(WORKSPACES)
    other = crowd.people[random.choice([*FIRST_MEMBERS[workspace_id]])]
    actor = random.choice([person.account_id, *[OWNERS[workspace_id]] * 3])

    async def act(process: AccessProcess) -> None:
        await process.members.remove(workspace_id, actor, other.account_id, remote_address=None)

    await look_as(crowd, other, workspace_id, random)
    await crowd.attempt(random, "leave", act, workspace_id, other.account_id)
    await look_as(crowd, other, workspace_id, random)


async def join(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Invite somebody into a workspace, who accepts."""
    workspace_id, role = random.choice(WORKSPACES), random.choice(ROLES)
    other = random.choice([*crowd.people.values()])
    actor = random.choice([person.account_id, *[OWNERS[workspace_id]] * 3])

    async def act(process: AccessProcess) -> None:
        _, token = await process.invitations.create(
            actor, remote_address=None, workspace_id=workspace_id, workspace_role=role
        )
        await process.invitations.accept(other.account_id, token, remote_address=None)

    await crowd.attempt(random, "join", act, workspace_id, other.account_id)


async def decide(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Disable, lock or enable an account."""
    other = random.choice([*crowd.people.values()])
    change = random.choice(
        [
            DecisionsChange(state="disabled"),
            DecisionsChange(state="locked"),
            *[DecisionsChange(state="enabled")] * 2,
        ]
    )

    async def act(process: AccessProcess) -> None:
        await process.identity.administration.decide(
            other.account_id, change, actor="operator", remote_address=None
        )

    await crowd.attempt(random, f"decide {change.state}", act, other.account_id)


async def disable(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Disable an account."""
    other = random.choice([*crowd.people.values()])

    async def act(process: AccessProcess) -> None:
        await process.identity.administration.decide(
            other.account_id,
            DecisionsChange(state="disabled"),
            actor="operator",
            remote_address=None,
        )

    await crowd.attempt(random, "disable", act, other.account_id)


async def remove(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Remove an account."""
    other = random.choice([*crowd.people.values()])

    async def act(process: AccessProcess) -> None:
        await process.removal.remove_by_operator(other.account_id, remote_address=None)

    await crowd.attempt(random, "remove", act, other.account_id)


async def delete(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Delete a workspace."""
    workspace_id = random.choice([CELLAR, ATTIC])

    async def act(process: AccessProcess) -> None:
        await process.store.write(workspaces.delete(workspace_id))
        process.gone(workspace_id)

    await crowd.attempt(random, "delete", act, workspace_id)


async def look(crowd: Crowd, person: Somebody, random: Random) -> None:
    """Send a request to a workspace as anybody."""
    await look_as(crowd, random.choice([*crowd.people.values()]), random.choice(WORKSPACES), random)


LAST_ACTS: tuple[Act, ...] = (revoke, leave, disable)
"""What some people do before they listen only."""
ACTS: tuple[Act, ...] = (
    *[write] * 8,
    *[begin_session] * 2,
    *[create_key] * 4,
    *[revoke] * 4,
    end_others,
    *[change_role] * 3,
    *[leave] * 4,
    *[join] * 3,
    *[decide] * 3,
    *[remove] * 2,
    delete,
    *[look] * 6,
)
"""What people do, as often as it is listed."""

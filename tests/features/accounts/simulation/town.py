"""The people of a run, and what they share: tokens, workspaces and passwords."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.model.access.account import Address, ClientId, GrantId
from octavo.model.workspace import Role
from octavo.store.queries.workspaces import create
from tests.fakes.oauth_rig import PROGRAM
from tests.features.accounts.simulation.deeds import Credential, Deeds
from tests.features.accounts.simulation.guesses import Guess
from tests.features.accounts.simulation.process import LEGAL, IdentityProcess

WORKSPACES = tuple(WorkspaceId(f"01900000-0000-7000-8f00-{n:012x}") for n in (1, 2))
GARDEN, CELLAR = WORKSPACES
RESIDENTS = ("ann", "ben", "eve", "tom", "kim")
"""Those who have an account from the beginning; the first two are administrators."""
FIRST_MEMBERS: Sequence[tuple[WorkspaceId, str, str, Role]] = (
    (GARDEN, "eve", "tom", "editor"),
    (GARDEN, "eve", "kim", "reader"),
    (CELLAR, "ann", "kim", "administrator"),
)
NEWCOMERS = ("lee", "joy")
PROGRAMS = 2


@dataclass(slots=True)
class Person:
    """Somebody with an address.

    Attributes:
        name: a short name.
        account_id: the account, as long as the person knows of one.
        passwords: every password that was attempted; the last is the most likely.
    """

    name: str
    account_id: AccountId | None = None
    passwords: list[str] = field(default_factory=list)
    credentials: list[Credential] = field(default_factory=list)

    @property
    def address(self) -> Address:
        """The address of the person."""
        return Address(f"{self.name}@example.org")


@dataclass(slots=True)
class Family:
    """What a person allowed a program once, and everything that the program got for it.

    Attributes:
        renewals: the refresh tokens.
        tokens: the access tokens.
        used: the code and the refresh tokens that gave tokens.
        revoked: the tokens that the program attempted to end.
        ended: why nothing of it may work any more; empty as long as it may.
    """

    person: Person
    client_id: ClientId
    account_id: AccountId
    grant_id: GrantId
    code: str
    renewals: list[str] = field(default_factory=list)
    tokens: list[Credential] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    revoked: set[str] = field(default_factory=set)
    ended: str = ""


@dataclass
class Town:
    """Everybody, and the tokens that go round.

    Attributes:
        invitations: tokens of invitations, with their ids.
        resets: tokens to choose a new password, with the names of their people.
        expiries: when each of these expires, in milliseconds of Unix time.
        portal: portal tokens.
        programs: the registered programs, with the tokens that manage them.
        families: what people allowed programs, the newest last.
        guesses: attempts to sign in.
    """

    deeds: Deeds
    people: dict[str, Person] = field(
        default_factory=lambda: {name: Person(name) for name in (*RESIDENTS, *NEWCOMERS)}
    )
    invitations: list[tuple[str, str]] = field(default_factory=list)
    resets: list[tuple[str, str]] = field(default_factory=list)
    expiries: dict[str, int] = field(default_factory=dict)
    portal: list[str] = field(default_factory=list)
    programs: list[tuple[ClientId, str]] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)

    def other(self, random: Random) -> Person:
        """Return somebody with an account, who may be the one who asks."""
        return random.choice([each for each in self.people.values() if each.account_id])

    async def register(
        self,
        process: IdentityProcess,
        person: Person,
        token: str,
        password: str,
        remote_address: str,
    ) -> None:
        """Register a person, who then knows a session."""
        made = await process.identity.registration.register(
            token,
            person.address,
            password,
            person.name.title(),
            "Firefox",
            remote_address,
            accepted=LEGAL.versions,
        )
        person.account_id = made.account.account_id
        person.passwords.append(password)
        person.credentials.append(
            Credential("session", made.session.session_id, person.account_id, made.token)
        )

    async def settle(self, process: IdentityProcess) -> None:
        """Register the residents, and create their workspaces."""
        for number, name in enumerate(RESIDENTS):
            token = await process.identity.invite(role="administrator" if number < 2 else "member")
            person = self.people[name]
            await self.register(process, person, token, "tulips on the moon", "192.0.2.1")
        await process.store.write(create(GARDEN, "Garden", self._id("eve"), 0))
        await process.store.write(create(CELLAR, "Cellar", self._id("ann"), 0))
        for workspace, owner, name, role in FIRST_MEMBERS:
            _, token = await process.invitations.create(
                self._id(owner),
                remote_address="192.0.2.1",
                workspace_id=workspace,
                workspace_role=role,
            )
            await process.invitations.accept(self._id(name), token, remote_address="192.0.2.1")

    async def install(self, process: IdentityProcess) -> None:
        """Register another program."""
        made = await process.oauth.clients.register(PROGRAM)
        self.programs.append((made.client.client_id, made.management_token))

    async def end_family(self, family: Family, why: str) -> None:
        """Note that everything that a person allowed once has ended, and check it."""
        family.ended = family.ended or why
        await self.deeds.end([*family.tokens], family.ended)

    def _id(self, name: str) -> AccountId:
        found = self.people[name].account_id
        assert found is not None, f"{name} has no account"
        return found

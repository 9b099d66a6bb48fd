"""All of identity over an in-memory store, with a clock that a test controls."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import ParamSpec, TypeVar

import trio
from antechamber.network_prefix import network_prefix
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.after_commit import AfterCommit
from octavo.access.attempts import RATES, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import milliseconds
from octavo.features.accounts.argon2id import Argon2
from octavo.features.accounts.credentials import CACHE_SECONDS, Activity, Credentials
from octavo.features.accounts.own_account import OwnAccount, OwnConsent, OwnPassword
from octavo.features.accounts.own_credentials import OwnKeys, OwnSessions
from octavo.features.accounts.password_reset import PasswordReset, create_reset_token
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.accounts.rules.session import SessionLife
from octavo.features.accounts.sign_in import KnownDevices, Portal, SessionMaker, SignedIn, SignIn
from octavo.features.administration.administration import Administration
from octavo.features.legal.rules import NO_TEXTS, LegalTexts
from octavo.features.members.invitations import Invitations
from octavo.features.members.registration import Installation, Registration
from octavo.features.members.rules import Prerequisites
from octavo.model.access.account import Address, Role, State
from octavo.model.access.audit import AuditEntry
from octavo.store import Store
from octavo.store.sqlite.inline import FaultPoint
from octavo.store.transaction import Row, Transaction, Value
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.stores import open_inline

START = 1_800_000_000.0
LIFE = SessionLife()
CHEAP = Argon2(passes=1, memory=8, lanes=1)
PASSWORD = "tulips on the moon"
PORTAL = {
    "billing": "https://billing.example/start?from=notes#top",
    "plan": "https://billing.example/plan",
}
NO_PREREQUISITES = Prerequisites()

P = ParamSpec("P")
T = TypeVar("T")


# Several fixtures may share a store.
_audit_numbers = count(1)


@dataclass
class PredictableSources:
    """Predictable time, identifiers and randomness."""

    time: float = START
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def now(self) -> float:
        return self.time

    def new_id(self) -> str:
        return f"01900000-0000-7000-8000-{next(self._numbers):012x}"

    def new_audit_id(self) -> str:
        return f"01900000-0000-7000-9000-{next(_audit_numbers):012x}"

    def new_entropy(self) -> bytes:
        return sha256(b"%d" % next(self._numbers)).digest()


async def hash_inline(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Hashes without a process, whose order no schedule decides."""
    await trio.lowlevel.checkpoint()
    return function(*arguments, **named)


@dataclass(frozen=True)
class NotedChanges(AfterCommit):
    """Notes the memberships that may have changed."""

    members: list[tuple[WorkspaceId, AccountId]] = field(default_factory=list)

    def access_changed(self, account_id: AccountId, workspace_id: WorkspaceId | None) -> None:
        if workspace_id is not None:
            self.members.append((workspace_id, account_id))
        super().access_changed(account_id, workspace_id)


class IdentityFixture:
    """The use cases, wired as the service wires them."""

    def __init__(
        self,
        kept: Store,
        legal: LegalTexts = NO_TEXTS,
        prerequisites: Prerequisites = NO_PREREQUISITES,
        *,
        sources: PredictableSources | None = None,
        passwords: Passwords | None = None,
        fresh: float = CACHE_SECONDS,
    ) -> None:
        self.sources = sources = sources or PredictableSources()
        self.store = store = FaultyStore(kept)
        self.legal = legal
        self.activity = Activity(store)
        self.credentials = Credentials(
            store,
            self.activity,
            now=sources.now,
            life=LIFE,
            fresh=fresh,
            legal=legal,
        )
        self.passwords = passwords or Passwords(
            new_entropy=sources.new_entropy, cost=CHEAP, run=hash_inline
        )
        self.attempts = Attempts(RATES)
        self.maker = SessionMaker(
            now=sources.now, new_id=sources.new_id, new_entropy=sources.new_entropy
        )
        self.audited: list[AuditEntry] = []
        self.after = NotedChanges()
        self.after.account_changed.listen(self.credentials.forget)
        self.audit = Audit(
            store,
            now=sources.now,
            new_id=sources.new_audit_id,
            network=network_prefix,
            log=self.audited.append,
            after=self.after,
        )
        self.signing_in = SignIn(
            store,
            self.passwords,
            self.attempts,
            self.maker,
            audit=self.audit,
            now=sources.now,
            life=LIFE,
        )
        self.devices = KnownDevices(
            store, now=sources.now, new_entropy=PredictableSources().new_entropy
        )
        self.registration = Registration(
            store,
            self.passwords,
            self.attempts,
            self.maker,
            legal,
            prerequisites,
            audit=self.audit,
            now=sources.now,
            new_id=sources.new_id,
        )
        self.installation = Installation(store, prerequisites, audit=self.audit)
        self.portal = Portal(store, PORTAL, now=sources.now, new_token=sources.new_entropy)
        self.own_account = OwnAccount(store, now=sources.now)
        self.own_consent = OwnConsent(legal, audit=self.audit, now=sources.now)
        self.mail_added = 0
        self.mail_delays: list[float] = []
        self.own_password = OwnPassword(
            store,
            self.passwords,
            self.attempts,
            audit=self.audit,
            now=sources.now,
            new_id=sources.new_id,
            mail_added=self._add_mail,
        )
        self.password_reset = PasswordReset(
            store,
            self.passwords,
            self.attempts,
            audit=self.audit,
            now=sources.now,
            new_id=sources.new_id,
            random=lambda: 0.5,
            mail_added=self._add_mail,
        )
        self.gone: list[WorkspaceId] = []
        self.removals: list[float] = []
        self.administration = Administration(store, audit=self.audit, now=sources.now)
        self.removal = AccountRemoval(
            self.audit,
            now=sources.now,
            gone=self.gone.append,
            removed=lambda: self.removals.append(sources.now()),
        )
        self.own_sessions = OwnSessions(store, audit=self.audit, now=sources.now, life=LIFE)
        self.own_keys = OwnKeys(
            store,
            self.attempts,
            audit=self.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_entropy=sources.new_entropy,
        )

    def _add_mail(self, after: float = 0.0) -> None:
        self.mail_added += 1
        self.mail_delays.append(after)

    async def reset_token(self, address: str = "ann@example.org") -> str:
        """A token to choose a new password, as `octavo recover` makes it."""
        _, token = await create_reset_token(
            self.audit,
            Address(address),
            now=self.sources.now,
            new_token=self.sources.new_entropy,
        )
        assert token is not None
        return token

    async def invite(
        self,
        *,
        role: Role = "member",
        address: str | None = None,
        expires_in: float = 3600.0,
    ) -> str:
        sources = self.sources
        invitations = Invitations(
            self.store,
            self.attempts,
            audit=self.audit,
            now=sources.now,
            new_id=sources.new_id,
            new_token=sources.new_entropy,
        )
        _, token = await invitations.create(
            None,
            role=role,
            address=None if address is None else Address(address),
            expires_at=milliseconds(sources.now() + expires_in),
        )
        return token

    async def account(self, address: str = "ann@example.org", role: Role = "member") -> SignedIn:
        """An account with `PASSWORD`, signed in."""
        return await self.registration.register(
            await self.invite(role=role),
            Address(address),
            PASSWORD,
            "Ann",
            "Firefox",
            "192.0.2.7",
            accepted=self.legal.versions if self.legal.due_from(None) else None,
        )

    async def remove_own(
        self, account_id: AccountId, password: str, *, remote_address: str | None
    ) -> None:
        """Remove an account as the operation does."""
        proof = await self.own_password.prove(
            account_id, password, "removeOwnAccount", remote_address=remote_address
        )
        await self.removal.remove_own(account_id, proof.encoded)

    async def set_state(self, account_id: AccountId, state: State) -> None:
        await self.execute("UPDATE accounts SET state = $2 WHERE id = $1::uuid", account_id, state)
        self.credentials.forget(account_id)

    async def execute(self, sql: str, *arguments: Value) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *arguments)

        await self.store.write(script)

    async def rows(self, sql: str) -> list[Row]:
        async def script(transaction: Transaction) -> list[Row]:
            return list(await transaction.fetch_all(sql))

        return await self.store.read(script)


@contextmanager
def identity_fixture(
    fault_point: FaultPoint | None = None,
    legal: LegalTexts = NO_TEXTS,
    prerequisites: Prerequisites = NO_PREREQUISITES,
) -> Iterator[IdentityFixture]:
    store = open_inline(fault_point=fault_point)
    try:
        yield IdentityFixture(store, legal, prerequisites)
    finally:
        store.close()

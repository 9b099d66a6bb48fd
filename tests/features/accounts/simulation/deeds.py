"""What people did, what they learned of it, and the credentials that must not work any more."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeVar

from greenroom.testing import note
from octavo_rules.problems import Problem

from octavo.access.caller import Caller
from octavo.features.oauth.rules.refusal import OAuthRefusal
from octavo.model.access.audit import AuditKind
from octavo.store import StoreUnavailable
from tests.features.accounts.simulation.disk import Step
from tests.features.accounts.simulation.process import IdentityProcess
from tests.simulation.asking import Asking, NothingDone, Unsettled

R = TypeVar("R")
Outcome = Literal["acknowledged", "refused", "not-executed", "unknown"]
CredentialKind = Literal["session", "key", "token"]


@dataclass(slots=True)
class Deed:
    """A change that somebody attempted.

    Attributes:
        name: what it was, with its number.
        mark: identifies its audit entries: their address, or the account that removed itself.
        entries: the kinds of the entries that record it.
        once: the token that it used, which can be used once; empty without one.
        silent: whether it may be acknowledged without a change.
        outcome: what the person learned.
    """

    name: str
    mark: str
    entries: tuple[AuditKind, ...]
    once: str = ""
    silent: bool = False
    outcome: Outcome = "unknown"


@dataclass(frozen=True, slots=True)
class Credential:
    """A session or a key of an account that a person has, or an access token of a program.

    Attributes:
        credential_id: of a token, the id of its grant.
    """

    kind: CredentialKind
    credential_id: str
    account_id: str
    secret: str

    def __str__(self) -> str:
        return f"a {self.kind} ({self.credential_id} of {self.account_id})"


@dataclass
class Deeds:
    """Attempts changes, and records them.

    Attributes:
        done: every attempt, in the order of their beginnings.
        ended: credentials that must not work any more, and why.
        sights: what occurred.
    """

    asking: Asking[IdentityProcess]
    processes: Callable[[], Iterable[IdentityProcess]]
    steps: Callable[[], Sequence[Step]]
    violated: Callable[[str], None]
    done: list[Deed] = field(default_factory=list)
    ended: dict[Credential, str] = field(default_factory=dict)
    sights: set[str] = field(default_factory=set)

    async def attempt(
        self,
        random: Random,
        name: str,
        entries: tuple[AuditKind, ...],
        act: Callable[[IdentityProcess, str], Awaitable[R]],
        *,
        once: str = "",
        mark: str = "",
        silent: bool = False,
    ) -> R | None:
        """Attempt a change in some process; return its result, None without an acknowledgement.

        ``act`` receives the process and a remote address, which is unique. ``silent``:
        whether it may be acknowledged without a change, which has no entry.
        """
        number = len(self.done) + 1
        remote_address = f"10.0.{number // 256}.{number % 256}"
        deed = Deed(f"{name} #{number}", mark or remote_address, entries, once, silent)
        self.done.append(deed)
        result: R | None = None
        about, code = (deed.name, deed.mark), ""
        try:
            result = await self.asking.ask(
                random,
                lambda process, _: act(process, remote_address),
                f"{deed.name} of {deed.mark}",
                *about,
            )
            deed.outcome = "acknowledged"
        except (Problem, OAuthRefusal) as refusal:
            deed.outcome, code = "refused", f", {refusal.code}"
            self.sights |= {refusal.code, f"{name}: {refusal.code}"}
        except NothingDone:
            deed.outcome = "not-executed"
        except Unsettled:
            deed.outcome = "unknown"
        note(f"{deed.name}: {deed.outcome}{code}", *about)
        self.sights |= {f"{name}: {deed.outcome}", deed.outcome}
        return result

    async def end(self, credentials: Iterable[Credential], why: str) -> None:
        """Note that credentials were ended, and check that no process finds their caller."""
        for each in credentials:
            self.ended.setdefault(each, why)
        await self.check_ended(credentials)

    async def check_disabled(self, account_id: str, credentials: Iterable[Credential]) -> None:
        """Check that a disabled account is not served, unless it is enabled again meanwhile."""
        begin = len(self.steps()) - 1
        for process in self.processes():
            for each in credentials:
                found = await self.finds(process, each)
                states = [step.state.accounts.get(account_id) for step in self.steps()[begin:]]
                if found and all(state is None or state.state == "disabled" for state in states):
                    self.violated(f"a caller was found for {each} of a disabled account")

    async def check_ended(self, credentials: Iterable[Credential]) -> None:
        """Check that no process finds the callers of ended credentials."""
        for process in self.processes():
            for each in credentials:
                if await self.finds(process, each):
                    why = self.ended[each]
                    self.violated(f"a caller was found for {each} after {why}")

    async def finds(self, process: IdentityProcess, credential: Credential) -> bool:
        """Return whether a process finds the caller; False if it could not look."""
        credentials = process.identity.credentials
        look = {
            "session": credentials.of_session,
            "key": credentials.of_key,
            "token": process.oauth.access_tokens.caller,
        }[credential.kind]
        caller: Caller | None = None
        with process.connected(), suppress(StoreUnavailable):
            caller = await look(credential.secret.encode())
        return caller is not None

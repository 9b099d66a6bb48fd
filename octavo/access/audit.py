"""Write the audit: changes in their own transactions, refused attempts in the background.

Anybody can cause refusals, so these are counted in memory and written periodically: equal ones of a
period are one entry with a count, and a period has a limited number of entries. Refusals that were
not written when the process ends are lost; the request log has each of them.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import trio
from antechamber.network_prefix import network_prefix
from attrs import define, field
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.after_commit import AfterCommit
from octavo.access.entropy import new_id, now
from octavo.access.ports import Clock, NewId, milliseconds
from octavo.model.access.audit import Actor, AuditEntry, AuditId, AuditKind, AuditOutcome, Detail
from octavo.store import Script, Store, StoreError
from octavo.store.queries import audit
from octavo.store.queries.process_notices import notify_access
from octavo.store.transaction import Transaction

T = TypeVar("T")

AuditLog = Callable[[AuditEntry], None]
"""Receives each entry that was committed; must not wait or raise."""

_log = logging.getLogger(__name__)


@define(eq=False)
class Audit:
    """Records entries, and reads them.

    Args:
        store: the store of entries.
        now: the clock.
        new_id: returns an id for an entry.
        network: returns the network that a client address counts as; empty for None.
        log: receives each entry after its commit.
        after: its event `access_changed` is called for each account whose access may have changed.

    Attributes:
        after: see above; called directly for an account that only a result names.
        refused: counts refused attempts; a task of the service writes them.
    """

    _store: Store
    _now: Clock
    _new_id: NewId
    _network: Callable[[str | None], str]
    _log: AuditLog
    after: AfterCommit
    refused: "RefusedAttempts" = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.refused = RefusedAttempts(self)

    def entry(
        self,
        kind: AuditKind,
        *,
        actor: Actor | None,
        subject: str | None = None,
        remote_address: str | None = None,
        outcome: AuditOutcome = "done",
        detail: Detail | None = None,
    ) -> AuditEntry:
        """Return a new entry of the present time, which is not recorded yet.

        ``remote_address`` is the address of the client, of which the network is recorded. Raises
        ValueError for a detail that may not be recorded (`AuditEntry`).
        """
        return AuditEntry(
            AuditId(self._new_id()),
            milliseconds(self._now()),
            kind,
            actor,
            subject,
            self.network(remote_address),
            outcome,
            detail or {},
        )

    def network(self, remote_address: str | None) -> str | None:
        """Return the network of a client address; None without one."""
        return self._network(remote_address) or None

    async def write(
        self,
        script: Script[T],
        entries: Callable[[T], Iterable[AuditEntry]] | AuditEntry,
        *,
        access_of: AccountId | None = None,
        within: WorkspaceId | None = None,
    ) -> T:
        """Run a script that changes something, and record it in the same transaction.

        ``entries`` is the entry, or returns those of the result of the script. When the script
        raises, nothing is changed or recorded; an entry is not recorded either if it returns False.
        ``access_of`` is the account whose access may change, ``within`` the workspace of a
        membership: this process and the others look its access up again. Raises the same errors as
        `Store.write`, and is cancelled like it.
        """

        async def change_and_record(transaction: Transaction) -> tuple[T, tuple[AuditEntry, ...]]:
            result = await script(transaction)
            if access_of is not None and result is not False:
                await notify_access(transaction, access_of)
            if not isinstance(entries, AuditEntry):
                made = tuple(entries(result))
            else:
                made = () if result is False else (entries,)
            for entry in made:
                await audit.record(transaction, entry)
            return result, made

        try:
            result, recorded = await self._store.write(change_and_record)
        finally:
            # A write that failed or was cancelled may have been committed.
            if access_of is not None:
                self.after.access_changed(access_of, within)
        for entry in recorded:
            self._log(entry)
        return result

    async def record(self, *entries: AuditEntry) -> None:
        """Record entries without a change. Raises `StoreUnavailable`."""

        async def nothing(transaction: Transaction) -> None:
            pass

        await self.write(nothing, lambda _: entries)

    async def page(
        self,
        before: str | None,
        limit: int,
        *,
        kind: AuditKind | None = None,
        account_id: AccountId | None = None,
    ) -> list[AuditEntry]:
        """Return entries, the newest first, at most ``limit``.

        They follow the one with the id ``before``, if it is given. With ``kind``, return only
        entries of that kind; with ``account_id``, only those that the account is the actor or the
        subject of. Raises `StoreUnavailable`.
        """
        return await self._store.read_much(
            audit.page(before, limit, kind=kind, account_id=account_id)
        )


class _Refusal(NamedTuple):
    code: str
    operation: str | None = None
    subject: AccountId | None = None
    client: str | None = None


class RefusedAttempts:
    """Counts refused attempts, and records them periodically.

    Args:
        trail: the audit.
        interval: seconds between two writes.
        maximum: the maximum number of entries of one write. Further refusals of the interval
            are counted by their codes only.
    """

    def __init__(self, trail: Audit, *, interval: float = 30.0, maximum: int = 20) -> None:
        self._trail = trail
        self._interval = interval
        self._maximum = maximum
        self._counts: Counter[_Refusal] = Counter()
        self._noted = trio.Event()

    def note(
        self,
        code: str,
        operation: str | None,
        *,
        subject: AccountId | None = None,
        remote_address: str | None = None,
    ) -> None:
        """Count a refusal with the problem ``code``.

        ``subject`` is the account that the attempt was for, or that made it; ``remote_address`` the
        address of the client, of which the network is recorded.
        """
        refusal = _Refusal(code, operation, subject, self._trail.network(remote_address))
        if refusal not in self._counts and len(self._counts) >= self._maximum:
            refusal = _Refusal(code)
        self._counts[refusal] += 1
        self._noted.set()

    async def run(self) -> None:
        """Write what was counted once per interval, until cancelled.

        Cancellation loses what was counted since the last write; a started write may be committed.
        """
        while True:
            await self._noted.wait()
            await self.flush()
            await trio.sleep(self._interval)

    async def flush(self) -> None:
        """Write what was counted. A failure of the store is logged, and the counts are dropped."""
        counts, self._counts = self._counts, Counter()
        self._noted = trio.Event()
        if not counts:
            return
        entries = [self._entry(refusal, count) for refusal, count in counts.items()]
        try:
            await self._trail.write(audit.without_clients_of_removed(entries), lambda made: made)
        except StoreError as error:
            _log.warning("%d refused attempts were not recorded: %s", counts.total(), error)

    def _entry(self, refusal: _Refusal, count: int) -> AuditEntry:
        detail: dict[str, str | int] = {"code": refusal.code, "count": count}
        if refusal.operation is not None:
            detail["operation"] = refusal.operation
        return self._trail.entry(
            "attempt_refused",
            actor=None,
            subject=refusal.subject,
            remote_address=refusal.client,
            outcome="refused",
            detail=detail,
        )


def audit_log(write: Callable[[str, dict[str, object]], None]) -> AuditLog:
    """Return an audit log that calls ``write`` with a level and the event ``audit``.

    ``write`` is that of `octavo.log.Log`. Members without a value are left out.
    """

    def log(entry: AuditEntry) -> None:
        members: dict[str, object | None] = {
            "event": "audit",
            "logger": "octavo.audit",
            "kind": entry.kind,
            "outcome": entry.outcome,
            "actor": entry.actor,
            "subject": entry.subject,
            "client": entry.client,
            "auditId": entry.entry_id,
            **entry.detail,
        }
        write("info", {name: value for name, value in members.items() if value is not None})

    return log


def server_audit(store: Store, log: AuditLog, after: AfterCommit) -> Audit:
    """Return the audit of a server; see `Audit`."""
    return Audit(store, now=now, new_id=new_id, network=network_prefix, log=log, after=after)


def command_audit(store: Store) -> Audit:
    """Return the audit of a command, which has neither a log nor a cache."""
    return server_audit(store, lambda _: None, AfterCommit())

"""Administer the accounts of the installation, and remove accounts."""

from collections.abc import Sequence

from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.rules.decisions import DecisionsChange
from octavo.features.accounts.sql import accounts
from octavo.features.accounts.sql.accounts import AccountSummary
from octavo.model.access.account import AccountMissing, Address
from octavo.model.access.audit import Actor, AuditEntry, AuditKind, Detail, account_of
from octavo.model.usage import Month, MonthlyLimit, StorageLimit, month_of
from octavo.store import Store


class Administration:
    """Lists accounts, and changes what was decided about them.

    Args:
        store: the store of accounts.
        audit: records changes.
        now: the clock.
    """

    def __init__(self, store: Store, *, audit: Audit, now: Clock) -> None:
        self._store = store
        self._audit = audit
        self._now = now

    async def list(self, after: AccountId, limit: int, text: str = "") -> Sequence[AccountSummary]:
        """Return accounts whose id is greater than ``after``, at most ``limit``, oldest first.

        With ``text``, return those whose address or display name contains it. Raises
        `StoreUnavailable`.
        """
        return await self._store.read_much(accounts.list_of(after, limit, text, self._month))

    async def find(self, address: Address) -> AccountSummary:
        """Return the account with an address. Raises `AccountMissing`, `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_at(address, self._month)))

    async def read(self, account_id: AccountId) -> AccountSummary:
        """Return an account. Raises `AccountMissing` and `StoreUnavailable`."""
        return _present(await self._store.read(accounts.summary_of(account_id, self._month)))

    async def decide(
        self,
        account_id: AccountId,
        change: DecisionsChange,
        *,
        actor: Actor,
        remote_address: str | None,
    ) -> AccountSummary:
        """Change what was decided about an account; it takes effect with its next request.

        ``actor`` is the administrator who decides, or a service, and ``remote_address`` its
        address.

        Raises `NotAdministrator`, `AccountMissing`, `ControlsChanged`, `LastAdministrator` and
        `StoreUnavailable`. If cancelled, it may have changed.
        """
        now = milliseconds(self._now())
        return await self._audit.write(
            accounts.decide(account_id, change, now, actor=account_of(actor)),
            lambda _: self._entries(account_id, change, actor, remote_address),
            access_of=account_id,
        )

    @property
    def _month(self) -> Month:
        return month_of(self._now())

    def _entries(
        self,
        account_id: AccountId,
        change: DecisionsChange,
        actor: Actor,
        remote_address: str | None,
    ) -> Sequence[AuditEntry]:
        made: dict[AuditKind, Detail] = {}
        decided = _detail(role=change.role, state=change.state, storageBytes=change.storage)
        if decided:
            made["account_changed"] = decided
        if change.controls is not None:
            made["controls_changed"] = _detail(
                revision=change.controls.revision + 1,
                locked=change.controls.locked,
                storageBytes=change.controls.storage,
                downloadBytesPerMonth=change.controls.download_size,
                downloadObjectsPerMonth=change.controls.download_objects,
                publishing=change.controls.publishing,
            )
        return [
            self._audit.entry(
                kind, actor=actor, subject=account_id, remote_address=remote_address, detail=detail
            )
            for kind, detail in made.items()
        ]


def _detail(**decided: str | int | StorageLimit | MonthlyLimit | None) -> Detail:
    """Return the members that are not None; a limit becomes its maximum."""
    return {
        name: value.maximum if isinstance(value, StorageLimit | MonthlyLimit) else value
        for name, value in decided.items()
        if value is not None
    }


def _present(summary: AccountSummary | None) -> AccountSummary:
    if summary is None:
        raise AccountMissing
    return summary

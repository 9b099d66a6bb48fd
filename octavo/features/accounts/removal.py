"""Remove an account, and what is its own."""

from collections.abc import Callable, Iterator

import trio
from attrs import define
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.audit import Audit
from octavo.access.ports import Clock, milliseconds
from octavo.features.accounts.sql import account_removal
from octavo.features.accounts.sql.account_removal import Removal
from octavo.model.access.account import AccountGone, AccountMissing
from octavo.model.access.audit import Actor, AuditEntry, account_of
from octavo.store import Script


@define(eq=False)
class AccountRemoval:
    """Removes accounts with everything that is their own.

    Args:
        audit: records removals, and writes them.
        now: the clock.
        gone: called with each workspace that was deleted; must not block.
        removed: called after each removal, also after one that failed and may have been committed:
            there is data to erase; must not block.
    """

    _audit: Audit
    _now: Clock
    _gone: Callable[[WorkspaceId], None]
    _removed: Callable[[], None]

    async def remove(
        self, account_id: AccountId, *, actor: Actor, remote_address: str | None
    ) -> None:
        """Remove an account on behalf of an administrator or a command.

        ``actor`` is the administrator, or the service of the command, ``remote_address`` its
        address. Raises `NotAdministrator`, `AccountMissing`, `LastAdministrator` and
        `StoreUnavailable`.

        If cancelled, it may have been removed.
        """
        script = account_removal.remove(account_id, actor=account_of(actor))
        await self._remove(script, account_id, actor, remote_address)

    async def remove_by_operator(
        self, account_id: AccountId, *, remote_address: str | None
    ) -> None:
        """Remove an account, and store its id and the time.

        ``remote_address`` is the address of the operator's service. Raises the same errors as
        `remove`, and is cancelled like it.
        """
        now = milliseconds(self._now())
        script = account_removal.remove(account_id, tombstone=now)
        await self._remove(script, account_id, "operator", remote_address)

    async def remove_own(self, account_id: AccountId, verified: str) -> None:
        """Remove an account on its own behalf; ``verified`` is its password (encoded), proven.

        Raises `AccountGone`, `LastAdministrator` and `StoreUnavailable`. If cancelled, it may have
        been removed.
        """
        try:
            script = account_removal.remove(account_id, verified=verified)
            await self._remove(script, account_id, account_id, None)
        except AccountMissing:
            raise AccountGone from None

    async def _remove(
        self,
        script: Script[Removal],
        account_id: AccountId,
        actor: Actor,
        remote_address: str | None,
    ) -> None:
        def entries(removal: Removal) -> Iterator[AuditEntry]:
            yield self._audit.entry(
                "account_removed",
                actor=actor,
                subject=account_id,
                remote_address=remote_address,
                detail={"deletedWorkspaces": len(removal.deleted)},
            )
            for workspace_id, heir in removal.inherited:
                yield self._audit.entry(
                    "member_changed",
                    actor="system",
                    subject=heir,
                    detail={"workspaceId": workspace_id, "role": "owner"},
                )

        try:
            # A cancelled write may still be committed: what is read until then would stay cached.
            with trio.CancelScope(shield=True):
                removal = await self._audit.write(script, entries, access_of=account_id)
        finally:
            # A write that failed may have been committed.
            self._removed()
        for workspace_id in removal.deleted:
            self._gone(workspace_id)
        for workspace_id, heir in removal.inherited:
            self._audit.after.access_changed(heir, workspace_id)

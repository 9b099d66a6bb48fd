"""Limit the storage of accounts: the size of the files of the workspaces that they own.

A workspace counts for each of its owners, with the uploads to it that are not attached yet. A
change that makes a workspace grow is refused when one of its owners would exceed the limit;
everything else is always possible.

The figures are cached, and changes of this process are added to them. So a write queries the
database at most once in some seconds, and never for a workspace whose owners have no limit.
Concurrent changes of several workspaces of one owner may be admitted before either is counted:
together they can exceed the limit by what is in flight. Each process learns the changes of other
processes some seconds later.
"""

import math
from typing import NamedTuple

import trio
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.usage.sql import storage_of_owners
from octavo.model.usage import StorageLimitReached
from octavo.store import Store

FRESH_SECONDS = 5.0
"""Seconds for which a cached figure is used."""


class _Owner:
    """The storage of an account with a limit, in bytes."""

    __slots__ = ("limit", "used")

    def __init__(self) -> None:
        self.limit = self.used = 0


class _Owners(NamedTuple):
    """The owners of a workspace.

    Attributes:
        account_ids: all of them.
        limited: those that have a limit.
        until: the time of trio's clock until which this is used.
    """

    account_ids: frozenset[AccountId]
    limited: tuple[_Owner, ...]
    until: float


class StorageQuota:
    """Limits how much the files of a workspace may grow.

    Args:
        store: the database.
        shared: whether other processes change the same database.
        maximum: the maximum number of workspaces in memory.
    """

    def __init__(self, store: Store, *, shared: bool = False, maximum: int = 10_000) -> None:
        self._store = store
        self._unlimited_fresh = FRESH_SECONDS if shared else math.inf
        self._maximum = maximum
        self._workspaces: dict[WorkspaceId, _Owners] = {}
        self._owners: dict[AccountId, _Owner] = {}
        # Incremented by `forget_account` and `forget_workspace`: the results of earlier reads are
        # not cached.
        self._generation = 0

    async def remaining(self, workspace_id: WorkspaceId) -> int | None:
        """Return by how many bytes the files of a workspace may grow; None without a limit.

        It may be negative. Raises `octavo.store.StoreUnavailable`.
        """
        owners = self._workspaces.get(workspace_id)
        # Without limits, and without other processes, it does not become outdated.
        if owners is None or (owners.until != math.inf and owners.until <= trio.current_time()):
            owners = await self._read(workspace_id)
        if not owners.limited:
            return None
        return min(owner.limit - owner.used for owner in owners.limited)

    async def require(self, workspace_id: WorkspaceId, growth: int) -> None:
        """Raise `StorageLimitReached` if the files of a workspace may not grow by ``growth`` bytes.

        Raises also `octavo.store.StoreUnavailable`.
        """
        room = await self.remaining(workspace_id)
        if room is not None and growth > max(0, room):
            raise StorageLimitReached

    def grew(self, workspace_id: WorkspaceId, growth: int) -> None:
        """Count that the files of a workspace have grown, or shrunk if ``growth`` is negative."""
        owners = self._workspaces.get(workspace_id)
        if owners is not None:
            for owner in owners.limited:
                owner.used += growth

    def forget_account(self, account_id: AccountId) -> None:
        """Read the limits of an account again; call this after a commit that may change them."""
        self._generation += 1
        self._owners.pop(account_id, None)
        owned = [
            workspace_id
            for workspace_id, owners in self._workspaces.items()
            if account_id in owners.account_ids
        ]
        for workspace_id in owned:
            del self._workspaces[workspace_id]

    def forget_workspace(self, workspace_id: WorkspaceId) -> None:
        """Read the owners of a workspace again.

        Call this after a commit that may change them, or that deletes the workspace.
        """
        self._generation += 1
        owners = self._workspaces.pop(workspace_id, None)
        for account_id in () if owners is None else owners.account_ids:
            # The storage of the owners changes with the workspaces that they own.
            self.forget_account(account_id)

    async def _read(self, workspace_id: WorkspaceId) -> _Owners:
        generation = self._generation
        stored = await self._store.read(storage_of_owners(workspace_id))
        current = generation == self._generation
        if current and len(self._workspaces) >= self._maximum:
            self._workspaces.clear()
            self._owners.clear()
        # All workspaces of an owner share its figures, which were just read.
        known = self._owners if current else {}
        limited: list[_Owner] = []
        for row in stored:
            if row.limit is not None:
                owner = known.setdefault(row.account_id, _Owner())
                owner.limit, owner.used = row.limit, row.used
                limited.append(owner)
        fresh = FRESH_SECONDS if limited else self._unlimited_fresh
        account_ids = frozenset(row.account_id for row in stored)
        owners = _Owners(account_ids, tuple(limited), trio.current_time() + fresh)
        if current:
            self._workspaces[workspace_id] = owners
        return owners

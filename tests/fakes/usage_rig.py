"""Accounts with limits, workspaces that they own, and meters that count on their database."""

from dataclasses import dataclass, field

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.features.usage import sql as usage
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.sql import InstallationAmount
from octavo.model.usage import NO_LIMITS, Amount, InstallationLimits, Month, month_of
from octavo.store import Store, Transaction, Value
from octavo.store.queries import workspaces
from tests.fakes.faulty_store import FaultyStore
from tests.fakes.identity_fixture import PredictableSources

ANN = AccountId("01900000-0000-7000-8000-00000000a001")
BEN = AccountId("01900000-0000-7000-8000-00000000a002")
HERE = WorkspaceId("01900000-0000-7000-8000-00000000b001")
THERE = WorkspaceId("01900000-0000-7000-8000-00000000b002")
NOVEMBER = Month("2026-11")


@dataclass
class UsageRig:
    """A database and a clock, which begins in November 2026."""

    store: FaultyStore
    sources: PredictableSources = field(default_factory=lambda: PredictableSources(1.7952e9))

    @property
    def month(self) -> Month:
        return month_of(self.sources.time)

    async def account(
        self,
        account_id: AccountId = ANN,
        size: int | None = None,
        objects: int | None = None,
        *,
        storage: int | None = None,
    ) -> None:
        """Create an account, or change its limits."""
        await self.execute(
            "INSERT INTO accounts (id, address, display_name, password, role, state, created_at,"
            " updated_at, controls_download_bytes, controls_download_objects, storage_limit)"
            " VALUES ($1::uuid, $2, 'Ann', '', 'member', 'enabled', 0, 0, $3, $4, $5)"
            " ON CONFLICT (id) DO UPDATE SET"
            " controls_download_bytes = excluded.controls_download_bytes,"
            " controls_download_objects = excluded.controls_download_objects,"
            " storage_limit = excluded.storage_limit",
            account_id,
            f"{account_id}@example.org",
            size,
            objects,
            storage,
        )

    async def workspace(
        self, workspace_id: WorkspaceId = HERE, owner: AccountId = ANN, *, size: int = 0
    ) -> None:
        """Create a workspace with files."""
        await self.store.write(workspaces.create(workspace_id, "A", owner, 0))
        await self.execute(
            "UPDATE workspaces SET size = $2 WHERE id = $1::uuid", workspace_id, size
        )

    async def execute(self, sql: str, *arguments: Value) -> None:
        async def script(transaction: Transaction) -> None:
            await transaction.execute(sql, *arguments)

        await self.store.inner.write(script)

    def meter(
        self, number: int = 0, limits: InstallationLimits = NO_LIMITS, *, shared: bool = False
    ) -> UsageMeter:
        """A process that counts."""
        return UsageMeter(
            self.store,
            now=self.sources.now,
            writer_id=f"01900000-0000-7000-8000-00000000c{number:03}",
            limits=limits,
            shared=shared,
        )

    async def stored(self, account_id: AccountId = ANN, month: Month | None = None) -> Amount:
        """What the database knows of an account."""
        totals = await self.store.inner.read(usage.totals([account_id], month or self.month))
        return totals.accounts[account_id].downloads

    async def stored_installation(self, month: Month | None = None) -> InstallationAmount:
        """What the database knows of the installation."""
        totals = await self.store.inner.read(usage.totals([], month or self.month))
        return totals.installation


def usage_rig(store: Store) -> UsageRig:
    return UsageRig(FaultyStore(store))

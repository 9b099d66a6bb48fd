"""Counts of usage and the storage of accounts, on both engines."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from octavo_rules.identity import Digest

from octavo.features.accounts.sql import accounts
from octavo.features.accounts.sql.account_removal import remove
from octavo.features.images import sql as uploads
from octavo.features.usage import sql as usage
from octavo.features.usage.sql import AccountTotal, InstallationAmount, OwnerStorage, UsageBatch
from octavo.model.files.image import ObjectId, UploadedImage
from octavo.model.usage import NOTHING, Amount, DownloadLimits, Month
from octavo.store import Store
from octavo.store.blobs import blob_key
from octavo.store.queries import blobs
from tests.fakes.stores import open_inline, open_postgres
from tests.fakes.usage_rig import ANN, BEN, HERE, NOVEMBER, UsageRig, usage_rig

DECEMBER = Month("2026-12")
WRITER = "01900000-0000-7000-8000-00000000c001"
Opened = Callable[[], AbstractAsyncContextManager[Store]]


def batch(number: int = 1, size: int = 10, month: Month = NOVEMBER) -> UsageBatch:
    amount = Amount(size, 1)
    accounts = {(BEN, month): amount, (ANN, month): amount}
    installation = {month: InstallationAmount(amount.plus(amount), 3)}
    return UsageBatch(WRITER, number, accounts, installation)


class Usage:
    """The guarantees on every engine; derived classes provide the fixture ``opened``."""

    @pytest.fixture
    async def rig(self, opened: Opened) -> AsyncIterator[UsageRig]:
        """A store with two accounts and a workspace of one of them."""
        async with opened() as store:
            made = usage_rig(store)
            await made.account(ANN, size=100)
            await made.account(BEN)
            await made.workspace(size=70)
            yield made

    async def test_batches_add_up_and_return_the_totals(self, rig: UsageRig) -> None:
        await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        totals = await rig.store.write(usage.add(batch(2, 5), NOVEMBER, 0))
        assert totals.accounts == {
            ANN: AccountTotal(DownloadLimits(100), Amount(15, 2)),
            BEN: AccountTotal(DownloadLimits(), Amount(15, 2)),
        }
        assert totals.installation == (Amount(30, 4), 6)
        assert await rig.store.read(usage.totals([ANN, BEN], NOVEMBER)) == totals

    async def test_batch_that_is_sent_again_counts_once(self, rig: UsageRig) -> None:
        for _ in range(3):
            await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        assert await rig.stored(month=NOVEMBER) == Amount(10, 1)
        assert await rig.stored_installation(NOVEMBER) == (Amount(20, 2), 3)

    async def test_months_are_counted_separately(self, rig: UsageRig) -> None:
        await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        await rig.store.write(usage.add(batch(2, 5, DECEMBER), DECEMBER, 0))
        assert await rig.stored(month=NOVEMBER) == Amount(10, 1)
        assert await rig.stored(month=DECEMBER) == Amount(5, 1)
        assert await rig.stored(month=Month("2027-01")) == NOTHING

    async def test_removed_account_is_not_counted(self, rig: UsageRig) -> None:
        await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        await rig.execute("UPDATE accounts SET role = 'administrator' WHERE id = $1::uuid", ANN)
        await rig.store.write(remove(BEN))
        totals = await rig.store.write(usage.add(batch(2), NOVEMBER, 0))
        assert set(totals.accounts) == {ANN}
        assert totals.installation.downloads == Amount(40, 4)

    async def test_counts_of_past_months_expire(self, rig: UsageRig) -> None:
        await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        await rig.store.write(usage.add(batch(2, 5, DECEMBER), DECEMBER, 1000))
        assert not await rig.store.write(usage.expire(NOVEMBER, 1000))
        assert await rig.stored(month=NOVEMBER) == Amount(10, 1)
        assert not await rig.store.write(usage.expire(DECEMBER, 1000))
        assert await rig.stored(month=NOVEMBER) == NOTHING
        assert await rig.stored_installation(NOVEMBER) == (NOTHING, 0)
        assert await rig.stored(month=DECEMBER) == Amount(5, 1)
        assert await rig.stored_installation(DECEMBER) == (Amount(10, 2), 3)
        # The process is forgotten later, so that a batch is still not added twice.
        await rig.store.write(usage.add(batch(2, 5, DECEMBER), DECEMBER, 1000))
        assert await rig.stored(month=DECEMBER) == Amount(5, 1)

    async def test_uploads_count_as_storage_until_they_end(self, rig: UsageRig) -> None:
        await rig.execute("UPDATE accounts SET storage_limit = 200 WHERE id = $1::uuid", ANN)
        digest = Digest(f"{7:064x}")
        key = blob_key(digest, b"entropy.")
        image = UploadedImage(ObjectId(WRITER), digest, 30, "image/png", 4, 3, 1)
        await rig.store.write(blobs.reserve([blobs.NewBlob(key, digest, 30, 9)], 1000))
        await rig.store.write(uploads.add(uploads.Upload(HERE, ANN, image, 1000), key))
        script = usage.storage_of_owners(HERE)
        assert await rig.store.read(script) == [OwnerStorage(ANN, 200, 100)]
        details = await rig.store.read(accounts.details_of(ANN, NOVEMBER))
        assert details is not None
        assert details.usage == (100, NOTHING, NOVEMBER)
        await rig.store.write(uploads.expire(1001))
        assert await rig.store.read(script) == [OwnerStorage(ANN, 200, 70)]

    async def test_storage_of_unlimited_owners_is_not_summed(self, rig: UsageRig) -> None:
        owners = await rig.store.read(usage.storage_of_owners(HERE))
        assert owners == [OwnerStorage(ANN, None, 0)]

    async def test_accounts_show_what_they_have_read(self, rig: UsageRig) -> None:
        await rig.store.write(usage.add(batch(), NOVEMBER, 0))
        listed = await rig.store.read(accounts.list_of(ANN, 10, "", NOVEMBER))
        assert [each.usage for each in listed] == [(0, Amount(10, 1), NOVEMBER)]
        found = await rig.store.read(accounts.summary_of(ANN, DECEMBER))
        assert found is not None
        assert found.usage == (70, NOTHING, DECEMBER)


class TestSqliteUsage(Usage):
    @pytest.fixture
    def opened(self) -> Opened:
        @asynccontextmanager
        async def open_store() -> AsyncIterator[Store]:
            store = open_inline()
            try:
                yield store
            finally:
                store.close()

        return open_store


class TestPostgresUsage(Usage):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Opened:
        return lambda: open_postgres(postgres_url, random=random.Random(3).random)

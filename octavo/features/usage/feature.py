"""The parts of the service that count and limit what is read, written and stored."""

from dataclasses import dataclass

from octavo.access.entropy import new_id, now
from octavo.actors.jobs.housekeeping import removal
from octavo.features.usage import sql
from octavo.features.usage.api import Metering
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.settings import UsageSettings
from octavo.features.usage.storage import StorageQuota
from octavo.kernel import Feature, Kernel, Parts, worker
from octavo.model.usage import DownloadLimits, InstallationLimits, month_before, month_of

WRITER_DAYS = 2
"""Days after which a process that has counted nothing is forgotten; it may count again."""


FEATURE = Feature(
    "usage",
    retention=lambda _: [
        removal(
            lambda now: sql.expire(
                month_before(month_of(now / 1000)), now - WRITER_DAYS * 86_400_000
            )
        )
    ],
)


@dataclass(frozen=True)
class Usage:
    """What limits the use of the installation."""

    parts: Parts
    meter: UsageMeter
    metering: Metering
    storage: StorageQuota


def usage_feature(kernel: Kernel, settings: UsageSettings) -> Usage:
    """Return the feature; nothing runs yet."""
    downloads = DownloadLimits(
        settings.download_bytes_per_month, settings.download_objects_per_month
    )
    meter = UsageMeter(
        kernel.store,
        now=now,
        writer_id=new_id(),
        limits=InstallationLimits(downloads, settings.write_objects_per_month),
        shared=kernel.shared,
    )
    storage = StorageQuota(kernel.store, shared=kernel.shared)
    kernel.after.account_changed.listen(meter.forget, storage.forget_account)
    kernel.after.workspace_changed.listen(storage.forget_workspace)
    parts = Parts(workers=[worker("usage", meter.run, meter.flush)])
    return Usage(parts, meter, Metering(meter), storage)

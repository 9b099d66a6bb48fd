"""The parts of the service that count and limit what is read, written and stored."""

from typing import NamedTuple

import trio
from greenroom import Supervisor, WorkerContext, WorkerSpec

from octavo.access.entropy import new_id, now
from octavo.features.usage.meter import UsageMeter
from octavo.features.usage.storage import StorageQuota
from octavo.model.usage import DownloadLimits, InstallationLimits
from octavo.settings import Settings
from octavo.store import Store

DRAIN_SECONDS = 2.0
"""Seconds of a stop in which the last counts can be written."""


class UsageParts(NamedTuple):
    """What limits the use of the installation."""

    meter: UsageMeter
    storage: StorageQuota


def add_usage(root: Supervisor, settings: Settings, store: Store, *, shared: bool) -> UsageParts:
    """Add the worker that writes counts; nothing runs yet.

    ``shared`` is whether other processes use the same database.
    """
    downloads = DownloadLimits(
        settings.download_bytes_per_month, settings.download_objects_per_month
    )
    meter = UsageMeter(
        store,
        now=now,
        writer_id=new_id(),
        limits=InstallationLimits(downloads, settings.write_objects_per_month),
        shared=shared,
    )

    async def write_usage(worker: WorkerContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(meter.run)
            await worker.stopping.wait()
            nursery.cancel_scope.cancel(reason="the service stops")
        await meter.flush()

    root.add(WorkerSpec("usage", write_usage, drain_timeout=DRAIN_SECONDS))
    return UsageParts(meter, StorageQuota(store, shared=shared))

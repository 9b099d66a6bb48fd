"""How much of each limit an account uses, as its pages show it."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from octavo.http.account_schemas import ControlsSchema, LimitSchema, UsageSchema
from octavo.model.usage import InstallationUsage, month_end, strictest
from octavo.store import StoreUnavailable

NEAR_PERCENT = 80
"""From this share of a limit on, a person is advised what to do."""

What = Literal["storage", "download_bytes", "download_objects", "write_objects"]
ReadUsage = Callable[[], Awaitable[InstallationUsage]]
"""Returns what the installation has used. Raises `StoreUnavailable`."""


@dataclass(frozen=True, slots=True)
class UsedShare:
    """One kind of usage.

    Attributes:
        what: the kind.
        used: bytes or objects.
        limit: the maximum; None for no limit.
    """

    what: What
    used: int
    limit: int | None

    @property
    def percent(self) -> int:
        """How much of the limit is used, 0..100, rounded down; 0 without a limit."""
        if self.limit is None:
            return 0
        return 100 if self.used >= self.limit else self.used * 100 // self.limit

    @property
    def state(self) -> Literal["", "near", "full"]:
        """Whether the limit is near or reached."""
        if self.percent < NEAR_PERCENT:
            return ""
        return "full" if self.percent == 100 else "near"


def used_shares(
    usage: UsageSchema, limit: LimitSchema, controls: ControlsSchema
) -> Iterator[UsedShare]:
    """Yield every kind of usage of an account."""
    storage = strictest(limit.storage_bytes, controls.storage_bytes)
    yield UsedShare("storage", usage.storage_bytes, storage)
    yield UsedShare("download_bytes", usage.download_bytes, controls.download_bytes_per_month)
    yield UsedShare("download_objects", usage.download_objects, controls.download_objects_per_month)


async def known(read: ReadUsage) -> InstallationUsage | None:
    """Return what the installation has used; None if that can't be read now."""
    try:
        return await read()
    except StoreUnavailable:
        return None


def installation_shares(usage: InstallationUsage) -> Iterator[UsedShare]:
    """Yield every kind of usage of the installation."""
    limits = usage.limits
    yield UsedShare("download_bytes", usage.downloads.size, limits.downloads.size)
    yield UsedShare("download_objects", usage.downloads.objects, limits.downloads.objects)
    yield UsedShare("write_objects", usage.writes, limits.writes)


def reads_are_refused(usage: InstallationUsage | None) -> bool:
    """Return whether nobody can read files, since the installation has reached a limit."""
    return usage is not None and any(
        share.state == "full"
        for share in installation_shares(usage)
        if share.what != "write_objects"
    )


def advised(shares: Sequence[UsedShare]) -> Iterator[UsedShare]:
    """Yield the shares near their limits: of storage, and of the most used kind of downloads."""
    storage = [share for share in shares if share.what == "storage"]
    downloads = [share for share in shares if share.what != "storage"]
    for share in (*storage, max(downloads, key=lambda share: share.percent)):
        if share.state:
            yield share


def first_day(month: str) -> str:
    """Return when a month such as ``2026-11`` begins, as times of the API are written."""
    return datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC).isoformat()


def next_month(month: str) -> str:
    """Return when the month after ``month`` begins, as times of the API are written."""
    first = datetime.fromisoformat(first_day(month))
    return datetime.fromtimestamp(month_end(first.timestamp()), UTC).isoformat()

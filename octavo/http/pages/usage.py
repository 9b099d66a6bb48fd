"""How much of each limit an account uses, as its pages show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from octavo.http.api.account import ControlsSchema, LimitSchema, UsageSchema
from octavo.model.accounts.administration import strictest
from octavo.model.usage import month_end

NEAR_PERCENT = 80
"""From this share of a limit on, a person is advised what to do."""

What = Literal["storage", "download_bytes", "download_objects"]


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


def advised(shares: Sequence[UsedShare]) -> Iterator[UsedShare]:
    """Yield those of which a person is advised: storage, and the most used kind of downloads."""
    storage = [each for each in shares if each.what == "storage"]
    downloads = [each for each in shares if each.what != "storage"]
    for each in (*storage, max(downloads, key=lambda each: each.percent)):
        if each.state:
            yield each


def next_month(usage: UsageSchema) -> str:
    """Return when the month after that of ``usage`` begins, as times of the API are written."""
    first = datetime.strptime(usage.month, "%Y-%m").replace(tzinfo=UTC)
    return datetime.fromtimestamp(month_end(first.timestamp()), UTC).isoformat()

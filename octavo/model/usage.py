"""Usage: what accounts and the installation read and write in a month, and its limits.

A month is a calendar month in UTC. A read costs the bytes of the content that it sends, and one
object for each file, revision or image whose content is sent, in whole or in part. The rules of
each operation are in `octavo.features.usage.api`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Literal, NamedTuple, NewType, get_args

from octavo_rules.problems import DescribedHeader, Problem, StorageFull

Month = NewType("Month", str)
"""A calendar month in UTC, such as ``2026-11``; months sort by time."""

UsageLimit = Literal[
    "account-download-bytes",
    "account-download-objects",
    "installation-download-bytes",
    "installation-download-objects",
    "installation-write-objects",
]
"""The limits of a month, as the header ``service-limit`` names them."""
USAGE_LIMITS: tuple[UsageLimit, ...] = get_args(UsageLimit)

_DECEMBER = 12


class Amount(NamedTuple):
    """Content that is read: bytes, and objects."""

    size: int = 0
    objects: int = 0

    def plus(self, other: Amount) -> Amount:
        """Return the sum."""
        return Amount(self.size + other.size, self.objects + other.objects)

    def minus(self, other: Amount) -> Amount:
        """Return the difference, not less than nothing."""
        return Amount(max(0, self.size - other.size), max(0, self.objects - other.objects))


NOTHING = Amount()


class DownloadLimits(NamedTuple):
    """The maximum of bytes and of objects that may be read in a month; None for no limit."""

    size: int | None = None
    objects: int | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.size is not None or self.objects is not None


UNLIMITED = DownloadLimits()


class InstallationLimits(NamedTuple):
    """The limits of the installation in a month; ``writes`` None for no limit of writes."""

    downloads: DownloadLimits = UNLIMITED
    writes: int | None = None


NO_LIMITS = InstallationLimits()


class InstallationUsage(NamedTuple):
    """What the installation has used of its limits.

    Attributes:
        month: the month.
        downloads: what all accounts have read in it.
        writes: the objects that were written in it.
        limits: the limits.
    """

    month: Month
    downloads: Amount
    writes: int
    limits: InstallationLimits


class MonthlyLimitReached(Problem):
    """A limit of the month refuses the request until the next month; the header names it.

    Attributes:
        limit: the limit.
        retry_after: seconds until the next month.
    """

    described_headers: ClassVar[Mapping[str, DescribedHeader]] = {
        "service-limit": DescribedHeader(
            "The monthly limit that refused the request.",
            {
                "title": "UsageLimit",
                "description": "A monthly limit.",
                "type": "string",
                "enum": [*USAGE_LIMITS],
            },
        )
    }

    def __init__(self, detail: str | None, limit: UsageLimit, retry_after: int) -> None:
        wait = (b"retry-after", b"%d" % retry_after)
        super().__init__(detail, headers=[wait, (b"service-limit", limit.encode())])
        self.limit = limit
        self.retry_after = retry_after


class DownloadLimitReached(MonthlyLimitReached):
    """A read would exceed a limit of the month."""

    status, code = 429, "download_limit"
    summary = "As much has been read in this month as the account or the installation may."
    remedy = (
        "The header service-limit names the limit, and retry-after the seconds until the next "
        "month begins (UTC). The account page shows what was read. Ask the operator of the "
        "installation for more."
    )
    heading = "You have read as much as you may"

    def __init__(self, limit: UsageLimit, retry_after: int) -> None:
        what = "bytes" if limit.endswith("bytes") else "files"
        if limit.startswith("account"):
            read = f"This account has read as many {what} as it may"
        else:
            read = (
                f"The accounts of this installation have together read as many {what} as they may"
            )
        super().__init__(
            f"{read} in this month, or the request needs more than is left. The next month begins"
            " at 00:00 UTC on its first day.",
            limit,
            retry_after,
        )


class WriteLimitReached(MonthlyLimitReached):
    """The installation has written as many objects as it may in this month."""

    status, code = 503, "storage_busy"
    summary = (
        "The installation may store no more images, thumbnails and parts of imports in this month: "
        "nothing was changed."
    )
    remedy = (
        "Notes can still be written. The header retry-after has the seconds until the next month "
        "begins (UTC). If you run the installation, see its setting write_objects_per_month."
    )
    detail = (
        "This installation has stored as many images, thumbnails and parts of imports as it may"
        " in this month: nothing was changed. The next month begins at 00:00 UTC on its first"
        " day."
    )

    def __init__(self, retry_after: int) -> None:
        super().__init__(None, "installation-write-objects", retry_after)


class StorageLimitReached(Problem):
    """A change would make the files of an owner of the workspace exceed the storage limit."""

    status, code = 413, "storage_limit"
    summary = "An owner of the workspace has no storage left: nothing was changed."
    remedy = (
        "Delete and purge files of the workspaces of this owner, or ask the operator of the "
        "installation for more storage. Deleting is always possible, and what is stored can be "
        "read."
    )

    # The rest depends on other workspaces of the owner: not every member may know it.
    detail = (
        "An owner of this workspace has no storage left for this: nothing was changed. Delete"
        " and purge files, or ask for more storage."
    )


class ImportWithoutRoom(StorageFull):
    """The files of an archive do not fit into the storage of an owner of the workspace."""

    detail = (
        "An owner of this workspace has no storage left for the files of the archive: none was"
        " imported. Delete and purge files, or ask for more storage, and complete the import"
        " again."
    )
    # Seconds after which another attempt may succeed.
    retry_after = 3600


def month_of(now: float) -> Month:
    """Return the month of a Unix time in seconds."""
    at = datetime.fromtimestamp(now, UTC)
    return Month(f"{at.year:04}-{at.month:02}")


def month_before(month: Month) -> Month:
    """Return the month before ``month``."""
    year, number = int(month[:4]), int(month[5:])
    return Month(f"{year - 1:04}-12" if number == 1 else f"{year:04}-{number - 1:02}")


def month_end(now: float) -> float:
    """Return the Unix time at which the month of ``now`` ends and the next begins."""
    at = datetime.fromtimestamp(now, UTC)
    year, month = (at.year + 1, 1) if at.month == _DECEMBER else (at.year, at.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp()


def seconds_left(now: float) -> int:
    """Return the seconds from ``now`` to the next month, rounded up; at least 1."""
    return max(1, math.ceil(month_end(now) - now))


def exceeds(used: int, more: int, limit: int | None) -> bool:
    """Return whether ``more`` would exceed a limit of which ``used`` is used.

    A limit that is used up refuses every read, also one that needs nothing of it.
    """
    return limit is not None and (used >= limit or used + more > limit)


def exceeded(
    account: Amount,
    account_limits: DownloadLimits,
    installation: Amount,
    installation_limits: DownloadLimits,
    more: Amount,
) -> UsageLimit | None:
    """Return the first limit that reading ``more`` would exceed; None if it is allowed.

    ``account`` and ``installation`` are what they have read in the month. The limits of the account
    come first, since its owner can do more about them.
    """
    if exceeds(account.size, more.size, account_limits.size):
        return "account-download-bytes"
    if exceeds(account.objects, more.objects, account_limits.objects):
        return "account-download-objects"
    if exceeds(installation.size, more.size, installation_limits.size):
        return "installation-download-bytes"
    if exceeds(installation.objects, more.objects, installation_limits.objects):
        return "installation-download-objects"
    return None


class AccountUsage(NamedTuple):
    """What an account uses.

    Attributes:
        storage: the size in bytes of the files of the workspaces that it owns, and of the uploads
            to them that are not attached yet.
        downloads: what it has read in the month.
        month: the month.
    """

    storage: int
    downloads: Amount
    month: Month


@dataclass(frozen=True, slots=True)
class StorageLimit:
    """The maximum size in bytes of the files of an account; None for no limit."""

    maximum: int | None = None


NO_STORAGE_LIMIT = StorageLimit()


@dataclass(frozen=True, slots=True)
class MonthlyLimit:
    """The maximum of bytes, or of objects, that an account may read in a month; None for none."""

    maximum: int | None = None


def strictest(*limits: int | None) -> int | None:
    """Return the smallest of the limits in bytes; None if there is none."""
    return min((limit for limit in limits if limit is not None), default=None)

"""The settings of usage: the limits of the installation."""

from typing import Annotated

from pydantic import Field

from octavo.settings import KernelSettings
from octavo.settings.values import amount, reads

_Amount = Annotated[int | None, reads(amount)]


class UsageSettings(KernelSettings):
    """What all accounts together may use in a month."""

    download_bytes_per_month: _Amount = Field(
        default=None,
        description="bytes of content that all accounts together may read in a month (UTC); more "
        "is refused until the next month. If unset, there is no limit",
    )
    download_objects_per_month: _Amount = Field(
        default=None,
        description="files, revisions and images that all accounts together may read in a month "
        "(UTC). If unset, there is no limit",
    )
    write_objects_per_month: _Amount = Field(
        default=None,
        description="images, thumbnails and parts of imports that may be written to the blob store "
        "in a month (UTC). If unset, there is no limit",
    )

"""The settings of imports and exports."""

from pydantic import Field

from octavo.features.images.settings import ImageSettings
from octavo.settings.values import Positive


class ArchiveSettings(ImageSettings):
    """How archives are read and written."""

    archive_jobs: Positive = Field(
        default=2,
        description="maximum number of imports and exports that run at the same time in the "
        "installation; an account can run one",
    )

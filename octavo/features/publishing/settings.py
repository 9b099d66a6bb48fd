"""The settings of published links."""

from typing import Annotated

from pydantic import Field

from octavo.features.mail.settings import MailSettings
from octavo.settings.values import Positive, count, reads


class PublishingSettings(MailSettings):
    """How much is published."""

    published_links: Positive = Field(
        default=200, description="maximum number of live published links of a workspace"
    )
    rendered_notes_size: Annotated[int, reads(count(1_048_576))] = Field(
        default=268_435_456,
        description="bytes of published notes that are kept in the database as HTML, compressed",
    )

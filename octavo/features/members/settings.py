"""The settings of members: who may register."""

from typing import Annotated

from pydantic import Field

from octavo.features.mail.settings import MailSettings
from octavo.features.members.rules import RegistrationPolicy
from octavo.settings.values import choice, reads


class MembersSettings(MailSettings):
    """Who may create an account."""

    registration_policy: Annotated[
        RegistrationPolicy | None, reads(choice("invitation", "open"))
    ] = Field(
        default=None,
        description="who may create an account: invitation (people who are invited) or open "
        "(everybody; requires smtp_host, terms and privacy_notice). If unset, administrators "
        "decide",
    )

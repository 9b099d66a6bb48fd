"""The settings of the service: those of the kernel and of all features."""

from collections.abc import Iterator

from octavo.features.accounts.settings import AccountSettings
from octavo.features.archives.settings import ArchiveSettings
from octavo.features.history.settings import HistorySettings
from octavo.features.images.settings import ImageSettings
from octavo.features.legal.settings import LegalSettings
from octavo.features.mail.settings import MailSettings
from octavo.features.members.settings import MembersSettings
from octavo.features.oauth.settings import OAuthSettings
from octavo.features.publishing.settings import PublishingSettings
from octavo.features.usage.settings import UsageSettings
from octavo.settings.names import variable


class Settings(
    OAuthSettings,
    PublishingSettings,
    ArchiveSettings,
    HistorySettings,
    ImageSettings,
    MembersSettings,
    AccountSettings,
    UsageSettings,
    LegalSettings,
    MailSettings,
):
    """The validated settings of one process.

    The sections stand in the reverse order of the features, as each may extend earlier ones.
    """

    groups = (
        "bind session_idle_days audit_days history_all_days remove_image_metadata archive_jobs "
        "download_bytes_per_month published_links document_size sign_in_attempts_per_address "
        "terms registration_policy portal mcp smtp_host header_timeout"
    )

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between the settings, a line each."""
        yield from super().contradictions()
        if self.registration_policy == "open":
            needed = ("smtp_host", "terms", "privacy_notice")
            missing = [variable(name) for name in needed if not getattr(self, name)]
            if missing:
                yield (
                    "open registration needs a mail server, terms and a privacy notice: give "
                    f"{', '.join(missing)}, or leave out {variable('registration_policy')}"
                )

"""The settings of the installation that administrators change, and the rules of their changes."""

from dataclasses import dataclass
from typing import Literal

from octavo_rules.refusal import DomainError

RegistrationPolicy = Literal["invitation", "open"]
"""Who may create an account: people with an invitation, or everybody."""


@dataclass(frozen=True, slots=True)
class Prerequisites:
    """What the settings of the server provide and determine.

    Attributes:
        policy: the registration policy that they set; None when administrators decide.
        mail_transport: whether messages can be sent.
        legal_documents: whether both terms and privacy notice are named.
    """

    policy: RegistrationPolicy | None = None
    mail_transport: bool = False
    legal_documents: bool = False

    def effective(self, chosen: RegistrationPolicy) -> RegistrationPolicy:
        """Return the policy in force when administrators chose ``chosen``.

        An open policy is in force only as long as what it requires is provided.
        """
        wanted = chosen if self.policy is None else self.policy
        return wanted if self.mail_transport and self.legal_documents else "invitation"

    def check_change(self, chosen: RegistrationPolicy) -> None:
        """Raise `SettingLocked` or `SettingRequired` if administrators may not choose this."""
        if self.policy is not None:
            raise SettingLocked
        if chosen == "open" and not (self.mail_transport and self.legal_documents):
            raise SettingRequired(
                mail_transport=self.mail_transport, legal_documents=self.legal_documents
            )


class SettingLocked(DomainError):
    """The settings of the server determine this."""

    code = "setting_locked"

    def __init__(self) -> None:
        super().__init__("The registration policy is determined by the settings of the server.")


class SettingRequired(DomainError):
    """Open registration requires settings that the server does not have."""

    code = "setting_required"

    def __init__(self, *, mail_transport: bool, legal_documents: bool) -> None:
        missing = [
            *([] if mail_transport else ["a mail server"]),
            *([] if legal_documents else ["terms and a privacy notice"]),
        ]
        super().__init__(
            f"Open registration requires {' and '.join(missing)} in the settings of the server."
        )

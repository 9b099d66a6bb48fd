"""Invitations: to register an account, to join a workspace, or both."""

from dataclasses import dataclass
from typing import Literal, NewType

from octavo_rules.identity import AccountId, WorkspaceId
from octavo_rules.problems import Problem

from octavo.features.accounts.rules.decisions import Decisions
from octavo.model import workspace
from octavo.model.access.account import Address, Role

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


class SettingLocked(Problem):
    """The settings of the server determine this."""

    status, code = 409, "setting_locked"
    summary = "The settings of the server determine this."
    remedy = "The operator of the installation can change the setting, or leave it out."
    detail = "The registration policy is determined by the settings of the server."


class SettingRequired(Problem):
    """Open registration requires settings that the server does not have."""

    status, code = 409, "setting_required"
    summary = "Open registration requires a mail server and legal documents."
    remedy = (
        "The operator of the installation must name a mail server, terms and a privacy notice in "
        "the settings of the server first. The detail says what is missing."
    )

    def __init__(self, *, mail_transport: bool, legal_documents: bool) -> None:
        missing = [
            *([] if mail_transport else ["a mail server"]),
            *([] if legal_documents else ["terms and a privacy notice"]),
        ]
        super().__init__(
            f"Open registration requires {' and '.join(missing)} in the settings of the server."
        )


InvitationId = NewType("InvitationId", str)
InvitationState = Literal["open", "used", "expired", "revoked"]

INVITATION_SECONDS = 7 * 86_400.0
"""Seconds for which an invitation is valid when nothing else is asked for."""
LONGEST_SECONDS = 366 * 86_400.0
"""The most seconds for which one may be valid."""
MAX_OPEN_OF_WORKSPACE = 100
"""The maximum number of open invitations into one workspace."""
MAX_OPEN = 1_000
"""The maximum number of open invitations to the installation, without those into workspaces: their
owners can't keep administrators from inviting."""


@dataclass(frozen=True, slots=True)
class InvitedInto:
    """What the holder of an invitation into a workspace learns of it before using it.

    Attributes:
        by: the display name of the account that invites; empty for none.
        name: of the workspace.
    """

    by: str
    workspace_id: WorkspaceId
    name: str
    role: workspace.Role


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation as stored; times are in milliseconds of Unix time.

    Attributes:
        address: the only address that may use it; None for any.
        role: the role of an account that is registered with it.
        used_at: None if it is unused.
        revoked_at: None if it is not revoked.
        of_start: whether a start without accounts created it; the first account revokes it.
        workspace_id: the workspace that the person joins; None for none.
        workspace_role: the role in that workspace.
        created_by: the account that invites; None for a command.
    """

    invitation_id: InvitationId
    address: Address | None
    role: Role
    created_at: int
    expires_at: int
    used_at: int | None = None
    revoked_at: int | None = None
    of_start: bool = False
    workspace_id: WorkspaceId | None = None
    workspace_role: workspace.Role | None = None
    created_by: AccountId | None = None

    @property
    def to_installation(self) -> bool:
        """Whether only administrators of the installation may grant what it grants."""
        return self.workspace_id is None or self.role == "administrator"

    @property
    def proves_address(self) -> bool:
        """Whether its use shows that the person reads the mail of the address.

        It must name the address, and come from an administrator of the installation or a command:
        the creator sees the token, and anybody may create a workspace and invite into it.
        """
        return self.address is not None and (self.created_by is None or self.to_installation)

    def state_at(self, now: int) -> InvitationState:
        """Return the state at ``now``."""
        if self.used_at is not None:
            return "used"
        if self.revoked_at is not None:
            return "revoked"
        return "open" if now < self.expires_at else "expired"

    def open_at(self, now: int) -> bool:
        """Return whether it is valid at ``now``."""
        return self.state_at(now) == "open"

    def admits(self, address: Address, now: int) -> bool:
        """Return whether the person with ``address`` can use it at ``now``."""
        return self.open_at(now) and self.address in (None, address)

    def is_granted_by(self, creator: Decisions | None, role: workspace.Role | None) -> bool:
        """Return whether its creator may still grant what it grants.

        ``creator`` is what was decided about the account, None if it was removed; ``role`` is its
        role in the workspace of the invitation, None without one. A command may grant anything.
        """
        if self.created_by is None:
            return True
        if creator is None or creator.effective_state != "enabled":
            return False
        if self.to_installation and not creator.administers:
            return False
        if self.workspace_id is None:
            return True
        return role is not None and workspace.may_change_role(role, None, self.workspace_role)

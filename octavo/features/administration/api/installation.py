"""The settings of the installation that administrators decide."""

from typing import Literal

from octavo.features.members.registration import Installation, InstallationState
from octavo.features.members.rules import RegistrationPolicy, SettingLocked, SettingRequired
from octavo.http import contract
from octavo.http.callers import require_administrator

_LONGEST_BODY = 4_096


class InstallationSchema(contract.Model):
    """The settings of the installation."""

    registration_policy: RegistrationPolicy
    """The policy in force: `open` only as long as what it requires is configured."""
    locked_by: Literal["environment"] | None
    """`environment` when the settings of the server determine the policy."""
    mail_transport: bool
    """Whether the server can send messages, which an open policy requires."""
    legal_documents: bool
    """Whether there are terms and a privacy notice, which an open policy requires."""


class InstallationUpdateInput(contract.Model):
    """A change of the settings."""

    registration_policy: RegistrationPolicy
    """`open` lets everybody create an account."""


class InstallationOperations:
    """The settings of the installation.

    Args:
        installation: the use case that reads and changes them.
    """

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    @contract.operation(
        id="getInstallation",
        method="GET",
        path="/api/installation",
        tag="administration",
        summary="Get the settings of the installation",
        description="Requires an administrator of the installation.",
    )
    async def get_installation(self, call: contract.Call) -> InstallationSchema:
        """Return the settings."""
        require_administrator(call)
        return _installation_schema(await self._installation.read())

    @contract.operation(
        id="updateInstallation",
        method="PUT",
        path="/api/installation",
        tag="administration",
        summary="Change the registration policy",
        description="Requires an administrator of the installation. The settings of the server "
        "may determine the policy. An open one requires a mail server and legal documents.",
        problems=(SettingLocked, SettingRequired),
        body=contract.json_body(InstallationUpdateInput, limit=_LONGEST_BODY),
    )
    async def update_installation(
        self, call: contract.Call, body: InstallationUpdateInput
    ) -> InstallationSchema:
        """Change the registration policy."""
        caller = require_administrator(call)
        return _installation_schema(
            await self._installation.change(
                body.registration_policy,
                actor=caller.account_id,
                remote_address=call.remote_address,
            )
        )


def _installation_schema(state: InstallationState) -> InstallationSchema:
    prerequisites = state.prerequisites
    return InstallationSchema(
        registration_policy=state.policy,
        locked_by=None if prerequisites.policy is None else "environment",
        mail_transport=prerequisites.mail_transport,
        legal_documents=prerequisites.legal_documents,
    )

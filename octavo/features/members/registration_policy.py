"""Read and change the settings of the installation that administrators decide."""

from dataclasses import dataclass

from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.features.members.rules.registration_policy import Prerequisites, RegistrationPolicy
from octavo.features.members.sql import registration_policy as installation
from octavo.store import Store


@dataclass(frozen=True, slots=True)
class InstallationState:
    """The registration policy in force, and what determines it."""

    policy: RegistrationPolicy
    prerequisites: Prerequisites


class Installation:
    """The settings of the installation.

    They are read from the store at each use, so that a change is in force in every process.

    Args:
        store: the store of the settings.
        audit: records changes.
        prerequisites: what the settings of the server provide and determine.
        audit: records changes.
    """

    def __init__(self, store: Store, prerequisites: Prerequisites, *, audit: Audit) -> None:
        self._store = store
        self._audit = audit
        self._prerequisites = prerequisites

    async def read(self) -> InstallationState:
        """Return the settings. Raises `StoreUnavailable`."""
        chosen = await self._store.read(installation.chosen_policy())
        return InstallationState(self._prerequisites.effective(chosen), self._prerequisites)

    async def change(
        self, policy: RegistrationPolicy, *, actor: AccountId, client: str | None
    ) -> InstallationState:
        """Change the registration policy for the administrator ``actor``.

        ``client`` is the address of the actor. Raises `SettingLocked`, `SettingRequired`,
        `NotAdministrator` and `StoreUnavailable`. If cancelled, it may have changed.
        """
        self._prerequisites.check_change(policy)
        await self._audit.write(
            installation.choose_policy(policy, actor),
            self._audit.entry(
                "installation_changed",
                actor=actor,
                client=client,
                detail={"registrationPolicy": policy},
            ),
        )
        return InstallationState(self._prerequisites.effective(policy), self._prerequisites)

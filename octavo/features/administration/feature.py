"""The parts of the service for administrators and the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.access.entropy import now
from octavo.control.serving import CommandWithArguments
from octavo.features.administration import account_commands
from octavo.features.administration.administration import Administration
from octavo.features.administration.api.administration import (
    AdministrationOperations,
    AuditOperations,
)
from octavo.features.administration.api.installation import InstallationOperations
from octavo.features.administration.api.operator import OperatorOperations
from octavo.features.members.registration import Installation
from octavo.http.pages.menus import MenuEntry, administrators
from octavo.kernel import Feature, Kernel, Parts
from octavo.store import StoreError

if TYPE_CHECKING:
    from octavo.features.accounts.feature import Accounts
    from octavo.features.members.feature import Membership
    from octavo.features.usage.feature import Usage
    from octavo.http.pages.page_registry import PageRegistry

FEATURE = Feature(
    "administration",
    operations=[
        AdministrationOperations,
        AuditOperations,
        InstallationOperations,
        OperatorOperations,
    ],
    menu=[
        MenuEntry("site", "Administration", "/administration", 30, administrators),
        MenuEntry("administration", "Accounts", "/administration/accounts", 10),
        MenuEntry("administration", "Invitations", "/administration/invitations", 20),
        MenuEntry("administration", "Installation", "/administration/installation", 30),
        MenuEntry("administration", "Audit", "/administration/audit", 50),
    ],
)


def administration_feature(
    kernel: Kernel, usage: Usage, accounts: Accounts, members: Membership
) -> Parts:
    """Return the feature; nothing runs yet."""
    store, audit = kernel.store, kernel.audit
    administration = Administration(store, audit=audit, now=now)
    commands = account_commands.AccountCommands(administration, accounts.removal, audit)

    async def run(command: account_commands.AccountCommand) -> str:
        try:
            result = await commands.run(command)
        except StoreError as error:
            maybe = "; it may have been carried out" if error.outcome_unknown else ""
            result = account_commands.AccountCommandResult(refusal=f"{error}{maybe}")
        return result.model_dump_json()

    def pages(site: PageRegistry) -> None:
        from octavo.features.administration.pages.administration import add_pages

        add_pages(site, usage.meter.installation_usage)

    return Parts(
        operations=[
            AdministrationOperations(administration, accounts.removal),
            AuditOperations(audit),
            InstallationOperations(Installation(store, members.prerequisites, audit=audit)),
            OperatorOperations(administration, accounts.removal, accounts.portal),
        ],
        pages=pages,
        commands={
            account_commands.NAME: CommandWithArguments(account_commands.AccountCommand, run)
        },
    )

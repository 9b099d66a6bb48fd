"""The use cases that administer accounts, in a server with caches and streams."""

from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.entropy import now
from octavo.access.ports import Changed
from octavo.control.serving import CommandWithArguments
from octavo.features.accounts.removal import AccountRemoval
from octavo.features.administration.account_command import AccountCommand, AccountCommandResult
from octavo.features.administration.account_commands import AccountCommands
from octavo.features.administration.administration import Administration
from octavo.service.components import Components
from octavo.store import StoreError


def workspace_gone(parts: Components, workspace_id: WorkspaceId) -> None:
    """End what depends on a deleted workspace, and have its data removed."""
    parts.access.forget(workspace_id)
    parts.storage.forget_workspace(workspace_id)
    parts.hub.announce_gone(workspace_id)
    parts.sweeper.wake()


def announce_members(parts: Components) -> Changed:
    """Return the listener of memberships that may have changed."""

    def member_changed(workspace_id: WorkspaceId, account_id: AccountId) -> None:
        parts.access.forget(workspace_id)
        parts.storage.forget_workspace(workspace_id)
        parts.storage.forget_account(account_id)
        parts.hub.recheck_access(account_id)

    return member_changed


def administration_of(parts: Components) -> Administration:
    """Return the use case that lists and changes accounts."""
    return Administration(parts.store, parts.credentials, audit=parts.audit, now=now)


def removal_of(parts: Components) -> AccountRemoval:
    """Return the use case that removes accounts; ``passwords`` verifies those of their owners."""
    return AccountRemoval(
        parts.store,
        parts.credentials,
        parts.passwords,
        parts.attempts,
        audit=parts.audit,
        now=now,
        gone=lambda workspace_id: workspace_gone(parts, workspace_id),
        changed=announce_members(parts),
        removed=parts.sweeper.wake,
    )


def account_command(parts: Components) -> CommandWithArguments:
    """Return the control command that administers accounts."""
    removal = removal_of(parts)
    commands = AccountCommands(administration_of(parts), removal, parts.audit)

    async def run(given: AccountCommand) -> str:
        try:
            result = await commands.run(given)
        except StoreError as error:
            maybe = "; it may have been carried out" if error.outcome_unknown else ""
            result = AccountCommandResult(refusal=f"{error}{maybe}")
        return result.model_dump_json()

    return CommandWithArguments(AccountCommand, run)

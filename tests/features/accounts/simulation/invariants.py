"""What holds in every state of identity, and from each state to the next."""

from collections import Counter
from collections.abc import Iterator

from tests.features.accounts.simulation.state import State


def faults_of_state(state: State) -> Iterator[str]:
    """Return what is wrong with a state."""
    owned = {workspace for (workspace, _), role in state.members.items() if role == "owner"}
    for workspace in sorted(state.workspaces - owned):
        yield f"the workspace {workspace} has no owner"
    tables = {
        "session": state.sessions.values(),
        "key": state.keys.values(),
        "reset token": state.resets.values(),
        "portal token": state.portal.values(),
        "membership": [account for _, account in state.members],
        "grant": state.grants.values(),
    }
    for what, accounts in tables.items():
        for account in sorted({*accounts} - state.accounts.keys()):
            yield f"a {what} belongs to {account}, which was removed"
    used = Counter(each.grant_id for each in state.secrets.values() if each.used_at is not None)
    refreshed = Counter(each.grant_id for each in state.secrets.values() if each.kind == "refresh")
    # Whatever is used up is replaced by one refresh token.
    for grant_id in used | refreshed:
        if used[grant_id] != refreshed[grant_id]:
            counts = f"{refreshed[grant_id]} refresh tokens for {used[grant_id]} uses"
            yield f"the grant {grant_id} has {counts}"


def faults_of_change(before: State, after: State) -> Iterator[str]:
    """Return what is wrong with the change from one state to the next."""
    if _administered(before) and not _administered(after):
        yield "no enabled administrator is left"
    for account_id, account in before.accounts.items():
        later = after.accounts.get(account_id)
        if later is None:
            continue
        if later.revision not in (account.revision, account.revision + 1):
            yield f"the controls of {account_id} went from {account.revision} to {later.revision}"
        if later.revision == account.revision and later.locked != account.locked:
            yield f"the controls of {account_id} changed within revision {account.revision}"
    for invitation_id, (used, _) in before.invitations.items():
        if used is not None and after.invitations.get(invitation_id, (used, 0))[0] != used:
            yield f"the invitation {invitation_id} was used again"
    for digest, secret in before.secrets.items():
        kept = after.secrets.get(digest, secret)
        if secret.used_at is not None and kept.used_at != secret.used_at:
            yield f"a {secret.kind} of the grant {secret.grant_id} was used again"


def _administered(state: State) -> bool:
    return any(account.administers for account in state.accounts.values())

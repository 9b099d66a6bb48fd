"""Each recorded change has its effect in the state, in the transaction that recorded it."""

from collections.abc import Callable, Iterator
from typing import Any

from octavo.model.access.audit import AuditEntry, AuditKind
from tests.features.accounts.simulation.state import State

Effect = Callable[[State, State, AuditEntry], bool]
"""Whether the step from one state to another has what an entry says."""


def _text(entry: AuditEntry, name: str) -> str:
    return str(entry.detail[name])


def _changed(before: State, after: State, entry: AuditEntry) -> bool:
    account = after.accounts.get(entry.subject or "")
    return account is not None and all(
        (account.role if name == "role" else account.state) == value
        for name, value in entry.detail.items()
    )


def _controlled(before: State, after: State, entry: AuditEntry) -> bool:
    account, revision = after.accounts.get(entry.subject or ""), entry.detail["revision"]
    return (
        account is not None
        and account.revision == revision
        and account.locked == int(entry.detail["locked"] is True)
        and before.accounts[entry.subject or ""].revision + 1 == revision
    )


def _password(before: State, after: State, entry: AuditEntry) -> bool:
    subject = entry.subject or ""
    left = [*after.sessions.values()].count(subject)
    return (
        before.accounts[subject].password != after.accounts[subject].password
        and subject not in after.resets.values()
        and left <= (0 if entry.detail.get("reset") else 1)
    )


def _member(before: State, after: State, entry: AuditEntry) -> bool:
    role = after.members.get((_text(entry, "workspaceId"), entry.subject or ""))
    return role == entry.detail["role"]


def _accepted(before: State, after: State, entry: AuditEntry) -> bool:
    member = (_text(entry, "workspaceId"), str(entry.actor))
    return (
        member not in before.members
        and after.members.get(member) == entry.detail["workspaceRole"]
        and _used(before, after, entry.subject or "")
    )


def _registered(before: State, after: State, entry: AuditEntry) -> bool:
    return _new(before.accounts, after.accounts, entry) and _used(
        before, after, _text(entry, "invitationId")
    )


def _used(before: State, after: State, invitation_id: str) -> bool:
    used, revoked = before.invitations[invitation_id]
    return used is None and revoked is None and after.invitations[invitation_id][0] is not None


def _new(before: dict[str, Any], after: dict[str, Any], entry: AuditEntry) -> bool:
    return entry.subject not in before and entry.subject in after


EFFECTS: dict[AuditKind, Effect] = {
    "account_changed": _changed,
    "account_registered": _registered,
    "account_removed": lambda old, new, entry: _new(new.accounts, old.accounts, entry),
    "controls_changed": _controlled,
    "documents_accepted": lambda old, new, entry: (
        new.accounts[entry.subject or ""].consent_at == entry.at
    ),
    "grant_created": lambda old, new, entry: _new(old.grants, new.grants, entry),
    "grant_revoked": lambda old, new, entry: _new(new.grants, old.grants, entry),
    "installation_changed": lambda old, new, entry: (
        entry.detail["registrationPolicy"] == new.policy
    ),
    "invitation_accepted": _accepted,
    "invitation_created": lambda old, new, entry: _new(old.invitations, new.invitations, entry),
    "invitation_revoked": lambda old, new, entry: (
        old.invitations[entry.subject or ""] == (None, None)
        and new.invitations[entry.subject or ""][1] is not None
    ),
    "key_created": lambda old, new, entry: _new(old.keys, new.keys, entry),
    "key_revoked": lambda old, new, entry: _new(new.keys, old.keys, entry),
    "member_changed": _member,
    "member_removed": lambda old, new, entry: (
        (_text(entry, "workspaceId"), entry.subject) not in new.members
    ),
    "password_changed": _password,
    "session_ended": lambda old, new, entry: _new(new.sessions, old.sessions, entry),
    "sign_in": lambda old, new, entry: len(new.sessions) >= len(old.sessions),
}


def faults_of_effects(
    before: State, after: State, entries: tuple[AuditEntry, ...]
) -> Iterator[str]:
    """Compare a step with the entries that it added."""
    created = after.workspaces - before.workspaces
    if not entries and not created and before.recorded != after.recorded:
        yield "a change has no entry in the audit of its transaction"
    for entry in entries:
        if not EFFECTS[entry.kind](before, after, entry):
            yield f"{entry.kind} of {entry.subject} is recorded, and not what it says"

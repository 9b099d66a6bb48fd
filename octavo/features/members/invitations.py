"""Create, list, revoke and accept invitations."""

from attrs import define
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.attempts import GRANTS, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.members import rules
from octavo.features.members.rules import Invitation, InvitationId
from octavo.features.members.sql import invitations
from octavo.features.members.sql.invitations import Joined
from octavo.model import workspace
from octavo.model.access.account import AccountGone, Address, Role
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of, opaque_token
from octavo.store import Store
from octavo.store.queries import accounts as account_rows


def granted(invitation: Invitation) -> dict[str, str | None]:
    """Return what an invitation grants, for the audit."""
    detail: dict[str, str | None] = {"role": invitation.role}
    if invitation.workspace_id is not None:
        detail["workspaceId"] = invitation.workspace_id
        detail["workspaceRole"] = invitation.workspace_role
    return detail


@define(eq=False)
class Invitations:
    """The invitations of people, to the installation and into workspaces.

    Args:
        store: the store of invitations.
        attempts: counts the new ones of each account, on the route `GRANTS`.
        audit: records their changes.
        now: the clock.
        new_id: returns an id for an invitation.
        new_token: returns entropy for a token.
    """

    _store: Store
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_token: NewEntropy

    async def create(
        self,
        actor: AccountId | None,
        *,
        remote_address: str | None = None,
        role: Role = "member",
        address: Address | None = None,
        expires_at: int | None = None,
        workspace_id: WorkspaceId | None = None,
        workspace_role: workspace.Role | None = None,
        of_start: bool = False,
    ) -> tuple[Invitation, str]:
        """Create an invitation; return it with its token, which is not stored.

        ``actor`` is None for a command and for the server, ``remote_address`` the address of the
        actor. Whether an account has ``address`` makes no difference. Times are in milliseconds of
        Unix time; without ``expires_at``, it is valid for a week. One ``of_start`` can be used only
        while there is no account. Raises `WorkspaceMissing`, `RoleInsufficient`,
        `TooManyInvitations`, `TooManyAttempts` and `StoreUnavailable`. If cancelled, an invitation
        whose token is lost may have been created; it appears in the list.
        """
        if actor is not None:
            self._attempts.admit_account(GRANTS, actor)
        now = milliseconds(self._now())
        invitation = Invitation(
            InvitationId(self._new_id()),
            address,
            role,
            now,
            now + milliseconds(rules.INVITATION_SECONDS) if expires_at is None else expires_at,
            of_start=of_start,
            workspace_id=workspace_id,
            workspace_role=workspace_role,
            created_by=actor,
        )
        token = opaque_token(self._new_token())
        await self._audit.write(
            invitations.create(invitation, digest_of(token.encode())),
            self._audit.entry(
                "invitation_created",
                actor=actor or "system",
                subject=invitation.invitation_id,
                remote_address=remote_address,
                detail=granted(invitation),
            ),
        )
        return invitation, token

    async def list(
        self, workspace_id: WorkspaceId | None, before: str | None, limit: int
    ) -> list[Invitation]:
        """Return invitations into a workspace, or all with None, the newest first.

        There are at most ``limit``, which follow the one with the id ``before``, if it is given.
        Raises `StoreUnavailable`.
        """
        return await self._store.read(invitations.list_of(workspace_id, before, limit))

    async def revoke(
        self,
        invitation_id: InvitationId,
        workspace_id: WorkspaceId | None,
        *,
        actor: AccountId,
        remote_address: str | None,
    ) -> None:
        """Revoke an invitation, with ``workspace_id`` only one into that workspace.

        ``remote_address`` is the address of the actor. Raises `InvitationMissing` and
        `StoreUnavailable`. If cancelled, it may have been revoked.
        """
        now = milliseconds(self._now())
        entry = self._audit.entry(
            "invitation_revoked", actor=actor, subject=invitation_id, remote_address=remote_address
        )
        await self._audit.write(invitations.revoke(invitation_id, workspace_id, now), entry)

    async def accept(
        self, account_id: AccountId, token: str, *, remote_address: str | None
    ) -> WorkspaceId:
        """Let an account join the workspace that it is invited to; return the workspace.

        ``remote_address`` is the address of the account. Raises `InvitationUnusable`,
        `AlreadyMember`, `AccountGone` and `StoreUnavailable`. If cancelled, the account may have
        joined.
        """
        account = await self._store.read(account_rows.by_id(account_id))
        if account is None:
            raise AccountGone
        now = milliseconds(self._now())
        script = invitations.accept(digest_of(token.encode()), account_id, account.address, now)

        def accepted(joined: Joined) -> list[AuditEntry]:
            entry = self._audit.entry(
                "invitation_accepted",
                actor=account_id,
                subject=joined.invitation_id,
                remote_address=remote_address,
                detail={"workspaceId": joined.workspace_id, "workspaceRole": joined.role},
            )
            return [entry]

        joined = await self._audit.write(script, accepted)
        self._audit.after.access_changed(account_id, joined.workspace_id)
        return joined.workspace_id

    def state_of(self, invitation: Invitation) -> rules.InvitationState:
        """Return the present state of an invitation."""
        return invitation.state_at(milliseconds(self._now()))

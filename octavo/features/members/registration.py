"""Register accounts: with an invitation, or without one under an open policy."""

from dataclasses import dataclass

from attrs import define
from octavo_rules.identity import AccountId

from octavo.access.attempts import Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewId, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.accounts.rules.refusal import AddressTaken, InvitationUnusable
from octavo.features.accounts.sign_in import SessionMaker, SignedIn
from octavo.features.accounts.sql import accounts
from octavo.features.legal.rules import LegalTexts
from octavo.features.members.invitations import granted
from octavo.features.members.rules import Invitation, InvitedInto, Prerequisites, RegistrationPolicy
from octavo.features.members.sql import invitations
from octavo.model.access.account import Account, Address, Consent, Role, Versions
from octavo.model.access.token import digest_of
from octavo.store import Store
from octavo.store.queries import workspaces


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
        chosen = await self._store.read(invitations.chosen_policy)
        return InstallationState(self._prerequisites.effective(chosen), self._prerequisites)

    async def change(
        self, policy: RegistrationPolicy, *, actor: AccountId, remote_address: str | None
    ) -> InstallationState:
        """Change the registration policy for the administrator ``actor``.

        ``remote_address`` is the address of the actor. Raises `SettingLocked`, `SettingRequired`,
        `NotAdministrator` and `StoreUnavailable`. If cancelled, it may have changed.
        """
        self._prerequisites.check_change(policy)
        await self._audit.write(
            invitations.choose_policy(policy, actor),
            self._audit.entry(
                "installation_changed",
                actor=actor,
                remote_address=remote_address,
                detail={"registrationPolicy": policy},
            ),
        )
        return InstallationState(self._prerequisites.effective(policy), self._prerequisites)


@define(eq=False)
class Registration:
    """Registers accounts.

    Args:
        store: the store of accounts.
        passwords: hashes passwords.
        attempts: counts the attempts for each address, on the route ``registration``.
        maker: creates their first sessions.
        legal: the documents that they must accept.
        prerequisites: what an open registration policy requires.
        audit: records new accounts.
        now: the clock.
        new_id: returns an id for an account.
    """

    _store: Store
    _passwords: Passwords
    _attempts: Attempts
    _maker: SessionMaker
    _legal: LegalTexts
    _prerequisites: Prerequisites
    _audit: Audit
    _now: Clock
    _new_id: NewId

    async def opens(self, invitation: str) -> bool:
        """Return whether an account can be created with ``invitation``; empty for none.

        Raises `StoreUnavailable`.
        """
        if not invitation:
            return await self.is_open()
        stored = await self._store.read(invitations.by_digest(digest_of(invitation.encode())))
        return stored is not None and stored.open_at(milliseconds(self._now()))

    async def invited_into(self, invitation: str) -> InvitedInto | None:
        """Return who invites with an open ``invitation``, and into which workspace; None for none.

        Raises `StoreUnavailable`.
        """
        stored = await self._store.read(invitations.by_digest(digest_of(invitation.encode())))
        if stored is None or not stored.open_at(milliseconds(self._now())):
            return None
        creator, workspace_id, role = stored.created_by, stored.workspace_id, stored.workspace_role
        if creator is None or workspace_id is None or role is None:
            return None
        # An invitation ends when its creator leaves the workspace.
        workspace = await self._store.read(workspaces.seen_by(workspace_id, creator))
        if workspace is None:
            return None
        names = await self._store.read(accounts.display_names([creator]))
        return InvitedInto(names.get(creator, ""), workspace_id, workspace.name, role)

    async def is_open(self) -> bool:
        """Return whether everybody may register; raises `StoreUnavailable`."""
        chosen = await self._store.read(invitations.chosen_policy)
        return self._prerequisites.effective(chosen) == "open"

    async def register(
        self,
        invitation: str | None,
        address: Address,
        password: str,
        display_name: str,
        device: str,
        remote_address: str | None,
        *,
        accepted: Versions | None = None,
    ) -> SignedIn:
        """Create an account with the role of ``invitation``, and its first session.

        Without an invitation, the policy must be open, and the account becomes a member.
        ``password`` and ``display_name`` must be valid; ``accepted`` are the versions of the legal
        documents that the person accepts. Concurrent requests create one account per invitation.

        Raises `ConsentDue` unless ``accepted`` are the versions in force;
        `InvitationUnusable`, also for None unless the policy is open; `AddressTaken`, but only
        for a person who may register the address; `TooManyAttempts`; `StoreUnavailable`. If
        cancelled, the account may have been created.
        """
        self._legal.require_current(accepted)
        self._passwords.require_room()
        self._attempts.admit_account("registration", address)
        # Checked before the hash, so that callers who may not register can't cause its cost.
        digest = None if invitation is None else digest_of(invitation.encode())
        stored = await self._opened(digest, address)
        role: Role = "member" if stored is None else stored.role
        if await self._store.read(accounts.password_at(address)) is not None:
            raise AddressTaken
        encoded = await self._passwords.hash(password)
        account_id = AccountId(self._new_id())
        session, token = self._maker.make(account_id, device, remote_address)
        now = session.created_at
        consent = None if accepted is None else Consent(accepted, now)
        account = Account(account_id, address, display_name, role, "enabled", now, now, consent)
        values = (account, encoded, session, digest_of(token.encode()))
        detail: dict[str, str | None] = {"role": role}
        if stored is not None:
            detail = {"invitationId": stored.invitation_id, **granted(stored)}
        entry = self._audit.entry(
            "account_registered",
            actor=account_id,
            subject=account_id,
            remote_address=remote_address,
            detail=detail,
        )
        if digest is not None:
            account = await self._audit.write(invitations.use(digest, *values), entry)
        else:
            register = invitations.register_openly(self._prerequisites, *values)
            await self._audit.write(register, entry)
        return SignedIn(account, session, token, encoded)

    async def _opened(self, digest: bytes | None, address: Address) -> Invitation | None:
        """Return the invitation with ``digest``; None under an open policy.

        Raises `InvitationUnusable`.
        """
        if digest is None:
            if not await self.is_open():
                raise InvitationUnusable
            return None
        stored = await self._store.read(invitations.by_digest(digest))
        if stored is None or not stored.admits(address, milliseconds(self._now())):
            raise InvitationUnusable
        return stored

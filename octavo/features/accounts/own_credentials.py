"""The sessions and API keys of an account."""

from attrs import define
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.attempts import GRANTS, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.accounts.rules.refusal import NoSuchKey, NoSuchSession
from octavo.features.accounts.rules.session import ApiKey, Session, SessionLife
from octavo.features.accounts.sql import api_keys, sessions
from octavo.model.access.account import AccessLimits, KeyId, SessionId
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import api_key, digest_of
from octavo.store import Store
from octavo.store.queries import workspaces


class NotAMember(Exception):
    """A key was to be limited to workspaces that the account does not belong to.

    Attributes:
        workspace_ids: these workspaces.
    """

    def __init__(self, workspace_ids: frozenset[WorkspaceId]) -> None:
        super().__init__(workspace_ids)
        self.workspace_ids = workspace_ids


@define(eq=False)
class OwnSessions:
    """Lists and ends the sessions of an account.

    Args:
        store: the store of sessions.
        audit: records sessions that end.
        now: the clock.
        life: the lifetime of sessions.
    """

    _store: Store
    _audit: Audit
    _now: Clock
    _life: SessionLife

    async def list(self, account_id: AccountId, before: str | None, limit: int) -> list[Session]:
        """Return at most ``limit`` living sessions, the newest first, starting at ``before``.

        Raises `StoreUnavailable`.
        """
        alive = self._life.alive_since(milliseconds(self._now()))
        return await self._store.read(sessions.list_of(account_id, alive, before, limit))

    async def end(
        self, account_id: AccountId, session_id: SessionId, *, remote_address: str | None
    ) -> None:
        """End one session. Raises `NoSuchSession` and `StoreUnavailable`.

        ``remote_address`` is the address of the caller. If cancelled, the session may have ended.
        """
        entry = self._audit.entry(
            "session_ended", actor=account_id, subject=session_id, remote_address=remote_address
        )
        script = sessions.end(account_id, session_id)
        if not await self._audit.write(script, entry, access_of=account_id):
            raise NoSuchSession

    async def end_others(
        self, account_id: AccountId, kept: SessionId | None, *, remote_address: str | None
    ) -> int:
        """End every session but ``kept``; return their number. Raises `StoreUnavailable`.

        ``remote_address`` is the address of the caller. If cancelled, they may have ended.
        """

        def ended_entry(ended: int) -> list[AuditEntry]:
            entry = self._audit.entry(
                "sessions_ended",
                actor=account_id,
                subject=account_id,
                remote_address=remote_address,
                detail={"count": ended},
            )
            return [entry] if ended else []

        script = sessions.end_all(account_id, but=kept)
        return await self._audit.write(script, ended_entry, access_of=account_id)


@define(eq=False)
class OwnKeys:
    """Lists, creates and revokes the API keys of an account.

    Args:
        store: the store of keys.
        attempts: counts the new keys of each account, on the route `GRANTS`.
        audit: records new and revoked keys.
        now: the clock.
        new_id: returns an id for a key.
        new_entropy: returns entropy for a secret.
    """

    _store: Store
    _attempts: Attempts
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_entropy: NewEntropy

    async def list(self, account_id: AccountId) -> list[ApiKey]:
        """Return all keys, the newest first. Raises `StoreUnavailable`."""
        return await self._store.read(api_keys.list_of(account_id))

    async def create(
        self,
        account_id: AccountId,
        name: str,
        expires_at: int | None,
        limits: AccessLimits | None = None,
        *,
        remote_address: str | None,
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its secret, which is not stored.

        ``expires_at`` is in milliseconds of Unix time, None for never; ``limits`` are None for full
        access; ``remote_address`` is the address of the caller. Raises `NotAMember`, `TooManyKeys`,
        `TooManyAttempts`, `AccountGone` and `StoreUnavailable`. If cancelled, a key whose secret is
        lost may have been created; it appears in the list.
        """
        if limits is not None and limits.workspaces is not None:
            # If a membership ends later, the access of the key ends with it.
            script = workspaces.chosen_of(account_id, sorted(limits.workspaces))
            joined = await self._store.read(script)
            unknown = limits.workspaces - {workspace.workspace_id for workspace in joined}
            if unknown:
                raise NotAMember(unknown)
        self._attempts.admit_account(GRANTS, account_id)
        created = milliseconds(self._now())
        key_id = KeyId(self._new_id())
        key = ApiKey(key_id, account_id, name, created, expires_at, used_at=None, limits=limits)
        secret = api_key(self._new_entropy())
        await self._audit.write(
            api_keys.create(key, digest_of(secret.encode())),
            self._audit.entry(
                "key_created", actor=account_id, subject=key.key_id, remote_address=remote_address
            ),
        )
        return key, secret

    async def revoke(
        self, account_id: AccountId, key_id: KeyId, *, remote_address: str | None
    ) -> None:
        """Revoke a key. Raises `NoSuchKey` and `StoreUnavailable`.

        ``remote_address`` is the address of the caller. If cancelled, the key may have been
        revoked.
        """
        entry = self._audit.entry(
            "key_revoked", actor=account_id, subject=key_id, remote_address=remote_address
        )
        script = api_keys.revoke(account_id, key_id)
        if not await self._audit.write(script, entry, access_of=account_id):
            raise NoSuchKey

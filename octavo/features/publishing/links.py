"""Create, list and revoke published links."""

from base64 import urlsafe_b64encode

from attrs import define
from octavo_rules.identity import AccountId, WorkspaceId

from octavo.access.attempts import GRANTS, Attempts
from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewEntropy, NewId, milliseconds
from octavo.features.accounts.passwords import Passwords
from octavo.features.publishing import rules
from octavo.features.publishing.rules import LinkTarget, PublicationId, PublishedLink
from octavo.features.publishing.sql import publications
from octavo.model.access.token import digest_of
from octavo.store import Store


@define(eq=False)
class PublishedLinks:
    """The links of workspaces, for the members who manage them.

    Every method raises `StoreUnavailable`.

    Args:
        store: the database.
        attempts: counts the new links of each account, on the route `GRANTS`.
        passwords: hashes the passwords of links.
        audit: records the changes.
        now: the clock.
        new_id: returns an id for a link.
        new_token: returns entropy for a token.
        maximum: the live links that a workspace may have.
    """

    _store: Store
    _attempts: Attempts
    _passwords: Passwords
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _new_token: NewEntropy
    _maximum: int

    async def create(
        self,
        workspace_id: WorkspaceId,
        target: LinkTarget,
        *,
        actor: AccountId,
        remote_address: str | None,
        label: str | None = None,
        password: str | None = None,
        openings: int | None = None,
        expires_at: int | None = None,
    ) -> tuple[PublishedLink, str]:
        """Create a link; return it with its token, which is not stored.

        ``remote_address`` is the address of the actor, ``expires_at`` in milliseconds of Unix time.
        The other arguments are valid (`rules.link`). Raises `WorkspaceMissing`, `RoleInsufficient`,
        `PublishingRefused`, `PublishedTargetMissing`, `TooManyLinks`, `TooManyAttempts` and
        `octavo.workers.WorkerFailed`. If cancelled, a link whose token is lost may have been
        created; it appears in the list.
        """
        self._attempts.admit_account(GRANTS, actor)
        encoded = None if password is None else await self._passwords.hash(password)
        now = milliseconds(self._now())
        link = PublishedLink(
            PublicationId(self._new_id()),
            workspace_id,
            target,
            label,
            encoded,
            openings,
            created_at=now,
            expires_at=expires_at,
            created_by=actor,
        )
        token = link_token(self._new_token())
        entry = self._audit.entry(
            "link_created",
            actor=actor,
            subject=link.publication_id,
            remote_address=remote_address,
            detail={"workspaceId": workspace_id, "target": target.kind},
        )
        digest = digest_of(token.encode())
        script = publications.create(link, actor, digest, self._maximum, now)
        return await self._audit.write(script, entry), token

    async def list(
        self, workspace_id: WorkspaceId, before: str | None, limit: int
    ) -> list[rules.ListedLink]:
        """Return links of a workspace, the newest first, at most ``limit``.

        They follow the one with the id ``before``, if it is given.
        """
        return await self._store.read(publications.list_of(workspace_id, before, limit))

    async def revoke(
        self,
        workspace_id: WorkspaceId,
        publication_id: PublicationId,
        *,
        actor: AccountId,
        remote_address: str | None,
    ) -> None:
        """Revoke a link, which opens nothing from then on; one that has ended stays as it is.

        Raises `WorkspaceMissing`, `RoleInsufficient` and `LinkMissing`. If cancelled, it may have
        been revoked.
        """
        now = milliseconds(self._now())
        entry = self._audit.entry(
            "link_revoked",
            actor=actor,
            subject=publication_id,
            remote_address=remote_address,
            detail={"workspaceId": workspace_id},
        )
        script = publications.revoke(workspace_id, publication_id, actor, now)
        await self._audit.write(script, entry)


def link_token(entropy: bytes) -> str:
    """Return the token of a link: base64url of the first 192 bits, 32 characters."""
    return urlsafe_b64encode(entropy[: rules.TOKEN_BYTES]).decode()

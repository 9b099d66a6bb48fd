"""Submit the changes of an operation to the actor of their workspace."""

from collections.abc import Callable
from typing import NamedTuple

from greenroom import Directory
from octavo_rules.documents.document import NOTHING, DocumentUpdate
from octavo_rules.identity import Digest, Epoch, FileId, MutationId, WorkspaceId
from octavo_rules.problems import InvalidRequest, NotFound
from pydantic_core import MISSING

from octavo.access.caller import Caller
from octavo.access.workspaces import Access
from octavo.actors.workspace.messages import (
    ChangesetRefused,
    GetUpdateSince,
    HeadOf,
    Push,
    WorkspaceMessage,
)
from octavo.http import contract
from octavo.http.callers import caller_of
from octavo.model.etag import one_strong_tag, parse_entity_tags
from octavo.model.files.changeset import ChangeOperation, Changeset, fingerprint
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Origin
from octavo.model.refusal import HeadNotNamed

Workspaces = Directory[WorkspaceId, WorkspaceMessage]


class ChangesetSubmitter(NamedTuple):
    """Submits changesets to workspaces.

    Attributes:
        workspaces: the actors of all workspaces.
        access: checks the members.
        new_id: generates the mutation id of a changeset without one.
    """

    workspaces: Workspaces
    access: Access
    new_id: Callable[[], str]

    async def push(
        self,
        call: contract.Call,
        workspace_id: str,
        operations: tuple[ChangeOperation, ...],
        mutation_id: str | MISSING = MISSING,
        *,
        requested: tuple[ChangeOperation, ...] | Digest | None = None,
        restores: bool = False,
    ) -> Receipt:
        """Submit ``operations`` to the workspace on behalf of an editor.

        ``requested`` are the operations as the client sent them, if the server added to them, or
        the fingerprint of a request without operations; a repetition is recognised by it. All
        revisions have the origin ``restore`` if the changeset ``restores`` earlier states. The
        receipt has what is visible to the caller. Raises the problems of `octavo.http.refusals`.

        If this is cancelled before the actor received the changeset, the change is not made. After
        that it may be made, and then has a receipt.
        """
        workspace = WorkspaceId(workspace_id)
        caller = caller_of(call)
        await self.access.check(workspace, caller, "write")
        if mutation_id is MISSING:
            # Nobody else knows the generated id, so it cannot be reused for another change.
            mutation, digest = self.new_id(), Digest("")
        else:
            mutation = mutation_id
            digest = (
                Digest(requested)
                if isinstance(requested, str)
                else fingerprint(operations if requested is None else requested)
            )
        changeset = Changeset(
            MutationId(mutation),
            digest,
            caller.account_id,
            operations,
            repeatable=mutation_id is not MISSING,
            origin="restore" if restores else _origin_of(call, caller),
            program=caller.program,
            within=caller.confinement,
        )
        try:
            receipt = await self.workspaces.ask(workspace, Push(changeset))
        except ChangesetRefused as refused:
            if isinstance(requested, tuple) and not all(
                operation.file_id for operation in requested
            ):
                # Nobody has seen the id that was generated.
                refused.refusal.file_id = None
            raise
        return receipt if caller.confinement is None else visible_receipt(call, receipt)

    async def missing_update(
        self, call: contract.Call, workspace_id: str, file_id: str, epoch: str, vector: bytes
    ) -> DocumentUpdate:
        """Return what a client with the state vector ``vector`` lacks of a document.

        Return nothing for a note that was purged meanwhile, or is not visible any more.
        """
        workspace, nothing = (
            WorkspaceId(workspace_id),
            DocumentUpdate(Epoch(epoch), NOTHING, vector),
        )
        missing_update = GetUpdateSince(FileId(file_id), Epoch(epoch), vector)
        update = await self.workspaces.ask(workspace, missing_update)
        within = caller_of(call).confinement
        if within is not None:
            # The note may have been moved after the change.
            head = await self.workspaces.ask(workspace, HeadOf(FileId(file_id)))
            if head is None or not within.covers(head.path):
                return nothing
        return nothing if update is None else update


def _origin_of(call: contract.Call, caller: Caller) -> Origin:
    if caller.grant_id is not None:
        return "mcp"
    if contract.OF_PAGE in call.scope:
        return "page"
    return "device" if caller.key_id is None else "key"


def visible_receipt(call: contract.Call, receipt: Receipt) -> Receipt:
    """Return what the caller may see of a receipt. Raises `NotFound` when that is nothing."""
    within = caller_of(call).confinement
    visible = receipt if within is None else receipt.within(within)
    if visible is None:
        raise NotFound
    return visible


def expected_heads(if_match: str | None) -> frozenset[str]:
    """Return the revisions in the strong entity tags of ``if-match`` (RFC 9110 13.1.1).

    Raises `HeadNotNamed` when it is missing or ``*``, and `InvalidRequest` when it is invalid.
    """
    if if_match is None:
        raise HeadNotNamed
    only = one_strong_tag(if_match)
    if only is not None:
        return frozenset((only,))
    try:
        tags = parse_entity_tags(if_match)
    except ValueError as error:
        raise InvalidRequest(errors=[("/headers/if-match", f"This {error}.")]) from None
    if tags.anything:
        raise HeadNotNamed(
            "Name the head that you change by its entity tag: with *, you would overwrite what"
            " you have not seen."
        )
    return tags.strong

"""The way of a change from its operation to the actor of its workspace."""

from collections.abc import Callable
from typing import NamedTuple

from pydantic_core import MISSING

from octavo.actors.core import Directory
from octavo.actors.workspace.actor import WorkspaceActor
from octavo.actors.workspace.messages import MissingUpdate, Push
from octavo.http.api.access import Access
from octavo.http.api.refusals import IfMatchRequired
from octavo.http.contract.call import Call
from octavo.http.contract.problems import InvalidRequest
from octavo.model.documents.document import DocumentUpdate
from octavo.model.documents.initial_document import NOTHING
from octavo.model.etag import parse_entity_tags
from octavo.model.files.changeset import Changeset, Operation, fingerprint
from octavo.model.files.receipt import Receipt
from octavo.model.identity import Digest, Epoch, FileId, MutationId, WorkspaceId

Workspaces = Directory[WorkspaceId, WorkspaceActor]


class ChangesetSubmitter(NamedTuple):
    """Has changesets accepted.

    Attributes:
        workspaces: the actors of all workspaces.
        access: judges the members.
        new_id: makes the identity of a mutation that comes without one.
    """

    workspaces: Workspaces
    access: Access
    new_id: Callable[[], str]

    async def push(
        self,
        call: Call,
        workspace_id: str,
        operations: tuple[Operation, ...],
        mutation_id: str | MISSING = MISSING,
        *,
        asked: tuple[Operation, ...] | None = None,
    ) -> Receipt:
        """Have ``operations`` accepted by the workspace, for an editor of it.

        ``asked`` is what the client sent, where the server added to it: by this a repetition is
        told from another change.

        Raises the problems of `octavo.http.api.refusals`. Cancelled before the actor took it,
        the change is not made; later it may be, which its mutation tells.
        """
        workspace = WorkspaceId(workspace_id)
        caller = await self.access.require(call, workspace, "write")
        if mutation_id is MISSING:
            # Nobody can send another change under a name that nobody else knows.
            name, told = self.new_id(), Digest("")
        else:
            name, told = mutation_id, fingerprint(operations if asked is None else asked)
        changeset = Changeset(
            MutationId(name),
            told,
            caller.account_id,
            operations,
            repeatable=mutation_id is not MISSING,
            origin="device" if caller.key_id is None else "key",
        )
        return await self.workspaces.ask(workspace, Push(changeset))

    async def lacking(
        self, workspace_id: str, file_id: str, epoch: str, vector: bytes
    ) -> DocumentUpdate:
        """Return what somebody lacks of a document who has ``vector`` of the generation ``epoch``.

        Of a note that was purged meanwhile there is nothing to have.
        """
        lacking = MissingUpdate(FileId(file_id), Epoch(epoch), vector)
        found = await self.workspaces.ask(WorkspaceId(workspace_id), lacking)
        return DocumentUpdate(Epoch(epoch), NOTHING, vector) if found is None else found


def expected_heads(if_match: str | None) -> frozenset[str]:
    """Return the revisions that the header ``if-match`` names strongly (RFC 9110 13.1.1).

    Raises `IfMatchRequired` when it is missing or ``*``, and `InvalidRequest` when it is none.
    """
    if if_match is None:
        raise IfMatchRequired
    try:
        tags = parse_entity_tags(if_match)
    except ValueError as error:
        raise InvalidRequest(errors=[("/headers/if-match", f"This {error}.")]) from None
    if tags.anything:
        raise IfMatchRequired
    return tags.strong

"""Judge a run: the final data for consistency, and against what devices learned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from greenroom.testing import History, HistoryEntry, NotLinearizable, Status, check_linearizable
from octavo_rules.identity import RevisionId, WorkspaceId

from octavo.model.documents.update_log import DocumentLimits
from tests.histories.feed_order import check_order
from tests.histories.operations import Commit, Operation
from tests.simulation.device import WORKSPACES, Device, faults_of_current_files
from tests.simulation.disk import Disk
from tests.simulation.document_faults import faults_of_documents
from tests.simulation.forgetting import faults_of_cache, faults_of_purged, sweep_all
from tests.simulation.index_faults import faults_of_indexes
from tests.simulation.invariants import faults_of, faults_of_device, faults_of_past
from tests.simulation.kept import Kept, KeptReceipt, feed_of, kept
from tests.simulation.ledger import SHARED, Ledger
from tests.simulation.pipelining import PIPELINES, faults_of_pipelines
from tests.simulation.process import Process
from tests.simulation.retention_faults import faults_of_retention
from tests.simulation.sent_faults import faults_of_sent
from tests.simulation.specification import (
    Accepted,
    Rejected,
    Request,
    Sent,
    Specification,
    files_of,
)

PRUNING = 0.2
"""The runs after which the histories are pruned."""


class Violated(AssertionError):
    """An invariant was violated; the text lists all violations, one per line."""

    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__("\n".join([f"{len(violations)} violations:", *violations]))


async def judge(
    disk: Disk,
    history: History[Request],
    devices: Sequence[Device],
    names: Sequence[WorkspaceId],
    ledger: Ledger,
    limits: DocumentLimits,
    violations: Sequence[str],
    stopped: Sequence[Process],
    random: Random,
) -> None:
    """Judge a finished run; ``violations`` are those found while it was running.

    ``names`` are the existing workspaces, ``ledger`` has what was written into documents, whose
    limits are ``limits``; ``stopped`` are the processes that ran at the end.
    ``random`` decides about the pruning.

    Raises `Violated`, and `OrderViolated` and `NotLinearizable` of the kit.
    """
    if violations:
        raise Violated(violations)
    await sweep_all(disk)
    everything = [await disk.read(kept(workspace_id)) for workspace_id in names]
    workspaces = everything[: len(WORKSPACES)]
    check_order(
        list(commits(history.entries, workspaces)),
        {each.workspace_id: list(feed_of(each)) for each in workspaces},
    )
    found = [fault for each in everything for fault in faults_of(each)]
    for each in workspaces:
        found += await disk.read(faults_of_past(each))
    for each in everything:
        found += faults_of_sent(each, ledger)
        for device in devices:
            found += faults_of_device(each, device)
            if each.workspace_id == PIPELINES:
                found += faults_of_pipelines(each, device.pipelines)
    for each in everything:
        if each.workspace_id != SHARED:
            continue
        found += await faults_of_documents(disk, each, ledger, devices, limits)
    found += await faults_of_purged(disk, everything, ledger)
    for process in stopped:
        found += faults_of_cache(process.documents.cache, everything)
        for each in everything:
            found += process.searches.faults_of_held(each.workspace_id, each.heads.values())
            found += faults_of_current_files(process.files, each.workspace_id, each.heads.values())
    found += await faults_of_indexes(disk, everything)
    if found:
        raise Violated(found)
    try:
        check_linearizable(list(settled(history.entries, workspaces)), Specification())
    except NotLinearizable as error:
        # A listing concerns the workspace.
        error.about = files_of(error.stuck.operation) or error.about
        raise
    if random.random() < PRUNING:
        found = await faults_of_retention(disk, names, random)
        if found:
            raise Violated(found)


# The history, in the terms of the kit


def commits(
    entries: Sequence[HistoryEntry[Request]], workspaces: Sequence[Kept]
) -> Iterator[HistoryEntry[Operation]]:
    """Return the changesets of devices as commits of registers; a file holds its head's mutation.

    Changesets without effect are left out, since they take no position. A purge expects any value.
    """
    before: dict[tuple[str, str, str], str] = {}
    for workspace in workspaces:
        standing: dict[str, str] = {}
        for revision in workspace.revisions:
            file_id, mutation = revision.file_id, revision.mutation_id
            before[workspace.workspace_id, file_id, mutation] = standing.get(file_id, "")
            standing[file_id] = mutation
    receipts = _receipts(workspaces)
    for entry in entries:
        sent = entry.operation
        if not isinstance(sent, Sent):
            continue
        receipt = receipts[sent.workspace].get(sent.mutation)
        outcomes = [outcome for outcome, _ in receipt.changes] if receipt else []
        swaps: dict[str, tuple[str | None, str]] = {}
        for number, intent in enumerate(sent.intents):
            if number < len(outcomes) and outcomes[number] == "unchanged":
                continue
            expected = intent.expected
            if intent.kind == "purge":
                expected = before.get((sent.workspace, intent.file, sent.mutation))
            swaps[intent.file] = (expected, sent.mutation)
        if swaps:
            result = entry.result
            yield HistoryEntry(
                entry.process,
                Commit.of(sent.workspace, sent.mutation, swaps),
                entry.invoked,
                entry.status,
                entry.completed,
                result.position if isinstance(result, Accepted) else None,
            )


def settled(
    entries: Sequence[HistoryEntry[Request]], workspaces: Sequence[Kept]
) -> Iterator[HistoryEntry[Request]]:
    """Return the entries, completed with what is known in the end.

    Unknown outcomes are taken from the receipts; the heads in a refusal are replaced by the
    mutations that made them.
    """
    receipts = _receipts(workspaces)
    made = {each.revision_id: each.mutation_id for of in workspaces for each in of.revisions}
    for entry in entries:
        if isinstance(entry.result, Rejected):
            heads = tuple(
                (file, made.get(RevisionId(head), "")) for file, head in entry.result.heads
            )
            yield replace(entry, result=Rejected(entry.result.code, heads))
            continue
        sent = entry.operation
        if entry.status is not Status.UNKNOWN or not isinstance(sent, Sent):
            yield entry
            continue
        receipt = receipts[sent.workspace].get(sent.mutation)
        if receipt is not None and receipt.fingerprint == sent.fingerprint:
            outcomes = tuple(outcome for outcome, _ in receipt.changes)
            yield replace(entry, result=Accepted(receipt.position, outcomes))


def _receipts(workspaces: Iterable[Kept]) -> dict[str, Mapping[str, KeptReceipt]]:
    return {str(each.workspace_id): each.receipts for each in workspaces}

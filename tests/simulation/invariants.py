"""Invariants of the stored data."""

from collections import defaultdict
from collections.abc import Iterator

from octavo_rules.content import note_text
from octavo_rules.identity import FileId, Position, WorkspaceId

from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from octavo.store import Script, Transaction
from octavo.store.queries.feed import live_at
from tests.simulation.device import Device
from tests.simulation.kept import Kept, feed_of

SPLIT = 4
"""Of so many positions, the files of one are read in several pages."""


def faults_of(workspace: Kept) -> Iterator[str]:
    """Return the contradictions within the tables."""
    name = workspace.workspace_id
    positions = sorted({revision.position for revision in workspace.revisions})
    if positions != list(range(1, workspace.position + 1)):
        yield f"{name}: at {workspace.position}, and there are revisions at {positions}"
    newest = {revision.file_id: revision for revision in workspace.revisions}
    if newest != workspace.heads:
        yield f"{name}: the newest revisions {newest} are not the heads {workspace.heads}"
    size = sum(head.size for head in workspace.heads.values())
    if workspace.size != size:
        yield f"{name}: the heads have {size} bytes, and {workspace.size} are counted"
    yield from _faults_of_tree(workspace)
    yield from faults_of_texts(workspace)
    yield from _faults_of_receipts(workspace)


def _faults_of_tree(workspace: Kept) -> Iterator[str]:
    live = sorted(head.path for head in workspace.heads.values() if head.state == "live")
    places = [path.casefold() for path in live]
    if len(set(places)) < len(places):
        yield f"{workspace.workspace_id}: two files at one place in {live}"
    if any(place.startswith(f"{folder}/") for place in places for folder in places):
        yield f"{workspace.workspace_id}: a file below another in {live}"


def faults_of_texts(workspace: Kept) -> Iterator[str]:
    """Return the revisions without their texts or images, and those of no revision."""
    name = workspace.workspace_id
    purged = {head.file_id for head in workspace.heads.values() if head.state == "purged"}
    wanted: set[str] = set()
    for revision in workspace.revisions:
        if revision.file_id in purged:
            if (revision.path, revision.content_id, revision.digest, revision.size) != (
                "",
                "",
                "",
                0,
            ):
                yield f"{name}: {revision} is left of a purged file"
            continue
        wanted.add(revision.content_id)
        if revision.kind != "note":
            image = workspace.images.get(revision.content_id)
            if image != (revision.digest, revision.size):
                yield f"{name}: {revision} has the image {image}"
            continue
        text = workspace.texts.get(revision.content_id)
        content = None if text is None else note_text(text)
        if content is None or (content.digest, content.size) != (revision.digest, revision.size):
            yield f"{name}: {revision} has the text {text!r}"
    without = (workspace.texts.keys() | workspace.images.keys()) - wanted
    if without:
        yield f"{name}: texts and images of no revision: {sorted(without)}"


def _faults_of_receipts(workspace: Kept) -> Iterator[str]:
    name = workspace.workspace_id
    for entry in feed_of(workspace):
        receipt = workspace.receipts.get(entry.mutation)
        if receipt is None or receipt.position != entry.position:
            yield f"{name}: {entry} has the receipt {receipt}"
    made: dict[str, list[str]] = defaultdict(list)
    for revision in workspace.revisions:
        made[revision.mutation_id].append(revision.revision_id)
    for mutation, receipt in workspace.receipts.items():
        told = [revision for outcome, revision in receipt.changes if outcome != "unchanged"]
        if sorted(made.get(mutation, [])) != sorted(told):
            yield f"{name}: {mutation} made {made.get(mutation)}, and its receipt tells {told}"


def faults_of_past(workspace: Kept) -> Script[list[str]]:
    """Return the positions at which the live files differ from those at the time."""

    async def compare(transaction: Transaction) -> list[str]:
        found: list[str] = []
        then: dict[FileId, Revision] = {}
        revisions = iter(workspace.revisions)
        following = next(revisions, None)
        for number in range(workspace.position + 1):
            position = Position(number)
            while following is not None and following.position <= position:
                then[following.file_id] = following
                following = next(revisions, None)
            expected = {
                file_id: revision
                for file_id, revision in then.items()
                if revision.state == "live" and workspace.heads[file_id].state != "purged"
            }
            told = await _told_of(transaction, workspace.workspace_id, position)
            if told != expected:
                where = f"{workspace.workspace_id} at {position}"
                found.append(f"{where} had {expected}, and tells {told}")
        return found

    return compare


async def _told_of(
    transaction: Transaction, workspace_id: WorkspaceId, position: Position
) -> dict[FileId, Revision]:
    files: dict[FileId, Revision] = {}
    after: FileId | None = FileId("")
    while after is not None:
        limit = 2 if position % SPLIT == 0 else 100
        script = live_at(workspace_id, position, after, limit, max_bytes=1 << 30)
        page, after = await script(transaction)
        files.update((stored.revision.file_id, stored.revision) for stored in page)
    return files


def faults_of_device(workspace: Kept, device: Device) -> Iterator[str]:
    """Return the wrong information that a device got."""
    name = f"{workspace.workspace_id}, {device.name}"
    mirror = device.mirrors[workspace.workspace_id]
    if (mirror.cursor.position, mirror.heads) != (workspace.position, workspace.heads):
        yield f"{name}: the feed left {mirror.heads} at {mirror.cursor} of {workspace.heads}"
    for of, receipt in device.receipts:
        if of == workspace.workspace_id and not _is_kept(receipt, workspace):
            yield f"{name}: {receipt} is not kept as it was told"
    # The content of a purged file is forgotten.
    kept = {each.revision_id: each for each in workspace.revisions if each.path}
    for found in device.found:
        asked = found.candidate
        head = kept.get(asked.revision_id)
        if asked.workspace_id == workspace.workspace_id and head is not None:
            seen = (asked.file_id, asked.path, note_text(found.text.text).digest)
            if seen != (head.file_id, head.path, head.digest):
                yield f"{name}: a search found {asked} with {found.text.text!r}, which is {head}"


def _is_kept(receipt: Receipt, workspace: Kept) -> bool:
    kept = workspace.receipts.get(receipt.mutation_id)
    if kept is None:
        return False
    changes = tuple((each.outcome, each.head.revision_id) for each in receipt.outcomes)
    if (kept.fingerprint, kept.position, kept.changes) != (
        receipt.fingerprint,
        receipt.position,
        changes,
    ):
        return False
    # The content of a purged file is forgotten, and may have been sent before.
    purged = {head.file_id for head in workspace.heads.values() if head.state == "purged"}
    told = [each.head for each in receipt.outcomes if each.head.file_id not in purged]
    return all(head in workspace.revisions for head in told)

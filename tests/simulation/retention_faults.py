"""What is left when histories were pruned and receipts have expired, compared with the rules.

Written independently of `rules.retention`, and naive: it looks at each revision, and
asks whether anything keeps it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from random import Random

from octavo_rules.changes import SaveNote
from octavo_rules.identity import Epoch, FileId, WorkspaceId

from octavo.actors.jobs.housekeeping import RetentionJob, removal
from octavo.documents import merged
from octavo.features.history.feature import pruning
from octavo.features.history.rules.retention import DAY, HOUR, Retention
from octavo.model.documents.update_log import DocumentLimits
from octavo.model.files.revision import Revision
from octavo.store import Script, Transaction
from octavo.store.queries.documents import DOCUMENT, WITH_DOCUMENT, document_of_row, updates_beside
from octavo.store.queries.expiry import expire_receipts
from octavo.store.queries.files import whole_file
from octavo.store.queries.revision_rows import WORKSPACE
from tests.fakes.inline_documents import inline_documents
from tests.fakes.workspace_rig import serving
from tests.fakes.yjs_device import Device
from tests.simulation.disk import Disk
from tests.simulation.document_faults import faults_of_stored
from tests.simulation.index_faults import catch_up_indexes
from tests.simulation.invariants import faults_of_texts
from tests.simulation.kept import Kept, kept
from tests.simulation.ledger import NOTES, SHARED, now

_STORED = f"""
    SELECT files.file_id, {DOCUMENT} FROM files {WITH_DOCUMENT}
    WHERE files.workspace = {WORKSPACE}
"""
_FIRST_MARK = 0x2600
_RECEIPTS = f"SELECT mutation_id FROM receipts WHERE workspace = {WORKSPACE} AND created_at >= $2"


async def faults_of_retention(
    disk: Disk, workspace_ids: Sequence[WorkspaceId], random: Random
) -> list[str]:
    """Run a round of the job with drawn rules; return what is left besides what they keep."""
    if SHARED in workspace_ids:
        await _save_unread(disk, random)
        # A text whose words are indexed stays.
        await disk.write(catch_up_indexes)
    workspaces = [await disk.read(kept(each)) for each in workspace_ids]
    present = int(now() * 1000)
    later = present + random.choice([0, 2 * HOUR, 3 * DAY])
    retention = Retention(
        all_of=random.choice([0, 1000, HOUR]),
        hourly=random.choice([HOUR, 2 * DAY]),
        least=random.choice([1, 2, 4]),
    )
    # None, some, or all of the receipts expire.
    cut = random.choice([0, present - random.randrange(3000), present + 1])
    left = [await disk.read(_unexpired(each, cut)) for each in workspaces]
    await RetentionJob(
        disk,
        lambda: later / 1000,
        (removal(lambda _: expire_receipts(cut)), pruning(retention)),
    ).round()
    faults: list[str] = []
    for each, receipts in zip(workspaces, left, strict=True):
        after = await disk.read(kept(each.workspace_id))
        name = f"{each.workspace_id} after {retention} at {later}"
        if set(after.receipts) != receipts:
            faults.append(f"{name}: the receipts {sorted(after.receipts)}, not {sorted(receipts)}")
        expected = [*kept_by_rules(each, receipts, retention, later)]
        if [*after.revisions] != expected:
            gone = [r.revision_id for r in expected if r not in after.revisions]
            more = [r.revision_id for r in after.revisions if r not in expected]
            faults.append(f"{name}: retention has removed {gone}, and left {more}")
        faults += faults_of_texts(after)
        faults += await disk.read(_faults_of_documents(each, after))
    return faults


async def _save_unread(disk: Disk, random: Random) -> None:
    """Save edits of a device, of which many stay beside their documents: nobody reads them."""
    documents = inline_documents(limits=DocumentLimits(logged=random.choice([2, 4, 64])))
    marks = map(chr, count(_FIRST_MARK))
    async with serving(disk, shared=True, documents=documents, name="u", now=now) as rig:
        for file_id in NOTES:
            whole = await disk.read(whole_file(SHARED, file_id, merged))
            assert whole is not None, "the note is gone"
            assert whole.document is not None, "the note was purged"
            device = Device.kept(whole.document, random.getrandbits(32))
            for _ in range(random.choice([0, 1, 3])):
                mark, stays = next(marks), random.random() < 0.3
                for deletes in (False,) if stays else (False, True):
                    before = device.vector()
                    if deletes:
                        device.delete(0, 1)
                    else:
                        device.insert(0, mark)
                    update = device.doc.get_update(before)
                    save = SaveNote(file_id, Epoch(device.epoch), update)
                    await rig.push(save, workspace_id=SHARED)


def _faults_of_documents(before: Kept, after: Kept) -> Script[list[str]]:
    """Return the marks of pruned texts that documents still have, and what they read instead.

    Every character outside ASCII is a mark, which is in one place only.
    """
    left: defaultdict[FileId, set[str]] = defaultdict(set)
    for each in after.revisions:
        left[each.file_id].update(after.texts.get(each.content_id, ""))
    gone: defaultdict[FileId, set[str]] = defaultdict(set)
    for each in before.revisions:
        text = before.texts.get(each.content_id, "")
        gone[each.file_id].update(mark for mark in text if not mark.isascii())

    async def faults(transaction: Transaction) -> list[str]:
        rows = await transaction.fetch_all(_STORED, before.workspace_id)
        updates = await updates_beside(transaction, before.workspace_id, [row[0] for row in rows])
        found: list[str] = []
        for file_id, *row in rows:
            beside = updates.get(file_id, b"")
            stored = document_of_row(row, beside)
            assert stored is not None, "it is damaged"
            for mark in gone[file_id] - left[file_id]:
                for place, data in ("document", stored.document.state), ("updates", beside):
                    if mark.encode() in data:
                        found.append(f"{file_id}: {mark} is in its {place}, and its text is gone")
        return found + await faults_of_stored(before)(transaction)

    return faults


def _unexpired(workspace: Kept, cut: int) -> Script[set[str]]:
    async def read(transaction: Transaction) -> set[str]:
        rows = await transaction.fetch_all(_RECEIPTS, workspace.workspace_id, cut)
        return {str(row[0]) for row in rows}

    return read


def kept_by_rules(
    workspace: Kept, receipts: set[str], retention: Retention, now: int
) -> Iterator[Revision]:
    """Yield the revisions that something keeps at ``now`` (ms): the rules, or a receipt."""
    stays: set[str] = set()
    for file_id in workspace.heads:
        history = [each for each in workspace.revisions if each.file_id == file_id]
        for number, each in enumerate(history, start=1):
            newer = history[number:]
            age = now - each.created_at
            length = HOUR if age < retention.hourly else DAY
            if (
                len(newer) < max(1, retention.least)
                or age < retention.all_of
                or each.mutation_id in receipts
                or not any(
                    _is_of(other, each.created_at, length, retention, now) for other in newer
                )
            ):
                stays |= {each.revision_id, each.content_id}
    return (each for each in workspace.revisions if each.revision_id in stays)


def _is_of(newer: Revision, created_at: int, length: int, retention: Retention, now: int) -> bool:
    """Return whether a newer revision stands for an hour or a day, that of an older one."""
    age = now - newer.created_at
    if age < retention.all_of:
        return False
    own = HOUR if age < retention.hourly else DAY
    return own == length and newer.created_at // length == created_at // length

"""Invariants of the notes that devices edited together, once everything is synchronized."""

from collections.abc import Iterable, Iterator, Mapping

from octavo_rules.documents.document import StoredDocument
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.identity import FileId
from pycrdt import Doc, Text

from octavo.documents import merged
from octavo.model.documents.update_log import DocumentLimits
from octavo.store import Script, Store, Transaction
from octavo.store.queries.documents import DOCUMENT, WITH_DOCUMENT, document_of_row, updates_beside
from octavo.store.queries.files import WholeFile, whole_file
from octavo.store.queries.revision_rows import WORKSPACE
from tests.simulation.device import Device
from tests.simulation.kept import Kept
from tests.simulation.ledger import NOTES, SHARED, Ledger

_STORED = f"""
    SELECT files.file_id, {DOCUMENT} FROM files {WITH_DOCUMENT}
    WHERE files.workspace = {WORKSPACE}
"""


async def faults_of_documents(
    disk: Store, kept: Kept, ledger: Ledger, devices: Iterable[Device], limits: DocumentLimits
) -> list[str]:
    """Return what is wrong with documents, texts and copies."""
    found = await disk.read(faults_of_stored(kept))
    texts: dict[FileId, str] = {}
    for file_id in NOTES:
        whole = await disk.read(whole_file(SHARED, file_id, merged))
        assert whole is not None, "a note is gone"
        assert whole.document is not None, "a note was purged"
        texts[file_id] = whole.stored.text or ""
        found += _faults_of_document(kept, whole, whole.document)
        for device in devices:
            found += _faults_of_replica(kept, device, file_id, whole, whole.document, limits)
    return [*found, *_faults_of_marks(kept, ledger, texts)]


def faults_of_stored(kept: Kept) -> Script[list[str]]:
    """Return what is wrong with documents, whether or not they have followed their texts."""

    async def faults(transaction: Transaction) -> list[str]:
        rows = await transaction.fetch_all(_STORED, kept.workspace_id)
        updates = await updates_beside(transaction, kept.workspace_id, [row[0] for row in rows])
        found: list[str] = []
        for file_id, *row in rows:
            stored = document_of_row(row, updates.get(file_id, b""))
            assert stored is not None, "it is damaged"
            # The revision may have been pruned.
            expected = kept.texts.get(
                stored.content_id, text := _text_of(merged(stored.document, stored.updates))
            )
            if text != expected:
                found.append(f"{file_id}: has the text of another content, {text!r}")
        return found

    return faults


def _text_of(document: StoredDocument) -> str:
    doc: Doc[Text] = Doc()
    text = doc.get("text", type=Text)
    doc.apply_update(document.state)
    return str(text)


def _faults_of_document(kept: Kept, whole: WholeFile, document: StoredDocument) -> Iterator[str]:
    head, text = whole.stored.revision, whole.stored.text
    if head != kept.heads[head.file_id] or text != kept.texts[head.content_id]:
        yield f"{head.file_id}: is read as {whole.stored}"
    written = _text_of(document)
    if whole.behind or written != text:
        yield f"{head.file_id}: the document reads {written!r}, the head {text!r}"
    doc: Doc[Text] = Doc()
    doc.apply_update(document.state)
    vector = read_state_vector(doc.get_state())
    if vector != read_state_vector(document.vector):
        yield f"{head.file_id}: the document has {vector}, and is kept with another state vector"


def _faults_of_replica(
    kept: Kept,
    device: Device,
    file_id: FileId,
    whole: WholeFile,
    document: StoredDocument,
    limits: DocumentLimits,
) -> Iterator[str]:
    name = f"{file_id}, {device.name}"
    replica = device.editor.replicas[file_id]
    if replica.text != whole.stored.text:
        yield f"{name}: the device reads {replica.text!r}, the head {whole.stored.text!r}"
    if replica.epoch != document.epoch:
        yield f"{name}: the device is of {replica.epoch}, the document of {document.epoch}"
    # A generation is named after the revision that it began with.
    began = {str(e.revision_id): e.position for e in kept.revisions if e.file_id == file_id}
    positions = [began.get(epoch, -1) for epoch in replica.epochs]
    if min(positions) < 0 or positions != sorted(set(positions)):
        yield f"{name}: generations {replica.epochs} began at {positions}"
    if limits.history == DocumentLimits().history and len(positions) > 1:
        yield f"{name}: generations {replica.epochs}, and no history was shed"


def _faults_of_marks(kept: Kept, ledger: Ledger, texts: Mapping[FileId, str]) -> Iterator[str]:
    accepted = [done for mutation, done in ledger.written.items() if mutation in kept.receipts]
    added = {mark for done in accepted for mark in done.added}
    dropped = {mark for done in accepted for mark in done.dropped}
    everything = "".join(kept.texts.values())
    for mark, file_id in ledger.marks.items():
        times = texts[file_id].count(mark)
        if mark in added - dropped and times != 1:
            yield f"{file_id}: {mark} was kept, and stands {times} times in {texts[file_id]!r}"
        if mark not in added and mark in everything:
            yield f"{file_id}: {mark} was not kept, and stands in {everything!r}"

"""Commit accepted changesets in the order in which they were planned, and read their receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from octavo_rules import identity
from octavo_rules.content import NoteContent, StoredText
from octavo_rules.documents.document import ChangedDocument

from octavo.model.files.changeset import Outcome
from octavo.model.files.image import UploadedImage
from octavo.model.files.plan import Change, FileOutcome, Plan, Receipt, may_move
from octavo.store import identifiers
from octavo.store.compression import compressed
from octavo.store.queries import blobs, marks, process_notices, revision_rows
from octavo.store.queries.documents import (
    OF_FILE,
    delete_documents,
    preserve_documents,
    put_documents,
)
from octavo.store.transaction import (
    NotInOneStatement,
    Script,
    SingleStatement,
    TextSaves,
    Transaction,
    Value,
    set_shortcut,
)

_MOVE_CURSOR = """
    UPDATE workspaces
    SET position = $4, mark_id = $5::uuid, last_file = last_file + $6, size = size + $7
    WHERE id = $1::uuid AND position = $2 AND mark_id = $3::uuid
    RETURNING pk, last_file, documents_were_read
"""
_READ_DOCUMENTS = """
    UPDATE workspaces SET documents_were_read = 1
    WHERE id = $1::uuid AND position = $2 AND mark_id = $3::uuid RETURNING pk
"""
_INSERT_HEAD = f"""
    INSERT INTO files (workspace, {revision_rows.COLUMNS}, content, pk)
    VALUES ($1, {revision_rows.placeholders(2)},
        ${revision_rows.COUNT + 2}, ${revision_rows.COUNT + 3})
"""
_SUPERSEDE_HEAD = f"""
    INSERT INTO revisions (workspace, file, {revision_rows.COPIED})
    SELECT workspace, pk, {revision_rows.COPIED} FROM files
    WHERE workspace = $1 AND file_id = $2::uuid
"""
# The index by path is left alone when the statement does not name its columns.
_REPLACE_HEAD = """
    UPDATE files SET revision_id = $6::uuid, position = $7, content_revision_id = $8::uuid,
        digest = $9, size = $10, media_type = $11, author_id = $12::uuid, mutation_id = $13::uuid,
        changed_at = $14, origin = $15, program = $16, {content}{place}
    WHERE workspace = $1 AND file_id = $2::uuid AND kind = $4 AND revision_id = $18::uuid{same}
"""
_REPLACE_IN_PLACE = _REPLACE_HEAD.format(
    content="content = COALESCE($17, content)", place="", same=" AND state = $3 AND path = $5"
)
_REPLACE_AND_MOVE = _REPLACE_HEAD.format(
    content="content = CASE WHEN $3 <> 'purged' THEN COALESCE($17, content) END",
    place=", state = $3, path = $5",
    same="",
)
_PLACES = """
    SELECT file_id, state, path, revision_id FROM files WHERE workspace = $1 AND file_id IN ($ids)
"""
_INSERT_CONTENT = "INSERT INTO contents (pk, compressed) VALUES ($1, $2)"
_INSERT_RECEIPT = """
    INSERT INTO receipts
        (workspace, mutation_id, fingerprint, position, mark_id, changes, created_at)
    VALUES ($1, $2::uuid, $3, $4, $5::uuid, $6, $7) ON CONFLICT DO NOTHING
"""
_REPEATED = """
    SELECT mutation_id FROM receipts WHERE workspace = $1 AND mutation_id IN ($ids)
"""
# The revision that introduced a content is stored as long as any other revision with it.
_QUEUE_CONTENTS_FOR_SWEEPING = f"""
    INSERT INTO purged_contents (content, size) SELECT content, size FROM revisions
    WHERE {OF_FILE} AND content_revision_id IS NULL AND content IS NOT NULL
"""
_ERASE_REVISION_DETAILS = f"""
    UPDATE revisions SET path = '', content_revision_id = NULL, content = NULL, digest = $3,
        size = 0, media_type = ''
    WHERE {OF_FILE}
"""
_RECEIPTS = f"""
    SELECT mutation_id, fingerprint, position, mark_id, changes FROM receipts
    WHERE workspace = {revision_rows.WORKSPACE} AND mutation_id IN ($ids)
"""
_COMMITTED = f"""
    SELECT changes, position FROM receipts
    WHERE workspace = {revision_rows.WORKSPACE} AND mutation_id = $2::uuid
"""
_REVISIONS = revision_rows.from_both(
    f"""SELECT {{columns}} FROM {{source}}
    WHERE {{table}}.workspace = {revision_rows.WORKSPACE} AND {{table}}.revision_id IN ($ids)"""
)
_REVISIONS_AT = revision_rows.from_both(
    f"""SELECT {{columns}} FROM {{source}}
    WHERE {{table}}.workspace = {revision_rows.WORKSPACE} AND {{table}}.position IN ($names)"""
)
_CONTENTS_OF = """
    SELECT revision_id, content FROM revisions WHERE workspace = $1 AND revision_id IN ($ids)
"""
# Stored by their index: append only.
_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_CHANGE_BYTES = 17


class PositionMoved(Exception):
    """Another process changed the workspace since it was read: read it again, and plan again.

    Or it has brought a document up to date.
    """


class HeadReplaced(Exception):
    """A stored head is not the one that was planned on, though the cursor is: read all anew."""


class WorkspaceGone(Exception):
    """The workspace was deleted."""


class Repeated(Exception):
    """Some changesets were committed before, those of ``mutation_ids``. None was committed now."""

    def __init__(self, mutation_ids: Sequence[identity.MutationId]) -> None:
        super().__init__(mutation_ids)
        self.mutation_ids = tuple(mutation_ids)


def commit_changesets(
    workspace_id: identity.WorkspaceId,
    planned_at: identity.Cursor,
    plans: Sequence[Plan],
    now: int,
    documents: Sequence[ChangedDocument] = (),
    texts: Mapping[identity.RevisionId, bytes] = MappingProxyType({}),
) -> Script[None]:
    """Commit ``plans``, which were planned in this order from ``planned_at`` on.

    ``now`` is in milliseconds, ``documents`` are those that updates changed, ``texts`` those new
    texts that `compressed_texts` has compressed already. Links and words are
    indexed later (`octavo.store.queries.index_backlog`), and documents follow the other texts later
    (`octavo.store.queries.documents`), but purged files are removed from the indexes. Their texts
    can't be read from then on; `octavo.store.queries.sweeping` removes them.
    All plans are committed or none. Raises `PositionMoved`, `HeadReplaced`, `WorkspaceGone` or
    `Repeated`.
    """
    reached = plans[-1].cursor

    async def commit_plans(transaction: Transaction) -> None:
        changed = [change for plan in plans for change in plan.changed]
        outcomes = [change.outcome for change in changed]
        created = outcomes.count("created")
        workspace, last_file, read = await _move_cursor(
            transaction, workspace_id, planned_at, plans, created
        )
        await _insert_receipts(transaction, workspace, plans, now)
        if changed:
            await process_notices.notify_change(transaction, workspace_id, reached)
        for before_commit in transaction.listeners.committing:
            await before_commit(transaction, workspace_id, workspace, plans)
        await store_changes(
            transaction, workspace, changed, last_file - created, texts, preserve=read
        )
        if documents and not await put_documents(
            transaction, workspace, reached.position, documents
        ):
            raise PositionMoved
        if "purged" in outcomes:
            purged = [change.head.file_id for change in changed if change.outcome == "purged"]
            for before_erasure in transaction.listeners.files_purged:
                await before_erasure(transaction, workspace_id, workspace, purged)
            await delete_documents(transaction, workspace, purged)
            files = [(workspace, file_id) for file_id in purged]
            await revision_rows.execute_each(transaction, _QUEUE_CONTENTS_FOR_SWEEPING, files)
            await revision_rows.execute_each(
                transaction, _ERASE_REVISION_DETAILS, [(*file, b"") for file in files]
            )

    async def save_texts(statement: SingleStatement) -> None:
        changed = [change for plan in plans for change in plan.changed]
        if documents or not _are_saves(plans, changed):
            raise NotInOneStatement
        await statement.save_texts(
            TextSaves(
                workspace_id,
                planned_at,
                reached,
                sum([plan.growth for plan in plans]),
                [(*revision_rows.values_of(change.head), change.base) for change in changed],
                [texts.get(change.head.revision_id) or _text_of(change) for change in changed],
                [_receipt_values(plan, now) for plan in plans if plan.changeset.repeatable],
                process_notices.change_notice(workspace_id, reached),
            )
        )

    set_shortcut(commit_plans, save_texts)
    return commit_plans


def _are_saves(plans: Sequence[Plan], changed: Sequence[Change]) -> bool:
    """Return whether all changes are new texts of notes that stay at their paths, one of each."""
    return (
        len({change.head.file_id for change in changed}) == len(changed) > 0
        and all(change.outcome == "updated" and change.content for change in changed)
        and not any(map(may_move, plans))
    )


async def _move_cursor(
    transaction: Transaction,
    workspace_id: identity.WorkspaceId,
    planned_at: identity.Cursor,
    plans: Sequence[Plan],
    created: int,
) -> tuple[int, int, bool]:
    """Move the cursor, which fences off other writers.

    Returns the number of the workspace, the highest one of its files, and whether its documents
    were read.
    """
    growth = sum([plan.growth for plan in plans])
    moved = await transaction.fetch_one(
        _MOVE_CURSOR, workspace_id, *planned_at, *plans[-1].cursor, created, growth
    )
    if moved is None:
        raise await _why_nothing_moved(transaction, workspace_id)
    workspace, last_file, read = moved
    return workspace, last_file, bool(read)


async def _why_nothing_moved(
    transaction: Transaction, workspace_id: identity.WorkspaceId
) -> WorkspaceGone | PositionMoved:
    row = await transaction.fetch_one(
        "SELECT position FROM workspaces WHERE id = $1::uuid", workspace_id
    )
    return WorkspaceGone() if row is None else PositionMoved()


def store_documents(
    workspace_id: identity.WorkspaceId,
    cursor: identity.Cursor,
    documents: Sequence[ChangedDocument],
) -> Script[None]:
    """Store documents that follow the heads at ``cursor``, before somebody reads them.

    From then on, the documents of notes are kept when their texts are replaced. Raises
    `PositionMoved` or `WorkspaceGone`, and stores nothing then.
    """

    async def put(transaction: Transaction) -> None:
        row = await transaction.fetch_one(_READ_DOCUMENTS, workspace_id, *cursor)
        if row is None:
            raise await _why_nothing_moved(transaction, workspace_id)
        position = cursor.position
        if documents and not await put_documents(transaction, row[0], position, documents):
            raise PositionMoved

    return put


def compressed_texts(plans: Sequence[Plan]) -> dict[identity.RevisionId, bytes]:
    """Return the new texts of plans as they are stored, by their revisions.

    Megabytes take tens of milliseconds. Done before the transaction, others can write meanwhile.
    """
    return {
        change.head.revision_id: _stored(change.content)
        for plan in plans
        for change in plan.changed
        if change.content is not None
    }


async def store_changes(
    transaction: Transaction,
    workspace: int,
    changed: Sequence[Change],
    last_file: int,
    compressed_before: Mapping[identity.RevisionId, bytes] = MappingProxyType({}),
    *,
    preserve: bool,
) -> None:
    """Store the heads, the revisions before them, and the contents of changes, in their order.

    A file may occur more than once. The numbers of new files follow ``last_file``. The texts of
    some revisions may have been ``compressed_before`` (`compressed_texts`). With ``preserve``, the
    documents of notes are kept whose texts are replaced. Raises `HeadReplaced`.
    """
    brought = [change for change in changed if change.content or change.image]
    assigned = await transaction.new_contents(len(brought)) if brought else ()
    contents: dict[identity.RevisionId, int] = {}
    texts: list[tuple[int, NoteContent | bytes]] = []
    images: list[tuple[int, UploadedImage]] = []
    for change, number in zip(brought, assigned, strict=True):
        contents[change.head.revision_id] = number
        if change.content is not None:
            texts.append((number, compressed_before.get(change.head.revision_id, change.content)))
        elif change.image is not None:
            images.append((number, change.image))
    created: list[tuple[Value, ...]] = []
    # The changes of existing files are written in rounds, with at most one change of a file in
    # each: the first change of every file, then the second of those that have one, and so on.
    # So each head becomes a revision before the next change of its file replaces it.
    rounds: list[dict[identity.FileId, Change]] = []
    for change in changed:
        head = change.head
        if change.outcome == "created":
            number = last_file + len(created) + 1
            values = revision_rows.values_of(head)
            created.append((workspace, *values, contents.get(head.revision_id), number))
            continue
        for replaced in rounds:
            if head.file_id not in replaced:
                replaced[head.file_id] = change
                break
        else:
            rounds.append({head.file_id: change})
    contents |= await _earlier_images(transaction, workspace, changed)
    await revision_rows.execute_each(transaction, _INSERT_HEAD, created)
    for replaced in rounds:
        superseded = [(workspace, file_id) for file_id in replaced]
        if preserve:
            written = [
                file_id
                for file_id, change in replaced.items()
                if change.head.revision_id in contents
            ]
            await preserve_documents(transaction, workspace, written)
        await revision_rows.execute_each(transaction, _SUPERSEDE_HEAD, superseded)
        await _replace_heads(transaction, workspace, [*replaced.values()], contents)
    if len(texts) == 1:
        number, text = texts[0]
        await transaction.execute(_INSERT_CONTENT, number, _stored(text))
    elif texts:
        # One by one: a client of a server sends some while others are compressed.
        rows = ((number, _stored(text)) for number, text in texts)
        await transaction.execute_many(_INSERT_CONTENT, rows)
    if images:
        await blobs.insert_images(transaction, images)


async def _earlier_images(
    transaction: Transaction, workspace: int, changed: Sequence[Change]
) -> dict[identity.RevisionId, int]:
    """Return the numbers of the images that restored files get back."""
    names = {
        change.head.revision_id: change.head.content_id
        for change in changed
        if change.outcome == "restored" and change.head.kind == "attachment"
    }
    if not names:
        return {}
    rows = await revision_rows.select_in(transaction, _CONTENTS_OF, workspace, [*names.values()])
    numbers = {row[0]: row[1] for row in rows}
    # An image that a file keeps is in its head.
    return {name: numbers[key] for name, key in names.items() if key in numbers}


def _text_of(change: Change) -> bytes:
    assert change.content is not None
    return _stored(change.content)


def _stored(content: NoteContent | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.stored if isinstance(content, StoredText) else compressed(content.text)


async def _replace_heads(
    transaction: Transaction,
    workspace: int,
    changes: Sequence[Change],
    contents: Mapping[identity.RevisionId, int],
) -> None:
    """Replace stored heads; ``contents`` has the numbers of new texts and images."""
    rows = [
        (
            workspace,
            *revision_rows.values_of(change.head),
            contents.get(change.head.revision_id),
            change.base,
        )
        for change in changes
    ]
    if len(rows) == 1 and await transaction.execute(_REPLACE_IN_PLACE, *rows[0]):
        return
    files = [change.head.file_id for change in changes]
    placed = await revision_rows.select_in(transaction, _PLACES, workspace, files)
    places = {row[0]: row[1:] for row in placed}
    in_place: list[tuple[Value, ...]] = []
    moved: list[tuple[Value, ...]] = []
    moving: list[identity.FileId] = []
    for change, row in zip(changes, rows, strict=True):
        head = change.head
        state, path, revision_id = places.get(head.file_id, ("", "", None))
        if revision_id != change.base:
            raise HeadReplaced
        same = (state, path) == (head.state, head.path)
        (in_place if same else moved).append(row)
        if not same:
            moving.append(head.file_id)
    await revision_rows.execute_each(transaction, _REPLACE_IN_PLACE, in_place)
    if moved:
        for before_move in transaction.listeners.files_moving:
            await before_move(transaction, workspace, moving)
    await revision_rows.execute_each(transaction, _REPLACE_AND_MOVE, moved)


async def _insert_receipts(
    transaction: Transaction, workspace: int, plans: Sequence[Plan], now: int
) -> None:
    # A client can ask only for changesets whose mutation id it has chosen.
    plans = [plan for plan in plans if plan.changeset.repeatable]
    if not plans:
        return
    rows = [(workspace, *_receipt_values(plan, now)) for plan in plans]
    if len(rows) == 1:
        if not await transaction.execute(_INSERT_RECEIPT, *rows[0]):
            raise Repeated([plans[0].changeset.mutation_id])
        return
    mutation_ids = [plan.changeset.mutation_id for plan in plans]
    repeated = await revision_rows.select_in(transaction, _REPEATED, workspace, mutation_ids)
    if repeated:
        raise Repeated([row[0] for row in repeated])
    # No other transaction has inserted one since: it would wait for the position.
    await transaction.execute_many(_INSERT_RECEIPT, rows)


def _receipt_values(plan: Plan, now: int) -> tuple[Value, ...]:
    changes = b""
    for change in plan.changes:
        changes += bytes((_OUTCOMES.index(change.outcome),))
        # The only change of a changeset is found by its position.
        if plan.changes[1:] or change.outcome == "unchanged":
            changes += identifiers.to_bytes(change.head.revision_id)
    return (
        plan.changeset.mutation_id,
        bytes.fromhex(plan.changeset.fingerprint),
        *plan.cursor,
        changes,
        now,
    )


def read_changes(changes: bytes) -> list[tuple[Outcome, str | None]]:
    """Return the outcomes of a receipt, each with the id of the revision.

    The id is None for the only revision that has the position of the receipt.
    """
    if len(changes) == 1:
        return [(_OUTCOMES[changes[0]], None)]
    return [
        (_OUTCOMES[changes[at]], identifiers.to_text(changes[at + 1 : at + _CHANGE_BYTES]))
        for at in range(0, len(changes), _CHANGE_BYTES)
    ]


def receipts(
    workspace_id: identity.WorkspaceId, mutation_ids: Sequence[identity.MutationId]
) -> Script[dict[identity.MutationId, Receipt]]:
    """Return the stored receipts of ``mutation_ids``, by mutation id."""

    async def read_receipts(transaction: Transaction) -> dict[identity.MutationId, Receipt]:
        rows = await revision_rows.select_in(transaction, _RECEIPTS, workspace_id, mutation_ids)
        changes = [read_changes(row[4]) for row in rows]
        names = [name for entries in changes for _, name in entries if name is not None]
        named = await revision_rows.select_in(transaction, _REVISIONS, workspace_id, names)
        heads = {head.revision_id: head for head in map(revision_rows.revision_of, named)}
        positions = [
            row[2]
            for row, entries in zip(rows, changes, strict=True)
            if any(name is None for _, name in entries)
        ]
        alone = await revision_rows.select_in(transaction, _REVISIONS_AT, workspace_id, positions)
        only = {head.position: head for head in map(revision_rows.revision_of, alone)}
        result: dict[identity.MutationId, Receipt] = {}
        for row, entries in zip(rows, changes, strict=True):
            outcomes = [
                (
                    outcome,
                    only.get(row[2]) if name is None else heads.get(identity.RevisionId(name)),
                )
                for outcome, name in entries
            ]
            kept = tuple(FileOutcome(outcome, head) for outcome, head in outcomes if head)
            # A change without effect names the head of another change, which may be pruned before
            # the receipt expires. Such a receipt has expired with it.
            if len(kept) == len(outcomes):
                fingerprint = identity.Digest(row[1].hex())
                result[row[0]] = Receipt(row[0], fingerprint, marks.cursor_of_row(row[2:]), kept)
        return result

    return read_receipts


def committed_changes(
    workspace_id: identity.WorkspaceId, mutation_id: identity.MutationId
) -> Script[tuple[int, identity.Position] | None]:
    """Return the number of operations of a changeset, and its position; None if it is unknown.

    Unlike its receipt, they do not depend on the revisions that are left of its files.
    """

    async def read_changes_of(transaction: Transaction) -> tuple[int, identity.Position] | None:
        row = await transaction.fetch_one(_COMMITTED, workspace_id, mutation_id)
        return None if row is None else (len(read_changes(row[0])), identity.Position(row[1]))

    return read_changes_of

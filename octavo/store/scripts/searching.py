"""Find notes by their words: what is to be ranked, with its texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from octavo.model.identity import AccountId, FileId, RevisionId, WorkspaceId
from octavo.model.search import Candidate, Query
from octavo.store.scripts.naming import fetch_named
from octavo.store.transaction import Matching, Script, Transaction

MOST_NAMED = 100
MOST_FOUND = 500
"""Notes of a workspace that are looked at, at most: those that match by name, and the newest."""
MOST_WORKSPACES = 100
MOST_BYTES = 1024 * 1024
"""Of texts that are read for one answer; what is left is ranked by its path alone."""
_LEAST_FOUND = 50

_FOUND = """
    SELECT file_id, revision_id, path, changed_at, content_id, size FROM files
    WHERE workspace_id = $1 AND state = 'live' AND file_id IN ($names)
"""
_TEXTS = "SELECT content_id, text FROM contents WHERE workspace_id = $1 AND content_id IN ($names)"


class Found(NamedTuple):
    """Candidates, and whether there are matches beyond them."""

    candidates: list[Candidate]
    more: bool


def candidates(
    workspace_ids: Sequence[WorkspaceId], query: Query, folder: str | None
) -> Script[Found]:
    """Answer the live notes of workspaces that match, with their texts, to be ranked.

    Args:
        workspace_ids: whose notes; the caller has seen to it that they may be read. Those behind
            the first `MOST_WORKSPACES` are left out.
        query: what they have to hold.
        folder: what they have to stand below; None for anywhere.

    Of many matches those are taken whose names match, then those that were written last.
    """
    chosen = workspace_ids[:MOST_WORKSPACES]
    share = max(1, len(chosen))
    limit = max(MOST_FOUND // share, _LEAST_FOUND)
    name = "" if folder is None else folder.strip("/")
    # The character behind the slash is the digit 0.
    below = (f"{name}/", f"{name}0") if name else None

    async def script(transaction: Transaction) -> Found:
        found = []
        more = len(workspace_ids) > len(chosen)
        for workspace_id in chosen:
            names = await transaction.match_words(
                workspace_id, Matching(query.clauses, True, below, min(MOST_NAMED, limit))
            )
            whole = await transaction.match_words(
                workspace_id, Matching(query.clauses, False, below, limit)
            )
            more = more or len(whole) == limit
            file_ids = [FileId(name) for name in dict.fromkeys((*names, *whole))]
            found += await _read(transaction, workspace_id, file_ids, MOST_BYTES // share)
        return Found(found, more)

    return script


async def _read(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    file_ids: Sequence[FileId],
    most_bytes: int,
) -> list[Candidate]:
    """Answer the files in their order, with the texts of as many as there is room for."""
    rows = {row[0]: row for row in await fetch_named(transaction, _FOUND, workspace_id, file_ids)}
    ordered = [rows[file_id] for file_id in file_ids if file_id in rows]
    wanted = []
    total = 0
    for row in ordered:
        if total + row[5] <= most_bytes:
            total += row[5]
            wanted.append(row[4])
    found = await fetch_named(transaction, _TEXTS, workspace_id, wanted)
    texts = {row[0]: row[1] for row in found}
    return [
        Candidate(
            workspace_id, FileId(row[0]), RevisionId(row[1]), row[2], row[3], texts.get(row[4])
        )
        for row in ordered
    ]


def workspaces_of(account_id: AccountId) -> Script[list[WorkspaceId]]:
    """Answer the account's workspaces, the newest first: one more than are searched at once."""

    async def script(transaction: Transaction) -> list[WorkspaceId]:
        rows = await transaction.fetch_all(
            "SELECT members.workspace_id FROM members"
            " JOIN workspaces ON workspaces.id = members.workspace_id"
            " WHERE members.account_id = $1"
            " ORDER BY workspaces.created_at DESC, workspaces.id DESC LIMIT $2",
            account_id,
            MOST_WORKSPACES + 1,
        )
        return [WorkspaceId(row[0]) for row in rows]

    return script

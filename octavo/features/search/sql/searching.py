"""Find notes by their words: the candidates to be ranked, with their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from octavo_rules.identity import AccountId, FileId, RevisionId, WorkspaceId

from octavo.features.search.rules import Candidate
from octavo.model.files.confinement import Confinement, both_in
from octavo.model.files.path import range_below
from octavo.model.search.query import ANY_HEAD, HeadFilter, Query
from octavo.model.search.searched_text import SearchedText
from octavo.store.queries.blobs import texts_of
from octavo.store.queries.files import live_paths
from octavo.store.transaction import MatchedNote, Matching, Script, Transaction

MAX_NAMED = 100
MAX_FOUND = 500
"""Maximum number of notes of a workspace to rank: those whose names match, and the newest."""
MAX_WORKSPACES = 100
MAX_BYTES = 1024 * 1024
"""Bytes of texts that are read in one call; the other notes are ranked by their paths alone."""
_MIN_FOUND = 50


class Candidates(NamedTuple):
    """Candidates, and whether there are more matches."""

    candidates: list[Candidate]
    more: bool


def candidates(
    workspace_ids: Sequence[WorkspaceId],
    query: Query,
    folder: str | None,
    within: Confinement | None = None,
    heads: HeadFilter = ANY_HEAD,
    known: Mapping[RevisionId, SearchedText] = MappingProxyType({}),
) -> Script[Candidates]:
    """Return the live notes of workspaces that match, with their texts, to be ranked.

    Args:
        workspace_ids: whose notes; the caller has checked that they may be read. Those after the
            first `MAX_WORKSPACES` are left out.
        query: what the notes have to contain.
        folder: in which folder they have to be; None for any.
        within: another folder in which they have to be, in any spelling; None for any.
        heads: which head each has to have.
        known: the texts of revisions, which are not read again.

    Of many matches, those are returned whose names match, then those that were written last.
    """
    chosen = workspace_ids[:MAX_WORKSPACES]
    share = max(1, len(chosen))
    limit = max(MAX_FOUND // share, _MIN_FOUND)
    name = "" if folder is None else folder.strip("/")

    async def find_candidates(transaction: Transaction) -> Candidates:
        matches = []
        more = len(workspace_ids) > len(chosen)
        for workspace_id in chosen:
            folders = [name]
            if within is not None:
                folders = await _folders(transaction, workspace_id, name, within)
            names: list[MatchedNote] = []
            whole: list[MatchedNote] = []
            for place in folders:
                below = range_below(place) if place else None
                by_name = Matching(query.clauses, True, below, min(MAX_NAMED, limit), heads)
                names += await transaction.match_words(workspace_id, by_name)
                of_all = Matching(query.clauses, False, below, limit, heads)
                matching = await transaction.match_words(workspace_id, of_all)
                more = more or len(matching) == limit
                whole += matching
            notes = [*{note.file_id: note for note in (*names, *whole)}.values()]
            read = await _read(transaction, workspace_id, notes, MAX_BYTES // share, known)
            # The index may have the path that a file had before it was moved.
            matches += [
                candidate for candidate in read if within is None or within.covers(candidate.path)
            ]
        return Candidates(matches, more)

    return find_candidates


async def _folders(
    transaction: Transaction, workspace_id: WorkspaceId, folder: str, within: Confinement
) -> list[str]:
    """Return the folders to search: ``within`` as paths spell it, as far as in ``folder``."""
    paths = await live_paths(workspace_id, within)(transaction)
    spellings = sorted({within.spelling(path) for path in paths})
    folders = (both_in(folder, spelling) for spelling in spellings)
    return [inner for inner in folders if inner is not None]


async def _read(
    transaction: Transaction,
    workspace_id: WorkspaceId,
    notes: Sequence[MatchedNote],
    max_bytes: int,
    known: Mapping[RevisionId, SearchedText],
) -> list[Candidate]:
    """Return the notes in their order, with the texts of as many as fit into ``max_bytes``."""
    texts: dict[FileId, str | SearchedText] = {}
    unknown: list[FileId] = []
    total = 0
    for note in notes:
        if total + note.size <= max_bytes:
            total += note.size
            text = known.get(RevisionId(note.revision_id))
            if text is None:
                unknown.append(FileId(note.file_id))
            else:
                texts[FileId(note.file_id)] = text
    texts.update(await texts_of(transaction, workspace_id, unknown))
    return [
        Candidate(
            workspace_id,
            FileId(note.file_id),
            RevisionId(note.revision_id),
            note.path,
            note.changed_at,
            texts.get(FileId(note.file_id)),
        )
        for note in notes
    ]


def workspaces_of(account_id: AccountId) -> Script[list[WorkspaceId]]:
    """Return the workspaces of an account, the newest first: one more than a search covers."""

    async def read_workspaces(transaction: Transaction) -> list[WorkspaceId]:
        rows = await transaction.fetch_all(
            "SELECT members.workspace_id FROM members"
            " JOIN workspaces ON workspaces.id = members.workspace_id"
            " WHERE members.account_id = $1::uuid"
            " ORDER BY workspaces.created_at DESC, workspaces.id DESC LIMIT $2",
            account_id,
            MAX_WORKSPACES + 1,
        )
        return [WorkspaceId(row[0]) for row in rows]

    return read_workspaces

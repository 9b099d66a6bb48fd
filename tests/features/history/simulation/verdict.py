"""Judge a workspace after a restoration, from its revisions alone."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from octavo_rules.identity import AccountId, FileId, Position

from octavo.features.history.sql.restorations import StoredRestoration
from octavo.model.files.plan import Receipt
from octavo.model.files.revision import Revision
from tests.simulation.kept import Kept

Place = tuple[str, str] | None
"""The path and the digest of a live file; None for any other one."""


class Demotion(NamedTuple):
    """An account that can't write any more since a position."""

    account_id: AccountId
    since: Position


class RestorationEnd(NamedTuple):
    """What is known of a restoration that has ended.

    Attributes:
        stored: the restoration, as it is read.
        own: the mutation ids of its changesets.
        at: the position of the workspace when it was read.
        demotion: who may not write any more; None without.
        places: how many processes could be about to commit a changeset then.
    """

    stored: StoredRestoration
    own: Set[str]
    at: Position
    demotion: Demotion | None
    places: int


def faults_of_restoration(
    workspace: Kept, end: RestorationEnd, theirs: Sequence[Receipt]
) -> Iterator[str]:
    """Return what is wrong; ``theirs`` are the receipts that others got."""
    target, present = end.stored.asked.target, end.stored.start_position
    revisions = [each for each in workspace.revisions if each.position <= end.at]
    then, now = _places(revisions, target), _places(revisions, end.at)
    left = {each.file_id: each.reason for each in end.stored.skipped_files}
    yield from _faults_of_count(revisions, end)
    foreign = [
        each for each in revisions if each.position > present and each.mutation_id not in end.own
    ]
    for file_id in sorted({each.file_id for each in revisions}):
        written = [each.position for each in foreign if each.file_id == file_id]
        returned = [
            each.position
            for each in revisions
            if each.file_id == file_id and each.mutation_id in end.own
        ]
        if written and returned and max(returned) > max(written):
            yield f"what others wrote to {file_id} meanwhile was overwritten"
        if now.get(file_id) == then.get(file_id):
            continue
        if written and max(written) > end.stored.last_position:
            # The restoration may have ended before.
            continue
        reason = left.get(file_id)
        if reason is None:
            yield f"{file_id} is {now.get(file_id)}, was {then.get(file_id)}, and is not named"
        elif reason == "changed_since" and not written:
            yield f"{file_id} is said to be changed by others, who did not write to it"
        elif reason == "path_taken" and not foreign:
            yield f"{file_id} is said to be in the way, and nobody else has written"
        elif reason == "still_deleted" and not _is_taken(revisions, end, file_id):
            yield f"{file_id} is still deleted, and its former path is free"
        elif reason in ("path_taken", "unacceptable") and not written:
            before = _places(revisions, present).get(file_id)
            if now.get(file_id) != before:
                yield f"{file_id} is {now.get(file_id)}, was {before}, and is said to be left"
    yield from _faults_of_authors(revisions, end)
    for each in revisions:
        if each.mutation_id in end.own and each.origin != "restore":
            yield f"{each} does not say that it was restored"
    for position in range(end.at + 1):
        yield from _faults_of_paths(_places(revisions, Position(position)), position)
    stored = {(each.revision_id, each.position) for each in workspace.revisions}
    for receipt in theirs:
        for outcome in receipt.outcomes:
            head = outcome.head
            if (head.revision_id, head.position) not in stored:
                yield f"{head} was acknowledged, and is lost"


def _faults_of_count(revisions: Sequence[Revision], end: RestorationEnd) -> Iterator[str]:
    then = _places(revisions, end.stored.asked.target)
    returned = {
        each.file_id
        for each in revisions
        if each.position > end.stored.asked.target and _place(each) == then.get(each.file_id)
    }
    if end.stored.done > len(returned):
        yield f"{end.stored.done} files are said to have returned, and {len(returned)} have"


def _is_taken(revisions: Sequence[Revision], end: RestorationEnd, file_id: FileId) -> bool:
    """Return whether the place that a file had before was taken at the end."""
    before = _places(revisions, end.stored.start_position).get(file_id)
    if before is None:
        return False
    path = before[0].casefold()
    for position in range(end.stored.last_position, end.at + 1):
        for place in _places(revisions, Position(position)).values():
            there = "" if place is None else place[0].casefold()
            if there == path or f"{there}/".startswith(f"{path}/") or path.startswith(f"{there}/"):
                return True
    return False


def _faults_of_authors(revisions: Sequence[Revision], end: RestorationEnd) -> Iterator[str]:
    own = {each.position: each.author for each in revisions if each.mutation_id in end.own}
    stored = end.stored
    for author in sorted({*own.values()} - {stored.account_id, stored.continued_by}):
        yield f"{author} is the author of changesets, and had nothing to do with the restoration"
    if end.demotion is not None:
        account, since = end.demotion
        late = [at for at, author in own.items() if author == account and at > since]
        if len(late) > end.places:
            yield f"{len(late)} changesets are by an account that might not write any more"


def faults_of_undo(workspace: Kept, end: RestorationEnd, undone: Position) -> Iterator[str]:
    """Return what differs from the state before a restoration after it was undone."""
    before = _places(workspace.revisions, end.stored.start_position)
    after = _places(workspace.revisions, undone)
    if before != after:
        yield f"the restoration of {before} was undone, and the files are {after}"


def _places(revisions: Sequence[Revision], position: Position) -> Mapping[FileId, Place]:
    """Return the live files at a position."""
    newest = {each.file_id: each for each in revisions if each.position <= position}
    return {each.file_id: _place(each) for each in newest.values() if each.state == "live"}


def _place(revision: Revision) -> Place:
    return (revision.path, revision.digest) if revision.state == "live" else None


def _faults_of_paths(places: Mapping[FileId, Place], position: int) -> Iterator[str]:
    paths = sorted(place[0].casefold() for place in places.values() if place is not None)
    if len(set(paths)) < len(paths):
        yield f"two files at one place in {paths} at {position}"
    if any(path.startswith(f"{folder}/") for path in paths for folder in paths):
        yield f"a file below another in {paths} at {position}"

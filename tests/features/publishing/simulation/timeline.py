"""What published links open at each moment of a run: a small specification of its own.

The timeline applies accepted changesets itself, in their order, and moves the links of folders by
its own rule. It looks at the database after each commit, and notes what differs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import trio
from greenroom.testing import note
from octavo_rules.identity import FileId, MutationId, RevisionId

from octavo.store import identifiers
from octavo.store.transaction import Row
from tests.fakes.publishing_rig import MAXIMUM
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule


class Note(NamedTuple):
    """A note, live or deleted."""

    path: str
    live: bool
    text: str


Notes = Mapping[FileId, Note]


class Link(NamedTuple):
    """A link; ``folder`` is None for that of one note, ``file_id`` for that of a folder."""

    file_id: FileId | None
    folder: str | None
    expires_at: int | None
    revoked: bool
    taken_down: bool

    @property
    def ended(self) -> bool:
        return self.revoked or self.taken_down

    def opens(self, notes: Notes, file_id: FileId) -> bool:
        """Return whether the link opens a note, as long as it has not ended."""
        note = notes.get(file_id)
        if note is None or not note.live:
            return False
        return file_id == self.file_id if self.folder is None else is_in(note.path, self.folder)

    def opened(self, notes: Notes) -> list[FileId]:
        """Return the notes that it opens."""
        return [each for each in notes if self.opens(notes, each)]


class Moment(NamedTuple):
    """What was true from one commit to the next."""

    notes: Notes
    links: Mapping[str, Link]


def is_in(path: str, folder: str) -> bool:
    return folder == "" or path.startswith(folder + "/")


def followed(folder: str, before: Notes, after: Notes) -> str:
    """Return where a folder is after one changeset.

    It moves if the changeset takes every live file in it to one new folder that holds nothing else.
    """
    within = {each: note.path for each, note in before.items() if _live_in(note, folder)}
    targets: set[str] = set()
    for file_id, path in within.items():
        rest, now = path[len(folder) :], after[file_id]
        if not now.live or not now.path.endswith(rest):
            return folder
        targets.add(now.path[: -len(rest)])
    if folder == "" or len(targets) != 1 or "" in targets:
        return folder
    [target] = targets
    others = any(_live_in(note, target) for each, note in after.items() if each not in within)
    return folder if others else target


def _live_in(note: Note, folder: str) -> bool:
    return note.live and is_in(note.path, folder)


class PublishedDisk(Disk):
    """A disk whose ``committed_now`` is called after each commit."""

    def __init__(self, faults: FaultSchedule) -> None:
        self.committed_now: Callable[[], None] = lambda: None
        super().__init__(None, faults)

    def _note(self) -> None:
        super()._note()
        self.committed_now()

    def rows(self, sql: str, *arguments: object) -> list[Row]:
        """Return the rows of a query, past the store."""
        found: list[Row] = self._connection.execute(sql, arguments).fetchall()
        return found


class _Committed(NamedTuple):
    position: int
    changed: Notes

    def __str__(self) -> str:
        what = ", ".join(
            f"{file_id} {'at' if each.live else 'deleted from'} {each.path!r}"
            for file_id, each in self.changed.items()
        )
        return f"committed at {self.position}: {what}"


@dataclass(frozen=True, slots=True)
class _Commit:
    """The changesets of one commit, as the notes before and after each."""

    steps: tuple[tuple[Notes, Notes], ...]

    def end_of(self, folder: str, first: int = 0) -> str:
        for before, after in self.steps[first:]:
            folder = followed(folder, before, after)
        return folder


class Timeline:
    """Everything that was true in a run, commit by commit.

    Args:
        disk: the database.
        now: the clock, in seconds of Unix time.
        violated: called with each violation.
        saw: called with every notable event.

    Attributes:
        sent: what each changeset changes, by its mutation id; added before it is sent.
        moments: from the first to the present one.
        revisions: the present revisions of the notes.
        keys: when each signing key of tickets was first there, by its number.
    """

    def __init__(
        self,
        disk: PublishedDisk,
        now: Callable[[], float],
        violated: Callable[[str], None],
        saw: Callable[[str], None],
    ) -> None:
        self._disk = disk
        self._now = now
        self._violated = violated
        self._saw = saw
        self._position = 0
        # The first paths that a folder link may have been created with.
        self._created: dict[str, Collection[str]] = {}
        self._acknowledged: dict[str, str] = {}
        self.sent: dict[MutationId, Notes] = {}
        self.moments: list[Moment] = [Moment({}, {})]
        self.revisions: dict[FileId, RevisionId] = {}
        self.keys: dict[int, float] = {}
        disk.committed_now = self._observe

    @property
    def present(self) -> Moment:
        return self.moments[-1]

    def created(self, link: str, folder: str | None) -> None:
        """Check a link whose creation was acknowledged."""
        if link not in self.present.links:
            self._violated("a link was acknowledged and is not stored")
        elif folder is not None and folder not in self._created[link]:
            self._violated(f"a link of {folder!r} was created for {self._created[link]}: {link}")

    def _observe(self) -> None:
        commit = _Commit(tuple(self._changesets()))
        if len(commit.steps) > 1:
            self._saw("changesets in one commit")
        notes = commit.steps[-1][1] if commit.steps else self.present.notes
        links = dict(map(_link, self._disk.rows(_LINKS)))
        for link, found in links.items():
            if found != self.present.links.get(link):
                note(f"{link} is {found} from now on", link)
            self._check_link(link, self.present.links.get(link), found, commit)
        self._check_rows(links)
        if self.present.links.keys() - links.keys():
            self._violated("a link is gone")
        if (notes, links) != self.present:
            self.moments.append(Moment(notes, links))
        for (number,) in self._disk.rows(_KEYS):
            self.keys.setdefault(number, trio.current_time())

    def _changesets(self) -> Iterable[tuple[Notes, Notes]]:
        """Yield the notes before and after each new changeset, and compare the last ones."""
        notes = self.present.notes
        for position, mutation in self._disk.rows(_RECEIPTS, self._position):
            before = notes
            changed = self.sent[MutationId(identifiers.to_text(mutation))]
            note(_Committed(position, changed), *changed)
            notes = {**notes, **changed}
            self._position = position
            yield before, notes
        if notes is not self.present.notes:
            stored = [
                (FileId(identifiers.to_text(file_id)), path, state == "live", revision)
                for file_id, path, state, revision in self._disk.rows(_FILES)
            ]
            if {(each, note.path, note.live) for each, note in notes.items()} != {
                each[:3] for each in stored
            }:
                self._violated("the notes are not what the accepted changesets make")
            self.revisions = {each[0]: RevisionId(identifiers.to_text(each[3])) for each in stored}

    def _check_link(self, link: str, before: Link | None, found: Link, commit: _Commit) -> None:
        if before is None:
            self._created[link] = _first_folders(found.folder, commit)
            return
        if (before.revoked and not found.revoked) or (before.taken_down and not found.taken_down):
            self._violated(f"a link that has ended lives again: {link}")
        if found.folder is None or before.folder is None or found.ended or self._expired(found):
            return
        expected = commit.end_of(before.folder)
        if found.folder != expected:
            self._violated(f"the link of {expected!r} leads to {found.folder!r}: {link}")
        if expected != before.folder:
            self._saw("folder followed")
        elif any(_emptied(before.folder, *step) for step in commit.steps):
            self._saw("folder not followed")

    def _check_rows(self, links: Mapping[str, Link]) -> None:
        if self._disk.rows(_LEFT_REPORTS):
            self._violated("a report of a link that was taken down is still there")
        for (link,) in self._disk.rows(_EXCEEDED):
            name = identifiers.to_text(link)
            self._violated(f"a link was opened more often than it may be: {name}")
        live = [each for each in links.values() if not each.ended and not self._expired(each)]
        if len(live) > MAXIMUM:
            self._violated("the workspace has more live links than it may have")

    def _expired(self, link: Link) -> bool:
        return link.expires_at is not None and 1000 * self._now() >= link.expires_at


_LINKS = """
    SELECT id, file_id, folder, expires_at, revoked_at, taken_down_at FROM publications
"""
_RECEIPTS = "SELECT position, mutation_id FROM receipts WHERE position > ? ORDER BY position"
_FILES = "SELECT file_id, path, state, revision_id FROM files"
_KEYS = "SELECT number FROM signing_keys WHERE purpose = 'ticket'"
_LEFT_REPORTS = """
    SELECT 1 FROM link_reports JOIN publications ON publications.id = publication_id
    WHERE taken_down_at IS NOT NULL
"""
_EXCEEDED = "SELECT id FROM publications WHERE opened > openings"


def _link(row: Row) -> tuple[str, Link]:
    link, file_id, folder, expires_at, revoked_at, taken_down_at = row
    target = None if file_id is None else FileId(identifiers.to_text(file_id))
    ended = (revoked_at is not None, taken_down_at is not None)
    return identifiers.to_text(link), Link(target, folder, expires_at, *ended)


def _first_folders(folder: str | None, commit: _Commit) -> Collection[str]:
    """Return the folders that a link may have been created for, which has ``folder`` now.

    The changesets of the same commit came before it, or moved its folder.
    """
    if folder is None:
        return ()
    folders = {
        note.path[:end]
        for before, _ in commit.steps
        for note in before.values()
        for end, character in enumerate(note.path)
        if character == "/"
    }
    return {folder, *(each for each in folders if commit.end_of(each) == folder)}


def _emptied(folder: str, before: Notes, after: Notes) -> bool:
    return any(_live_in(each, folder) for each in before.values()) and not any(
        _live_in(each, folder) for each in after.values()
    )

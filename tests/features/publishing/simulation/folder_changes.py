"""Changesets that move folders and parts of them, drawn at random from the notes that there are."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

from octavo_rules.content import note_text
from octavo_rules.identity import FileId, MutationId, RevisionId

from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    fingerprint,
)
from tests.features.publishing.simulation.timeline import Note, Notes, is_in
from tests.simulation.disk import ANN

MOST_NOTES = 9
FOLDERS = ("a", "b", "c", "d", "a/x", "b/x")


class FolderChanges:
    """Draws changes of the notes of a workspace.

    Every text has a mark of its own, and links to other notes by their names, which never change.

    Args:
        new_id: returns an identifier.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._marks = 0
        self._notes = 0

    def first(self, random: Random) -> Notes:
        """Return the notes that a run begins with."""
        notes: dict[FileId, Note] = {}
        for folder in ("a", "a", "a/x", "b", "b", "c"):
            notes |= self._create(folder, random)
        return notes

    def draw(self, notes: Notes, random: Random) -> Notes:
        """Return the notes that a changeset changes; none if what was drawn is not possible."""
        draw = random.choice(
            [
                *[self._move] * 4,
                *[self._move_and_more] * 2,
                *[self._exchange] * 3,
                *[self._edit] * 7,
                self._move_part,
                self._create_one,
                self._delete,
                self._restore,
            ]
        )
        drawn = draw(notes, random)
        return {each: note for each, note in drawn.items() if note != notes.get(each)}

    def pair(self, notes: Notes, random: Random) -> tuple[Notes, Notes]:
        """Return two changes for the same moment: in a folder, and of all that was in it before."""
        folder = _some_folder(notes, random)
        within = _moved(notes, folder, random.choice(FOLDERS))
        some = _some(within, random)
        first: Notes = random.choice(
            [
                {each: within[each] for each in some},
                {each: notes[each]._replace(live=False) for each in some[:1]},
                self._create(folder, random),
            ]
        )
        second = _moved({**notes, **first}, folder, random.choice(FOLDERS))
        return first, {each: note for each, note in second.items() if each not in first}

    def _move(self, notes: Notes, random: Random) -> Notes:
        return _moved(notes, _some_folder(notes, random), random.choice(FOLDERS))

    def _move_part(self, notes: Notes, random: Random) -> Notes:
        moved = self._move(notes, random)
        return {each: moved[each] for each in _some(moved, random)}

    def _move_and_more(self, notes: Notes, random: Random) -> Notes:
        moved = self._move(notes, random)
        more = random.choice([self._create_one, self._delete, self._edit, self._move])
        return {**more(notes, random), **moved}

    def _exchange(self, notes: Notes, random: Random) -> Notes:
        """Move one folder in the place of another, which goes to its place or to a third."""
        first, second = (_some_folder(notes, random) for _ in range(2))
        if first == second or is_in(first, second) or is_in(second, first):
            return {}
        third = first if random.random() < 0.5 else random.choice(FOLDERS)
        return {**_moved(notes, first, second), **_moved(notes, second, third)}

    def _edit(self, notes: Notes, random: Random) -> Notes:
        live = [each for each, note in notes.items() if note.live]
        edited = _some(live, random)[:3]
        return {each: notes[each]._replace(text=self._text(random)) for each in edited}

    def _create_one(self, notes: Notes, random: Random) -> Notes:
        if sum(note.live for note in notes.values()) >= MOST_NOTES:
            return {}
        return self._create(random.choice(FOLDERS), random)

    def _create(self, folder: str, random: Random) -> Notes:
        self._notes += 1
        path = f"{folder}/n{self._notes}.md"
        return {FileId(self._new_id()): Note(path, True, self._text(random))}

    def _delete(self, notes: Notes, random: Random) -> Notes:
        live = [each for each, note in notes.items() if note.live]
        return {each: notes[each]._replace(live=False) for each in _some(live, random)[:2]}

    def _restore(self, notes: Notes, random: Random) -> Notes:
        deleted = [each for each, note in notes.items() if not note.live]
        return {each: notes[each]._replace(live=True) for each in _some(deleted, random)}

    def _text(self, random: Random) -> str:
        self._marks += 1
        named = random.sample(range(1, self._notes + 2), k=min(3, self._notes))
        return " ".join([f"mark{self._marks}x", *(f"[[n{each}]]" for each in named)])

    def changeset(
        self,
        notes: Notes,
        revisions: Mapping[FileId, RevisionId],
        changed: Notes,
        random: Random,
    ) -> Changeset:
        """Return the changeset that changes some notes."""
        operations = tuple(
            _operation(each, notes.get(each), note, revisions.get(each), random)
            for each, note in changed.items()
        )
        mutation_id = MutationId(self._new_id())
        return Changeset(mutation_id, fingerprint(operations), ANN, operations)


def _operation(
    file_id: FileId, old: Note | None, new: Note, revision: RevisionId | None, random: Random
) -> ChangeOperation:
    if old is None or revision is None:
        return CreateFile(file_id, new.path, note_text(new.text))
    heads = frozenset({str(revision)})
    path = new.path if new.path != old.path else None
    text = note_text(new.text) if new.text != old.text else None
    if not new.live:
        return DeleteFile(file_id, heads)
    if not old.live:
        return RestoreFile(file_id, heads, path, text)
    if path is not None and random.random() < 0.25:
        # As somebody who restores the present text at another path.
        return RestoreFile(file_id, heads, path, note_text(new.text), revision)
    return UpdateFile(file_id, heads, text, path)


def _moved(notes: Notes, folder: str, target: str) -> Notes:
    """Return the notes in a folder, at their places in another."""
    return {
        each: note._replace(path=target + note.path[len(folder) :])
        for each, note in notes.items()
        if note.live and is_in(note.path, folder)
    }


def folders_of(notes: Notes) -> Sequence[str]:
    """Return the folders that have live notes."""
    paths = [note.path for note in notes.values() if note.live]
    found = {path[:end]: None for path in paths for end, at in enumerate(path) if at == "/"}
    return [*found]


def _some_folder(notes: Notes, random: Random) -> str:
    return random.choice(folders_of(notes) or FOLDERS)


def _some(files: Mapping[FileId, object] | Sequence[FileId], random: Random) -> list[FileId]:
    """Return some of the files, at least one unless there is none."""
    files = [*files]
    return random.sample(files, k=random.randint(1, len(files))) if files else []

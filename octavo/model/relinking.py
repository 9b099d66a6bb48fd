"""Moving files without breaking links: the notes that a changeset has to change beside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from octavo.model.changeset import (
    Changeset,
    Create,
    Delete,
    Operation,
    Purge,
    Restore,
    Save,
    Update,
)
from octavo.model.content import note_text
from octavo.model.identity import FileId
from octavo.model.links import places_of, rewrite_links
from octavo.model.revision import Revision


def moves(operations: Sequence[Operation]) -> dict[FileId, str]:
    """Answer the new paths of the files that are to move with the links to them."""
    return {
        each.file_id: each.path
        for each in operations
        if isinstance(each, Update) and each.rewrite_links and each.path is not None
    }


def relinked(
    changeset: Changeset, heads: Mapping[FileId, Revision], texts: Mapping[FileId, str]
) -> Changeset:
    """Answer ``changeset`` with the notes changed whose links its moves would break.

    A note that it gives a new text to, or saves, stays as it is told. The others follow behind
    its own operations, in the order of their ids, and are not guarded: ``texts`` are those of
    the heads.

    Args:
        changeset: moves files with ``rewrite_links``.
        heads: of all files, as they are before it.
        texts: of the live notes whose links may have to change, moved ones among them.
    """
    were_at = {each.file_id: each.path for each in heads.values() if each.state == "live"}
    come_to = _places_after(heads, were_at, changeset.operations)
    moving = moves(changeset.operations)
    moved = {were_at[each]: come_to[each] for each in moving if each in were_at}
    before, after = places_of(were_at.values()), places_of(come_to.values())
    own = {each.file_id: index for index, each in enumerate(changeset.operations)}
    operations = list(changeset.operations)
    for file_id in sorted(texts):
        operation = operations[own[file_id]] if file_id in own else None
        if file_id not in come_to or file_id not in were_at or _tells_text(operation):
            continue
        text = rewrite_links(
            texts[file_id],
            was_at=were_at[file_id],
            now_at=come_to[file_id],
            moved=lambda path: moved.get(path, path),
            before=before.get,
            after=after.get,
        )
        if text == texts[file_id]:
            continue
        if isinstance(operation, Update):
            operations[own[file_id]] = replace(operation, content=note_text(text))
        else:
            head = heads[file_id].revision_id
            operations.append(Update(file_id, frozenset({head}), note_text(text)))
    return replace(changeset, operations=tuple(operations))


def _tells_text(operation: Operation | None) -> bool:
    """Whether an operation itself says what the text of its note becomes, or ends it."""
    return operation is not None and not (
        isinstance(operation, Update) and operation.content is None
    )


def _places_after(
    heads: Mapping[FileId, Revision],
    were_at: Mapping[FileId, str],
    operations: Sequence[Operation],
) -> dict[FileId, str]:
    places = dict(were_at)
    for operation in operations:
        match operation:
            case Create(file_id, path, _):
                places[file_id] = path
            case Update(file_id=file_id, path=str(path)) | Restore(file_id=file_id, path=str(path)):
                places[file_id] = path
            case Delete(file_id, _) | Purge(file_id):
                places.pop(file_id, None)
            case Restore(file_id) if file_id in heads and heads[file_id].state == "deleted":
                # No link led there, but one may now: by its name to this file before another.
                places[file_id] = heads[file_id].path
            case Update() | Restore() | Save():
                pass
    return places

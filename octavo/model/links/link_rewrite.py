"""Rewrite links so that they keep their targets when files move.

`rewrite_links` rewrites the links of one note; `relinked` adds the rewritten notes to a changeset.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from octavo_rules.changes import PurgeFile, SaveNote
from octavo_rules.content import NoteText, note_text
from octavo_rules.identity import FileId

from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    file_moves,
)
from octavo.model.files.path import NOTE_SUFFIX, path_key
from octavo.model.files.revision import Revision
from octavo.model.links.destination import encoded_path, relative_path
from octavo.model.links.extraction import Link, links_of
from octavo.model.links.headings import anchor_of
from octavo.model.links.resolution import Find, paths_by_key, resolve
from octavo.model.refusal import OutsideFolder

Moved = Callable[[str], str]
_NO_WIKI = re.compile(r"[\[\]#|`\\]|^\s|\s$")


def rewrite_links(
    text: str, *, was_at: str, now_at: str, moved: Moved, before: Find, after: Find
) -> str:
    """Return ``text`` with its links pointing to the same files as before a change.

    A link that still resolves to its file is unchanged, unless that was only renamed in upper and
    lower case, and so is one that did not resolve, or whose file is gone. Of other links, only the
    path is rewritten, in the style of the link if possible: by name, from the root or relative,
    with or without ``.md``, with spaces in ``<>`` or encoded. A wiki link to a file whose name it
    can't contain, such as ``a#b.md``, becomes a standard link.

    Args:
        text: the text of the note.
        was_at: the path of the note before the change.
        now_at: its path afterwards.
        moved: returns the path afterwards of the file that had a path.
        before: looks up keys in the tree before the change (`keys_of_path`, `place_rank`).
        after: looks up keys in the tree afterwards.
    """
    parts: list[str] = []
    at = 0
    for link in links_of(text):
        led_to = resolve(link.kind, link.target, was_at, before)
        if led_to is None or not link.target:
            continue
        wanted = moved(led_to)
        # In another case a link leads to its file as well, but people read it.
        renamed = led_to != wanted and path_key(led_to) == path_key(wanted)
        if not renamed and resolve(link.kind, link.target, now_at, after) == wanted:
            continue
        written = rewritten(text, link, wanted, was_at, now_at, before, after)
        if written is not None:
            start, end, replacement = written
            parts += [text[at:start], replacement]
            at = end
    return "".join((*parts, text[at:])) if parts else text


def rewritten(
    text: str, link: Link, wanted: str, was_at: str, now_at: str, before: Find, after: Find
) -> tuple[int, int, str] | None:
    """Return a range of ``text``, and its replacement by which ``link`` leads to ``wanted``.

    Returns None if no link of its kind leads there. For the other arguments see `rewrite_links`.
    """
    for target in _targets(link, wanted, was_at, now_at, before):
        if resolve(link.kind, target, now_at, after) != wanted:
            continue
        if link.kind == "wiki":
            if _NO_WIKI.search(target):
                return (*link.whole, _as_standard(text, link, wanted))
            return link.start, link.end, target
        brackets = text[link.start - 1 : link.start] == "<"
        return link.start, link.end, encoded_path(target, brackets=brackets)
    return None


def _targets(link: Link, path: str, was_at: str, now_at: str, before: Find) -> Iterator[str]:
    """Yield ways to refer to ``path``, the one most similar to the link first."""
    short = not link.target.lower().endswith(NOTE_SUFFIX)
    paths = [path.removesuffix(NOTE_SUFFIX), path] if short else [path]
    relative = [relative_path(path, now_at) for path in paths]
    if link.target.startswith("./"):
        relative = [path if path.startswith("../") else f"./{path}" for path in relative]
    from_root = [f"/{path}" for path in paths]
    if link.target.startswith("/"):
        yield from from_root
        return
    if link.kind == "standard" or link.target.startswith(("./", "../")):
        yield from relative
    elif "/" not in link.target:
        yield from (path.rpartition("/")[2] for path in paths)
        yield from paths
    elif resolve("wiki", f"/{link.target}", was_at, before) is None:
        yield from relative
        yield from paths
    else:
        yield from paths
        yield from relative
    yield from from_root


def _as_standard(text: str, link: Link, path: str) -> str:
    inside = text[link.whole[0] : link.whole[1]].lstrip("![").removesuffix("]]")
    _, bar, label = inside.partition("|")
    # Wiki links have no inline content: escape what would start code or a tag now.
    shown = re.sub("[`<]", r"\\\g<0>", label if bar else link.target)
    fragment = f"#{anchor_of(link.heading.rpartition('#')[2])}" if link.heading else ""
    return f"{'!' * link.embed}[{shown}](/{encoded_path(path)}{fragment})"


def relinked(
    changeset: Changeset, heads: Mapping[FileId, Revision], texts: Mapping[FileId, str]
) -> Changeset:
    """Return ``changeset`` with updates of the notes whose links its moves would break.

    The links of a note that moves are understood from the path that it has before, also those of a
    text that the changeset gives it; those of an earlier text from the path of its revision.
    Another note that the changeset gives a text, or saves, is not rewritten. Updates of other notes
    follow its operations in the order of their ids, and are unconditional: ``texts`` are those of
    the heads.

    Args:
        changeset: a changeset that moves files with ``rewrite_links``.
        heads: the heads of all files before it.
        texts: the texts of the notes whose links may change, including moved ones.
    """
    paths_before = {head.file_id: head.path for head in heads.values() if head.state == "live"}
    paths_after = _paths_after(heads, paths_before, changeset.operations)
    moving = file_moves(changeset.operations)
    moved = {
        paths_before[file_id]: paths_after[file_id] for file_id in moving if file_id in paths_before
    }
    before, after = paths_by_key(paths_before.values()), paths_by_key(paths_after.values())
    own = {operation.file_id: index for index, operation in enumerate(changeset.operations)}
    operations = list(changeset.operations)
    for file_id in sorted(texts):
        operation = operations[own[file_id]] if file_id in own else None
        head = heads[file_id]
        before_rewrite = _text_after(operation, head, texts[file_id])
        if before_rewrite is None or file_id not in paths_after:
            continue
        text = rewrite_links(
            before_rewrite,
            was_at=_path_of_text(operation, head),
            now_at=paths_after[file_id],
            moved=lambda path: moved.get(path, path),
            before=before.get,
            after=after.get,
        )
        if text == before_rewrite:
            continue
        if isinstance(operation, UpdateFile | RestoreFile):
            operations[own[file_id]] = replace(operation, content=note_text(text))
        else:
            known = frozenset({head.revision_id})
            operations.append(UpdateFile(file_id, known, note_text(text)))
    return replace(changeset, operations=tuple(operations))


def relinked_within(
    changeset: Changeset, heads: Mapping[FileId, Revision], texts: Mapping[FileId, str]
) -> Changeset:
    """Return the same as `relinked`, for a changeset that is limited to a folder.

    Raises `OutsideFolder` when files outside have a part in it: when notes outside would be
    rewritten, or links to or like those of files outside.
    """
    result, within = relinked(changeset, heads, texts), changeset.within
    if within is None:
        return result
    inside = {name: head for name, head in heads.items() if within.covers(head.path)}
    shown = {name: text for name, text in texts.items() if name in inside}
    if relinked(changeset, inside, shown) != result:
        raise OutsideFolder(
            "The move would change links in files, or to files, outside the folder that the key or "
            "token is limited to: move without rewriteLinks, or with a key of the whole workspace."
        )
    return result


def _text_after(operation: ChangeOperation | None, head: Revision, stored: str) -> str | None:
    """Return the text that a note with the ``stored`` one has after its operation, if any.

    Returns None for one that is not to be rewritten.
    """
    match operation:
        case None | UpdateFile(content=None):
            return stored
        case (
            UpdateFile(content=NoteText(text=text), path=str(), rewrite_links=True)
            | RestoreFile(content=NoteText(text=text), path=str(), rewrite_links=True)
        ):
            return text
        case RestoreFile(content=None, path=str(), rewrite_links=True) if head.state == "deleted":
            return stored
        case _:
            return None


def _path_of_text(operation: ChangeOperation | None, head: Revision) -> str:
    """Return the path from which the links of the text are understood."""
    if isinstance(operation, RestoreFile) and operation.was_at is not None:
        return operation.was_at
    return head.path


def _paths_after(
    heads: Mapping[FileId, Revision],
    paths_before: Mapping[FileId, str],
    operations: Sequence[ChangeOperation],
) -> dict[FileId, str]:
    paths = dict(paths_before)
    for operation in operations:
        match operation:
            case CreateFile(file_id, path, _):
                paths[file_id] = path
            case (
                UpdateFile(file_id=file_id, path=str(path))
                | RestoreFile(file_id=file_id, path=str(path))
            ):
                paths[file_id] = path
            case DeleteFile(file_id, _) | PurgeFile(file_id):
                paths.pop(file_id, None)
            case RestoreFile(file_id) if file_id in heads and heads[file_id].state == "deleted":
                # No link led to the file before, but by its name one may now.
                paths[file_id] = heads[file_id].path
            case UpdateFile() | RestoreFile() | SaveNote():
                pass
    return paths

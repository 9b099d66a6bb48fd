"""Write a note in a form: new ones, changes, previews, images, and changes at the same time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from sys import getsizeof
from typing import NamedTuple
from urllib.parse import quote
from uuid import UUID

from octavo_rules import schemas
from octavo_rules.identity import RevisionId
from octavo_rules.problems import DocumentTooLarge, NotFound, Problem
from quart import Response

from octavo.features.notes.member_notes import NoteBody
from octavo.features.notes.pages import frame
from octavo.features.notes.pages.differences import meanwhile
from octavo.features.notes.pages.images import add_image, at_free_path, chosen_image
from octavo.features.notes.pages.note import live_file, newest
from octavo.http import contract
from octavo.http.pages.long_texts import reservation
from octavo.http.pages.page_registry import PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import LIST, path_of
from octavo.http.refusals import failures_as_problems
from octavo.model.etag import entity_tag
from octavo.model.files.path import NOTE_SUFFIX, check_path, name_from_text, name_of, written_path
from octavo.store.fair_turns import FairThreads

_UNNAMED = "Note"
_INBOX = "Inbox"
MIXED = "mixed"
"""The line ends of a text that has several."""


def fields_of(visitor: Visitor, new_id: Callable[[], str]) -> dict[str, str]:
    """Return the fields of the form; what is no identifier is replaced by a new one."""
    given = visitor.given
    return {
        "path": given.get("path", ""),
        "path-before": given.get("path-before", ""),
        "text": with_line_ends(frame.plain(visitor, "text"), given.get("lines", "")),
        "lines": given.get("lines", ""),
        "head": _identifier(given.get("head", "")) or new_id(),
        "mutation": _identifier(given.get("mutation", "")) or new_id(),
        "action": given.get("action", "save"),
    }


def path_of_new(given: Mapping[str, str]) -> tuple[str, bool]:
    """Return the path of a new note, and whether the form names it: otherwise its text does."""
    path = given["path"].strip()
    if path and not path.endswith("/"):
        return written_path(path), True
    folder = path.strip("/") or ("" if path else _INBOX)
    name = name_from_text(given["text"]) or _UNNAMED
    return f"{folder}/{name}{NOTE_SUFFIX}".lstrip("/"), False


def path_after(given: str, before: str) -> str:
    """Return the path that a form gives a note; one that nobody touched stays as it is."""
    return before if given == before else written_path(given)


def relative_link(path: str, target: str) -> str:
    """Return the address of a file for a link in the note at ``path``."""
    return "../" * path.count("/") + quote(target)


def line_end_of(text: str) -> str:
    """Return ``crlf`` for a text whose lines all end so, nothing for LF, and otherwise `MIXED`."""
    if "\r" not in text:
        return ""
    rest = text.replace("\r\n", "")
    return MIXED if "\n" in rest or "\r" in rest else "crlf"


def with_line_ends(text: str, lines: str) -> str:
    """Return a text, whose lines end with LF, with the line ends that its note has."""
    return text.replace("\n", "\r\n") if lines == "crlf" else text


def _identifier(text: str) -> str | None:
    try:
        return text if str(UUID(text)) == text else None
    except ValueError:
        return None


MAX_MERGES = 2
"""Merges at a time, and one for each account."""
_OF_A_MERGE = 8
"""The memory of a merge, as a multiple of that of its texts."""
_FIELDS = ("path", "text", "image")
_LABELS = {"path": "Path", "text": "Text", "image": "Image"}
_TOO_LONG = "The text is too long: a note may have 2 MB. Split it into several notes."
_INSERTED = "The image is at the end of your text. The note is not saved yet."


class _Preview(NamedTuple):
    """A preview: without a body, the text is shown as it was written, if it was asked for."""

    body: NoteBody | None = None
    asked: bool = True
    trouble: FormErrors | None = None


class NoteEditing:
    """Serves the forms of notes.

    Args:
        pages: the pages of notes.
    """

    def __init__(self, pages: frame.NotePages) -> None:
        self._pages = pages
        self._merges = FairThreads(MAX_MERGES)

    def add(self, site: PageRegistry) -> None:
        """Register the forms."""
        new = f"{HOME}/<uuid:workspace_id>/new"
        edit = f"{HOME}/<uuid:workspace_id>/notes/<uuid:file_id>/edit"
        site.page(new)(self.show_new)
        site.form(new, once=True, writes=frame.writable, keeps_text=True)(self.create)
        site.page(edit)(self.show_edit)
        site.form(edit, once=True, writes=frame.writable, keeps_text=True)(self.save)
        site.page("/new")(self.choose_workspace)

    async def choose_workspace(self, visitor: Visitor) -> Response:
        """Lead to the form of a new note, in the workspace that the visitor chooses."""
        page = await visitor.api.get(schemas.WorkspaceList, LIST, limit="100")
        writing = [each for each in page.items if each.role != "reader"]
        query = "&".join(
            f"{name}={quote(visitor.query[name])}"
            for name in ("path", "text", "folder")
            if name in visitor.query
        )
        if len(writing) == 1:
            return redirect(f"{path_of(writing[0].id)}/new?{query}")
        return await show("notes/choose.html", workspaces=writing, question=query)

    async def show_new(self, visitor: Visitor, workspace_id: str) -> Response:
        """Show the form of a new note, filled in as the address says."""
        workspace = await frame.writable(visitor, workspace_id)
        query = visitor.query
        folder = query.get("folder", "").strip("/")
        path = query.get("path", "") or (f"{folder}/" if folder else "")
        return await self._new(visitor, workspace, {"path": path, "text": query.get("text", "")})

    async def create(self, visitor: Visitor, workspace_id: str) -> Response:
        """Create a note, or show its preview."""
        workspace = await frame.writable(visitor, workspace_id)
        given = fields_of(visitor, self._pages.new_id)
        path, is_named = path_of_new(given)
        action, notice = given["action"], ""
        if action == "image" or chosen_image(visitor) is not None:
            given, trouble = await self._with_image(visitor, workspace.id, given, path)
            notice = "" if trouble else _INSERTED
            if trouble or action == "image":
                return await self._new(visitor, workspace, given, trouble, notice=notice)
        if action == "preview":
            return await self._new(visitor, workspace, given, preview=path, notice=notice)
        return await self._create(
            visitor, workspace, given, path, "note-created", is_named=is_named
        )

    async def _create(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        given: dict[str, str],
        path: str,
        message: str,
        *,
        is_named: bool,
    ) -> Response:
        async def add(free: str) -> schemas.FileChange:
            body = {"path": free, "text": given["text"], "mutationId": given["mutation"]}
            made = await visitor.api.call("POST", f"{LIST}/{workspace.id}/files", body)
            return contract.typed(schemas.FileChange, made.result)

        try:
            if is_named:
                change = await add(path)
            else:
                change = await at_free_path(self._pages, visitor, workspace.id, path, add)
        except Problem as problem:
            if problem.code == "mutation_reused":
                # The form made a note before; the person went back, and changed it further.
                return await self._change_made(visitor, workspace, given)
            return await self._new(visitor, workspace, given, _trouble(problem))
        return redirect(f"{path_of(workspace.id)}/notes/{change.file_id}", message)

    async def _change_made(
        self, visitor: Visitor, workspace: schemas.Workspace, given: dict[str, str]
    ) -> Response:
        """Save the fields of a form in the note that it made before."""
        receipt = await self._receipt(visitor, workspace.id, given)
        [file_id] = {each.file_id for each in receipt.changes}
        again = self._after(receipt, file_id, given)
        if not again["path"].strip():
            again["path"] = again["path-before"]
        return await self._save_or_explain(visitor, workspace, file_id, again)

    async def show_edit(self, visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        """Show the form of a note."""
        workspace = await frame.writable(visitor, workspace_id)
        file = await live_file(self._pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        if file.kind != "note":
            raise NotFound("This is an image, which has no text.")
        path, text = file.path or "", file.text or ""
        given = {"path": path, "path-before": path, "text": text, "head": file.head.id}
        return await self._edit(visitor, workspace, file.id, {**given, "lines": line_end_of(text)})

    async def save(self, visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        """Save a note, or show its preview, or what somebody else saved meanwhile."""
        workspace, file_id = await frame.writable(visitor, workspace_id), str(file_id)
        given = fields_of(visitor, self._pages.new_id)
        action, notice = given["action"], ""
        if action == "keep":
            return redirect(f"{path_of(workspace.id)}/notes/{file_id}", "theirs-kept")
        # Its links are understood from there; those of a copy are not rewritten.
        rewritten = "rewrite" in visitor.given and action != "copy"
        before = given["path-before"]
        at = before if rewritten else path_after(given["path"], before)
        if action == "image" or chosen_image(visitor) is not None:
            given, trouble = await self._with_image(visitor, workspace.id, given, at)
            notice = "" if trouble else _INSERTED
            if trouble or action == "image":
                return await self._edit(visitor, workspace, file_id, given, trouble, notice=notice)
        if action == "preview":
            return await self._edit(visitor, workspace, file_id, given, preview=at, notice=notice)
        if action == "copy":
            stem = written_path(given["path"]).removesuffix(NOTE_SUFFIX)
            path = f"{stem} (copy){NOTE_SUFFIX}"
            return await self._create(visitor, workspace, given, path, "copy-saved", is_named=False)
        return await self._save_or_explain(visitor, workspace, file_id, given)

    async def _save_or_explain(
        self, visitor: Visitor, workspace: schemas.Workspace, file_id: str, given: dict[str, str]
    ) -> Response:
        try:
            try:
                change = await self._save(visitor, workspace.id, file_id, given)
            except Problem as problem:
                if problem.code != "mutation_reused":
                    raise
                # The form was saved before; the person went back, and changed it further.
                receipt = await self._receipt(visitor, workspace.id, given)
                given = self._after(receipt, file_id, given)
                change = await self._save(visitor, workspace.id, file_id, given)
        except Problem as problem:
            if problem.code == "head_moved":
                return await self._meanwhile(visitor, workspace, file_id, given)
            if problem.code in ("not_found", "file_purged"):
                return await self._deleted(visitor, workspace, given)
            return await self._edit(visitor, workspace, file_id, given, _trouble(problem))
        message = "note-unchanged" if change.outcome == "unchanged" else "note-saved"
        return redirect(f"{path_of(workspace.id)}/notes/{file_id}", message)

    async def _save(
        self, visitor: Visitor, workspace_id: str, file_id: str, given: Mapping[str, str]
    ) -> schemas.FileChange:
        text = given["text"]
        if given["lines"] == MIXED:
            # Browsers can't send such lines: a text that nobody changed stays as it is.
            before = await _text_of(visitor, workspace_id, file_id, given["head"])
            text = before if before is not None and frame.with_line_feeds(before) == text else text
        body: dict[str, object] = {"text": text, "mutationId": given["mutation"]}
        path = path_after(given["path"], given["path-before"])
        if path != given["path-before"]:
            body.update(path=path, rewriteLinks="rewrite" in visitor.given)
        headers = [(b"if-match", entity_tag(RevisionId(given["head"])))]
        place = frame.file_path(workspace_id, file_id)
        made = await visitor.api.call("PUT", place, body, headers=headers)
        return contract.typed(schemas.FileChange, made.result)

    async def _receipt(
        self, visitor: Visitor, workspace_id: str, given: Mapping[str, str]
    ) -> schemas.ChangesetResult:
        """Return what a form saved before."""
        place = f"{LIST}/{workspace_id}/receipts/{given['mutation']}"
        return await visitor.api.get(schemas.ChangesetResult, place)

    def _after(
        self, receipt: schemas.ChangesetResult, file_id: str, given: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the fields of a form as if it had been made from what it saved before."""
        again = {**given, "mutation": self._pages.new_id()}
        for each in receipt.changes:
            if each.file_id == file_id:
                again["head"] = each.revision.id
                again["path-before"] = each.path or given["path-before"]
        return again

    async def _meanwhile(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        file_id: str,
        given: Mapping[str, str],
    ) -> Response:
        """Show what somebody saved meanwhile, and the merged text, as a form."""
        try:
            file = await frame.note_of(visitor, workspace.id, file_id)
        except Problem as problem:
            if problem.code not in ("not_found", "file_purged"):
                raise
            return await self._deleted(visitor, workspace, given)
        path = path_after(given["path"], given["path-before"])
        base = await _text_of(visitor, workspace.id, file_id, given["head"])
        same = base is not None and frame.with_line_feeds(base) == frame.with_line_feeds(
            given["text"]
        )
        if same and path == given["path-before"]:
            return redirect(f"{path_of(workspace.id)}/notes/{file_id}", "note-changed-meanwhile")
        try:
            with failures_as_problems():
                await self._pages.texts.content(given["text"])
        except Problem as problem:
            return await self._edit(visitor, workspace, file_id, given, _trouble(problem))
        compare = partial(meanwhile, file, base, given["text"])
        texts = (base or "", given["text"], file.text or "")
        await reservation().reserve(_OF_A_MERGE * sum(map(getsizeof, texts)))
        found = await self._merges.run(compare)
        return await self._pages.show(
            "notes/meanwhile.html",
            workspace,
            folder=frame.folder_of(file.path or ""),
            here=file.id,
            status=409,
            given={
                **given,
                "text": found.merged,
                "head": file.head.id,
                "path": path if path != given["path-before"] else file.path,
                "path-before": file.path,
                "mutation": self._pages.new_id(),
            },
            mutation_of_copy=self._pages.new_id(),
            rewrite="rewrite" in visitor.given,
            written=given["text"],
            found=found,
            revision=await newest(visitor, workspace.id, file_id),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(file.path or "")),
            title=await self._pages.known_title(workspace.id, file.id, file.path or ""),
        )

    async def _deleted(
        self, visitor: Visitor, workspace: schemas.Workspace, given: Mapping[str, str]
    ) -> Response:
        """Show the text of a note that was deleted meanwhile, as the form of a new one."""
        trouble = FormErrors(
            409,
            "Somebody deleted this note while you wrote. Your text is here: create the note again, "
            "or copy what you need.",
            code="not_found",
        )
        again = {**given, "mutation": self._pages.new_id()}
        return await self._new(visitor, workspace, again, trouble)

    async def _new(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        given: Mapping[str, str],
        trouble: FormErrors | None = None,
        *,
        preview: str | None = None,
        notice: str = "",
    ) -> Response:
        folder = frame.folder_of(given["path"])
        shown = await self._previewed(workspace.id, preview, given["text"])
        trouble = trouble or shown.trouble
        return await self._pages.show(
            "notes/new.html",
            workspace,
            folder=folder,
            folders=[f"{each}/" for each in await self._pages.folders(workspace.id)],
            trouble=trouble,
            given={"mutation": self._pages.new_id(), **given},
            first=_first(trouble),
            labels=_LABELS,
            crumbs=frame.crumbs_of(workspace, folder),
            notice=notice,
            is_preview=shown.asked,
            preview=shown.body,
        )

    async def _edit(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        file_id: str,
        given: Mapping[str, str],
        trouble: FormErrors | None = None,
        *,
        preview: str | None = None,
        notice: str = "",
    ) -> Response:
        before = given["path-before"]
        folder = frame.folder_of(before)
        shown = await self._previewed(workspace.id, preview, given["text"], before)
        trouble = trouble or shown.trouble
        return await self._pages.show(
            "notes/edit.html",
            workspace,
            folder=folder,
            here=file_id,
            trouble=trouble,
            given={"mutation": self._pages.new_id(), **given},
            first=_first(trouble),
            labels=_LABELS,
            rewrite="rewrite" in visitor.given or not visitor.given,
            crumbs=frame.crumbs_of(workspace, folder),
            title=await self._pages.known_title(workspace.id, file_id, before),
            notice=notice,
            is_preview=shown.asked,
            preview=shown.body,
        )

    async def _previewed(
        self, workspace_id: str, path: str | None, text: str, before: str = ""
    ) -> _Preview:
        """Return the preview of a text at ``path``, or why there is none."""
        if path is None:
            return _Preview(asked=False)
        try:
            at = path_after(path, before)
            with failures_as_problems():
                check_path(at, kept=at)
            return _Preview(await self._pages.preview(workspace_id, at, text))
        except Problem as problem:
            return _Preview(asked=False, trouble=_trouble(problem))

    async def _with_image(
        self, visitor: Visitor, workspace_id: str, given: dict[str, str], path: str
    ) -> tuple[dict[str, str], FormErrors | None]:
        """Upload the image of the form, and return the fields with a link to it in the text."""
        added = await add_image(self._pages, visitor, workspace_id)
        if isinstance(added, FormErrors):
            return given, added
        target = added.path or ""
        link = f"![{name_of(target).rpartition('.')[0]}]({relative_link(path, target)})"
        text = given["text"].rstrip("\n")
        return {**given, "text": f"{text}\n\n{link}\n".lstrip("\n")}, None


async def _text_of(
    visitor: Visitor, workspace_id: str, file_id: str, revision_id: str
) -> str | None:
    """Return the text of a revision; None if it is not stored any more."""
    place = f"{frame.file_path(workspace_id, file_id)}/revisions/{revision_id}"
    try:
        return (await visitor.api.get(schemas.WorkspaceFile, place)).text
    except Problem as problem:
        if problem.code not in ("not_found", "file_purged"):
            raise
        return None


def _trouble(problem: Problem) -> FormErrors:
    """Return why a note was refused, beside the field that is the reason."""
    trouble = form_errors_of(problem)
    of_path = {"invalid_path", "path_conflict", "invalid_graph"}
    of_text = {"unrenderable_note", "invalid_content"}
    if problem.code == DocumentTooLarge.code:
        return replace(trouble, text="", fields={"text": _TOO_LONG})
    if problem.code in of_path:
        return replace(trouble, text="", fields={"path": trouble.text})
    if problem.code in of_text:
        return replace(trouble, text="", fields={"text": trouble.text})
    return trouble


def _first(trouble: FormErrors | None) -> str | None:
    fields = () if trouble is None else trouble.fields
    return next((each for each in _FIELDS if each in fields), None)

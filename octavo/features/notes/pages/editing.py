"""Write notes in forms: new ones, changes, previews, images, and what others changed meanwhile."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from sys import getsizeof
from typing import NamedTuple
from urllib.parse import quote

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
"""The line ends of a text that has several kinds."""


def fields_of(visitor: Visitor, new_id: Callable[[], str]) -> dict[str, str]:
    """Return the fields of the form; invalid identifiers are replaced by new ones."""
    sent = visitor.form
    return {
        "path": sent.get("path", ""),
        "path-before": sent.get("path-before", ""),
        "text": with_line_ends(frame.plain(visitor, "text"), sent.get("lines", "")),
        "lines": sent.get("lines", ""),
        "head": frame.identifier(sent.get("head", "")) or new_id(),
        "mutation": frame.identifier(sent.get("mutation", "")) or new_id(),
        "action": sent.get("action", "save"),
    }


def path_of_new(fields: Mapping[str, str]) -> tuple[str, bool]:
    """Return the path of a new note, and whether the form names it: otherwise its text does."""
    path = fields["path"].strip()
    if path and not path.endswith("/"):
        return written_path(path), True
    folder = path.strip("/") or ("" if path else _INBOX)
    name = name_from_text(fields["text"]) or _UNNAMED
    return f"{folder}/{name}{NOTE_SUFFIX}".lstrip("/"), False


def path_after(typed: str, before: str) -> str:
    """Return the path that a form gives a note: exactly ``before`` if nobody has edited it."""
    return before if typed == before else written_path(typed)


def relative_link(path: str, target: str) -> str:
    """Return the address of a file for a link in the note at ``path``."""
    return "../" * path.count("/") + quote(target)


def line_end_of(text: str) -> str:
    """Return ``crlf`` if all lines end with CR LF, nothing for LF, and otherwise `MIXED`."""
    if "\r" not in text:
        return ""
    rest = text.replace("\r\n", "")
    return MIXED if "\n" in rest or "\r" in rest else "crlf"


def with_line_ends(text: str, lines: str) -> str:
    """Return a text, whose lines end with LF, with the line ends that its note has."""
    return text.replace("\n", "\r\n") if lines == "crlf" else text


MAX_MERGES = 2
"""Merges at a time, and one for each account."""
_OF_A_MERGE = 8
"""The memory of a merge, as a multiple of that of its texts."""
_FIELDS = ("path", "text", "image")
_LABELS = {"path": "Path", "text": "Text", "image": "Image"}
_TOO_LONG = "The text is too long: a note may have 2 MB. Split it into several notes."
_INSERTED = "The image is at the end of your text. The note is not saved yet."


class _Preview(NamedTuple):
    """A preview, if it was ``asked`` for; without a body, the text is shown as it was written."""

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
        """Redirect to the form of a new note, or let the visitor choose a workspace first."""
        page = await visitor.api.get(schemas.WorkspaceList, LIST, limit="100")
        writing = [workspace for workspace in page.items if workspace.role != "reader"]
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
        return await self._new(workspace, {"path": path, "text": query.get("text", "")})

    async def create(self, visitor: Visitor, workspace_id: str) -> Response:
        """Create a note, or show its preview."""
        workspace = await frame.writable(visitor, workspace_id)
        fields = fields_of(visitor, self._pages.new_id)
        path, is_named = path_of_new(fields)
        action, notice = fields["action"], ""
        if action == "image" or chosen_image(visitor) is not None:
            fields, trouble = await self._with_image(visitor, workspace.id, fields, path)
            notice = "" if trouble else _INSERTED
            if trouble or action == "image":
                return await self._new(workspace, fields, trouble, notice=notice)
        if action == "preview":
            return await self._new(workspace, fields, preview=path, notice=notice)
        return await self._create(
            visitor, workspace, fields, path, "note-created", is_named=is_named
        )

    async def _create(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        fields: dict[str, str],
        path: str,
        message: str,
        *,
        is_named: bool,
    ) -> Response:
        async def add(free: str) -> schemas.FileChange:
            body = {"path": free, "text": fields["text"], "mutationId": fields["mutation"]}
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
                return await self._change_made(visitor, workspace, fields)
            return await self._new(workspace, fields, _trouble(problem))
        return redirect(f"{path_of(workspace.id)}/notes/{change.file_id}", message)

    async def _change_made(
        self, visitor: Visitor, workspace: schemas.Workspace, fields: dict[str, str]
    ) -> Response:
        """Save the fields of a form in the note that it made before."""
        receipt = await self._receipt(visitor, workspace.id, fields)
        [file_id] = {change.file_id for change in receipt.changes}
        again = self._after(receipt, file_id, fields)
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
        fields = {"path": path, "path-before": path, "text": text, "head": file.head.id}
        return await self._edit(visitor, workspace, file.id, {**fields, "lines": line_end_of(text)})

    async def save(self, visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        """Save a note, or show its preview, or what somebody else saved meanwhile."""
        workspace, file_id = await frame.writable(visitor, workspace_id), str(file_id)
        fields = fields_of(visitor, self._pages.new_id)
        action, notice = fields["action"], ""
        if action == "keep":
            return redirect(f"{path_of(workspace.id)}/notes/{file_id}", "theirs-kept")
        # Links in the text are resolved at this path. Those of a copy are not rewritten.
        rewritten = "rewrite" in visitor.form and action != "copy"
        before = fields["path-before"]
        at = before if rewritten else path_after(fields["path"], before)
        if action == "image" or chosen_image(visitor) is not None:
            fields, trouble = await self._with_image(visitor, workspace.id, fields, at)
            notice = "" if trouble else _INSERTED
            if trouble or action == "image":
                return await self._edit(visitor, workspace, file_id, fields, trouble, notice=notice)
        if action == "preview":
            return await self._edit(visitor, workspace, file_id, fields, preview=at, notice=notice)
        if action == "copy":
            stem = written_path(fields["path"]).removesuffix(NOTE_SUFFIX)
            path = f"{stem} (copy){NOTE_SUFFIX}"
            return await self._create(
                visitor, workspace, fields, path, "copy-saved", is_named=False
            )
        return await self._save_or_explain(visitor, workspace, file_id, fields)

    async def _save_or_explain(
        self, visitor: Visitor, workspace: schemas.Workspace, file_id: str, fields: dict[str, str]
    ) -> Response:
        try:
            try:
                change = await self._save(visitor, workspace.id, file_id, fields)
            except Problem as problem:
                if problem.code != "mutation_reused":
                    raise
                # The form was saved before; the person went back, and changed it further.
                receipt = await self._receipt(visitor, workspace.id, fields)
                fields = self._after(receipt, file_id, fields)
                change = await self._save(visitor, workspace.id, file_id, fields)
        except Problem as problem:
            if problem.code == "head_moved":
                return await self._meanwhile(visitor, workspace, file_id, fields)
            if problem.code in ("not_found", "file_purged"):
                return await self._deleted(workspace, fields)
            return await self._edit(visitor, workspace, file_id, fields, _trouble(problem))
        message = "note-unchanged" if change.outcome == "unchanged" else "note-saved"
        return redirect(f"{path_of(workspace.id)}/notes/{file_id}", message)

    async def _save(
        self, visitor: Visitor, workspace_id: str, file_id: str, fields: Mapping[str, str]
    ) -> schemas.FileChange:
        text = fields["text"]
        if fields["lines"] == MIXED:
            # Browsers can't send mixed line ends: a text that nobody changed keeps them.
            before = await _text_of(visitor, workspace_id, file_id, fields["head"])
            text = before if before is not None and frame.with_line_feeds(before) == text else text
        body: dict[str, object] = {"text": text, "mutationId": fields["mutation"]}
        path = path_after(fields["path"], fields["path-before"])
        if path != fields["path-before"]:
            body.update(path=path, rewriteLinks="rewrite" in visitor.form)
        headers = [(b"if-match", entity_tag(RevisionId(fields["head"])))]
        place = frame.file_path(workspace_id, file_id)
        made = await visitor.api.call("PUT", place, body, headers=headers)
        return contract.typed(schemas.FileChange, made.result)

    async def _receipt(
        self, visitor: Visitor, workspace_id: str, fields: Mapping[str, str]
    ) -> schemas.ChangesetResult:
        """Return what a form saved before."""
        place = f"{LIST}/{workspace_id}/receipts/{fields['mutation']}"
        return await visitor.api.get(schemas.ChangesetResult, place)

    def _after(
        self, receipt: schemas.ChangesetResult, file_id: str, fields: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the fields of a form as if it had been opened after its earlier save."""
        again = {**fields, "mutation": self._pages.new_id()}
        for change in receipt.changes:
            if change.file_id == file_id:
                again["head"] = change.revision.id
                again["path-before"] = change.path or fields["path-before"]
        return again

    async def _meanwhile(
        self,
        visitor: Visitor,
        workspace: schemas.Workspace,
        file_id: str,
        fields: Mapping[str, str],
    ) -> Response:
        """Show what somebody saved meanwhile, and the merged text, as a form."""
        try:
            file = await frame.note_of(visitor, workspace.id, file_id)
        except Problem as problem:
            if problem.code not in ("not_found", "file_purged"):
                raise
            return await self._deleted(workspace, fields)
        path = path_after(fields["path"], fields["path-before"])
        base = await _text_of(visitor, workspace.id, file_id, fields["head"])
        same = base is not None and frame.with_line_feeds(base) == frame.with_line_feeds(
            fields["text"]
        )
        if same and path == fields["path-before"]:
            return redirect(f"{path_of(workspace.id)}/notes/{file_id}", "note-changed-meanwhile")
        try:
            with failures_as_problems():
                await self._pages.texts.content(fields["text"])
        except Problem as problem:
            return await self._edit(visitor, workspace, file_id, fields, _trouble(problem))
        compare = partial(meanwhile, file, base, fields["text"])
        texts = (base or "", fields["text"], file.text or "")
        await reservation().reserve(_OF_A_MERGE * sum(map(getsizeof, texts)))
        merged = await self._merges.run(compare)
        return await self._pages.show(
            "notes/meanwhile.html",
            workspace,
            folder=frame.folder_of(file.path or ""),
            here=file.id,
            status=409,
            form={
                **fields,
                "text": merged.merged,
                "head": file.head.id,
                "path": path if path != fields["path-before"] else file.path,
                "path-before": file.path,
                "mutation": self._pages.new_id(),
            },
            mutation_of_copy=self._pages.new_id(),
            rewrite="rewrite" in visitor.form,
            written=fields["text"],
            merge=merged,
            revision=await newest(visitor, workspace.id, file_id),
            crumbs=frame.crumbs_of(workspace, frame.folder_of(file.path or "")),
            title=await self._pages.known_title(workspace.id, file.id, file.path or ""),
        )

    async def _deleted(self, workspace: schemas.Workspace, fields: Mapping[str, str]) -> Response:
        """Show the text of a note that was deleted meanwhile, as the form of a new one."""
        trouble = FormErrors(
            409,
            "Somebody deleted this note while you wrote. Your text is here: create the note again, "
            "or copy what you need.",
            code="not_found",
        )
        again = {**fields, "mutation": self._pages.new_id()}
        return await self._new(workspace, again, trouble)

    async def _new(
        self,
        workspace: schemas.Workspace,
        fields: Mapping[str, str],
        trouble: FormErrors | None = None,
        *,
        preview: str | None = None,
        notice: str = "",
    ) -> Response:
        folder = frame.folder_of(fields["path"])
        shown = await self._previewed(workspace.id, preview, fields["text"])
        trouble = trouble or shown.trouble
        return await self._pages.show(
            "notes/new.html",
            workspace,
            folder=folder,
            folders=[f"{name}/" for name in await self._pages.folders(workspace.id)],
            trouble=trouble,
            form={"mutation": self._pages.new_id(), **fields},
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
        fields: Mapping[str, str],
        trouble: FormErrors | None = None,
        *,
        preview: str | None = None,
        notice: str = "",
    ) -> Response:
        before = fields["path-before"]
        folder = frame.folder_of(before)
        shown = await self._previewed(workspace.id, preview, fields["text"], before)
        trouble = trouble or shown.trouble
        return await self._pages.show(
            "notes/edit.html",
            workspace,
            folder=folder,
            here=file_id,
            trouble=trouble,
            form={"mutation": self._pages.new_id(), **fields},
            first=_first(trouble),
            labels=_LABELS,
            rewrite="rewrite" in visitor.form or not visitor.form,
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
        self, visitor: Visitor, workspace_id: str, fields: dict[str, str], path: str
    ) -> tuple[dict[str, str], FormErrors | None]:
        """Upload the image of the form, and return the fields with a link to it in the text."""
        added = await add_image(self._pages, visitor, workspace_id)
        if isinstance(added, FormErrors):
            return fields, added
        target = added.path or ""
        link = f"![{name_of(target).rpartition('.')[0]}]({relative_link(path, target)})"
        text = fields["text"].rstrip("\n")
        return {**fields, "text": f"{text}\n\n{link}\n".lstrip("\n")}, None


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
    return next((field for field in _FIELDS if field in fields), None)

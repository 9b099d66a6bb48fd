"""Import and export: an archive is uploaded in a form, and its import followed on a page."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import trio
from octavo_rules.problems import Problem
from octavo_rules.schemas import Import, ImportPart, ImportWorkspaceResult, StartedImport
from quart import Response

from octavo.features.archives.imports import MAX_PARTS, PART_SIZE
from octavo.features.notes.pages.frame import NotePages, writable
from octavo.http import contract
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect
from octavo.http.pages.uploads import Slices, UploadForm
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of

PATIENCE = 2.0
"""Seconds for which a person waits for the result; a longer import has a page that shows it."""
CLEANUP_SECONDS = 10.0
"""Seconds in which an upload that failed is removed."""
_ZIP = b"PK"
_OPEN = re.compile(r"([0-9a-f-]{36}) into the workspace ([0-9a-f-]{36})")

ADVICE: Mapping[str, str] = {
    "archive_invalid": "Correct this on your computer, make the archive again, and import it.",
    "archive_too_many_files": "Divide it into several archives, and import one after the other.",
    "archive_too_large": "Divide it into several archives, and import one after the other.",
    "path_conflict": "Move or delete those notes, then try again. Or discard this archive, and "
    "import it into a workspace of its own.",
    "storage_full": "Delete and erase files that you no longer need, or ask the people who run "
    "this installation for more. The archive is kept for a week: try again then.",
    "download_limit": "The archive is kept for a week: try again when the month is over.",
    "archive_job_running": "The archive has arrived, but another import or export of yours is "
    "running. Wait until it has finished, then try again.",
    "archive_jobs_busy": "The archive has arrived, but too many imports and exports are running. "
    "Try again in a minute.",
    "import_incomplete": "Some files came in, and then the import was stopped. Try again: it goes "
    "on after them.",
}
"""What a person can do about a refusal, by its code."""
_LATER = "The archive has arrived, but it could not be imported now. Try again in a minute."


class OpenImport(NamedTuple):
    """An import that is not done."""

    import_id: str
    workspace_id: str


def add_transfer_pages(pages: NotePages) -> None:
    """Serve the pages of imports and exports."""
    place = f"{HOME}/<uuid:workspace_id>/transfers"
    one = f"{place}/<uuid:import_id>"

    @pages.site.page(place)
    async def show_transfers(visitor: Visitor, workspace_id: str) -> Response:
        return await _show(visitor, workspace_id)

    async def _show(
        visitor: Visitor,
        workspace_id: str,
        trouble: FormErrors | None = None,
        opened: list[OpenImport] | None = None,
    ) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        return await pages.show(
            "notes/transfers.html", workspace, trouble=trouble, opened=opened or []
        )

    @pages.site.upload(place, size=PART_SIZE * MAX_PARTS)
    async def receive(visitor: Visitor, upload: UploadForm, workspace_id: str) -> Response:
        await writable(visitor, workspace_id)
        if upload.file is None or not upload.file.filename:
            chosen = FormErrors(400, "", {"archive": "Choose a zip archive first."})
            return await _show(visitor, workspace_id, chosen)
        slices = Slices(upload.file, 1)
        if not await slices.more() or not slices.waiting.startswith(_ZIP[: len(slices.waiting)]):
            text = (
                "This is not a zip archive. Pack the folder of your notes into one, and choose it."
            )
            return await _show(visitor, workspace_id, FormErrors(400, "", {"archive": text}))
        try:
            import_id = await _store(visitor, workspace_id, slices)
        except Problem as problem:
            trouble = form_errors_of(problem)
            if problem.code == "too_many_imports":
                text = "These imports of yours are not done. Finish or discard one of them first."
                opened = [OpenImport(*ids) for ids in _OPEN.findall(problem.detail)]
                trouble = replace(trouble, text=text)
                return await _show(visitor, workspace_id, trouble, opened)
            return await _show(visitor, workspace_id, trouble)
        return await _completed(visitor, workspace_id, import_id)

    @pages.site.page(one)
    async def show_import(visitor: Visitor, workspace_id: str, import_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        progress = await visitor.api.get(Import, _place(workspace_id, str(import_id)))
        code = visitor.query.get("refused", "")
        if progress.failure is not None:
            code = progress.failure.code
        return await pages.show(
            "notes/import.html",
            workspace,
            progress=progress,
            percent=0 if not progress.total else min(100, 100 * progress.read // progress.total),
            advice=ADVICE.get(code, _LATER),
            useless=code.startswith("archive_") and progress.failure is not None,
            left_out=sum(progress.result.left_out.values()) if progress.result is not None else 0,
        )

    @pages.site.form(f"{one}/complete", once=True)
    async def complete(visitor: Visitor, workspace_id: str, import_id: str) -> Response:
        return await _completed(visitor, workspace_id, str(import_id))

    @pages.site.form(f"{one}/discard", once=True)
    async def discard(visitor: Visitor, workspace_id: str, import_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", _place(workspace_id, str(import_id)))
        return redirect(f"{path_of(workspace_id)}/transfers", "import-discarded")


async def _store(visitor: Visitor, workspace_id: str, slices: Slices) -> str:
    """Store an archive in parts as it arrives, and return the id of its import.

    One that does not arrive completely is removed.
    """
    body: dict[str, object] = {}
    started = await visitor.api.send(StartedImport, "POST", f"{LIST}/{workspace_id}/imports", body)
    place = _place(workspace_id, started.import_id)
    stored = False
    try:
        slices.size = started.part_size
        number = 1
        while await slices.more():
            part = f"{place}/parts/{number}"
            await visitor.api.send_chunks(ImportPart, "PUT", part, slices)
            number += 1
        stored = True
    finally:
        if not stored:
            with trio.move_on_after(CLEANUP_SECONDS, shield=True):
                await visitor.api.send(contract.Removed, "DELETE", place)
    return started.import_id


async def _completed(visitor: Visitor, workspace_id: str, import_id: str) -> Response:
    """Begin an import whose archive has arrived, and lead to its page."""
    query = ""
    with trio.move_on_after(PATIENCE):
        try:
            await visitor.api.send(
                ImportWorkspaceResult, "POST", f"{_place(workspace_id, import_id)}/complete"
            )
        except Problem as problem:
            # Raises problems that do not concern the import.
            form_errors_of(problem)
            if problem.code in ("not_found", "forbidden"):
                raise
            query = f"?refused={problem.code}"
    return redirect(f"{path_of(workspace_id)}/transfers/{import_id}{query}")


def _place(workspace_id: str, import_id: str) -> str:
    return f"{LIST}/{workspace_id}/imports/{import_id}"

"""The images of a workspace: a gallery, one image with the notes that show it, and adding some."""

import re
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import TypeVar

from octavo_rules.problems import BodyTooLarge, NotFound, Problem
from octavo_rules.schemas import AttachmentUploadResult, FileChange, FileLinks, FileList
from quart import Response

from octavo.features.notes.pages.frame import NotePages, file_path, writable
from octavo.features.notes.pages.note import linking_notes, live_file, newest
from octavo.http import contract
from octavo.http.pages.forms import SentFile
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of
from octavo.model.files.path import ATTACHMENTS, name_from_text, numbered_paths
from octavo.model.image_limits import MAX_BYTES

IMAGE = "image"
"""The field with an image."""
_TOO_LARGE = f"The image is larger than {MAX_BYTES >> 20} MB. Choose a smaller one."
_TRIES = 50
_CONFLICTS = 10
_OTHERS = re.compile(r"[^a-z0-9]")

T = TypeVar("T")


async def add_image(
    pages: NotePages, visitor: Visitor, workspace_id: str
) -> FileChange | FormErrors:
    """Add the image of a form to a workspace; return its file, or why it was refused."""
    image = chosen_image(visitor)
    if image is None:
        return FormErrors(400, "", {IMAGE: "Choose an image first."})
    try:
        return await _uploaded(pages, visitor, workspace_id, image, image_name(image.name))
    except BodyTooLarge:
        return FormErrors(BodyTooLarge.status, "", {IMAGE: _TOO_LARGE}, code=BodyTooLarge.code)
    except Problem as problem:
        errors = form_errors_of(problem)
        text = " ".join((errors.text, *errors.fields.values())).strip()
        return FormErrors(errors.status, "", {IMAGE: text}, errors.headers, errors.code)


def chosen_image(visitor: Visitor) -> SentFile | None:
    """Return the image of a form; None if the person has chosen none."""
    image = visitor.files.get(IMAGE)
    return image if image is not None and image.name else None


async def _uploaded(
    pages: NotePages, visitor: Visitor, workspace_id: str, image: SentFile, name: str
) -> FileChange:
    upload = await visitor.api.send_file(
        AttachmentUploadResult,
        f"{LIST}/{workspace_id}/attachments",
        image.content,
        name=name,
        media_type=image.media_type,
        boundary=pages.new_entropy().hex(),
    )
    place = f"{LIST}/{workspace_id}/attachments/{upload.object_id}/finalize"

    async def finalize(target: str) -> FileChange:
        made = await visitor.api.call("POST", place, {"path": target})
        return contract.typed(FileChange, made.result)

    return await at_free_path(pages, visitor, workspace_id, ATTACHMENTS + name, finalize)


async def at_free_path(
    pages: NotePages,
    visitor: Visitor,
    workspace_id: str,
    path: str,
    add: Callable[[str], Awaitable[T]],
) -> T:
    """Add a file at a path that no other file has: ``path``, or one with a number after the name.

    ``add`` adds it; its problem ``path_conflict`` leads to the next path. Raises its other
    problems.
    """
    conflicts = 0
    for candidate in islice(numbered_paths(path), _TRIES):
        if await _is_taken(visitor, workspace_id, candidate):
            continue
        try:
            return await add(candidate)
        except Problem as problem:
            # A path that differs only in case exists, or somebody else has added this one.
            if problem.code != "path_conflict" or conflicts == _CONFLICTS:
                raise
            conflicts += 1
    folder, slash, name = path.rpartition("/")
    return await add(f"{folder}{slash}{pages.new_id()[-12:]} {name}")


async def _is_taken(visitor: Visitor, workspace_id: str, path: str) -> bool:
    page = await visitor.api.get(FileList, f"{LIST}/{workspace_id}/files", prefix=path, limit="1")
    return bool(page.items) and page.items[0].path == path


def image_name(sent_name: str) -> str:
    """Return a name for an image that is valid in a path and in a header."""
    name = sent_name.replace("\\", "/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    kind = _OTHERS.sub("", ending.lower())
    return f"{name_from_text(stem) or 'image'}.{kind}" if stem and kind else "image"


_ROWS = "48"
_RULE = f"{HOME}/<uuid:workspace_id>/images"


def add_image_pages(pages: NotePages) -> None:
    """Serve the gallery, and the pages of images."""

    @pages.site.page(_RULE)
    async def show_gallery(visitor: Visitor, workspace_id: str) -> Response:
        return await gallery(visitor, workspace_id)

    async def gallery(
        visitor: Visitor, workspace_id: str, trouble: FormErrors | None = None
    ) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        page = await visitor.api.get(
            FileList,
            f"{LIST}/{workspace_id}/files",
            prefix=ATTACHMENTS,
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        images = [file for file in page.items if file.kind == "attachment"]
        return await pages.show(
            "notes/images.html",
            workspace,
            trouble=trouble,
            page=page,
            images=images,
            file_name=file_name,
        )

    @pages.site.form(_RULE, once=True, writes=writable)
    async def add(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        added = await add_image(pages, visitor, workspace.id)
        if isinstance(added, FormErrors):
            return await gallery(visitor, workspace_id, added)
        return redirect(f"{path_of(workspace.id)}/images/{added.file_id}", "image-added")

    @pages.site.page(f"{_RULE}/<uuid:file_id>")
    async def show_image(visitor: Visitor, workspace_id: str, file_id: str) -> Response:
        workspace = await workspace_of(visitor, workspace_id)
        file = await live_file(pages, visitor, workspace, file_id)
        if isinstance(file, Response):
            return file
        if file.kind != "attachment":
            raise NotFound("This is a note, and not an image.")
        try:
            place = f"{file_path(workspace_id, file_id)}/links"
            links = await visitor.api.get(FileLinks, place, limit=_ROWS)
            showing = linking_notes(links.incoming)
        except NotFound:
            raise
        except Problem:
            showing = []
        return await pages.show(
            "notes/image.html",
            workspace,
            file=file,
            name=file_name(file.path or ""),
            revision=await newest(visitor, workspace_id, file_id),
            showing=showing,
        )


def file_name(path: str) -> str:
    """Return the name of an image: the last segment of its path."""
    return path.rpartition("/")[2]

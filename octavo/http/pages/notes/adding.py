"""Add files from forms: images that are uploaded, and paths that no other file has."""

from typing import BinaryIO, cast

from werkzeug.datastructures import FileStorage

from octavo.http.api.attachments import AttachmentUploadResult
from octavo.http.api.file_schemas import FileChangeSchema
from octavo.http.api.reading import FileList
from octavo.http.contract.in_process import typed
from octavo.http.contract.problems import Problem
from octavo.http.pages.notes.frame import NotePages
from octavo.http.pages.site import Visitor
from octavo.http.pages.trouble import Trouble, trouble_of
from octavo.http.pages.workspaces import LIST
from octavo.model.files.naming import name_from_text
from octavo.model.files.path import ATTACHMENTS

IMAGE = "image"
"""The field with an image."""
_TRIES = 50


async def add_image(
    pages: NotePages, visitor: Visitor, workspace_id: str
) -> FileChangeSchema | Trouble:
    """Add the image of a form to a workspace; return its file, or why it was refused."""
    image = visitor.files.get(IMAGE)
    if image is None or not image.filename:
        return Trouble(400, "", {IMAGE: "Choose an image first."})
    try:
        return await _uploaded(pages, visitor, workspace_id, image, image_name(image.filename))
    except Problem as problem:
        found = trouble_of(problem)
        text = " ".join((found.text, *found.fields.values())).strip()
        return Trouble(found.status, "", {IMAGE: text}, found.headers, found.code)


async def _uploaded(
    pages: NotePages, visitor: Visitor, workspace_id: str, image: FileStorage, name: str
) -> FileChangeSchema:
    upload = await visitor.api.send_file(
        AttachmentUploadResult,
        f"{LIST}/{workspace_id}/attachments",
        cast(BinaryIO, image.stream),
        name=name,
        media_type=image.content_type or "application/octet-stream",
        boundary=pages.new_entropy().hex(),
    )
    target = await free_path(pages, visitor, workspace_id, ATTACHMENTS + name)
    place = f"{LIST}/{workspace_id}/attachments/{upload.object_id}/finalize"
    made = await visitor.api.call("POST", place, {"path": target})
    return typed(FileChangeSchema, made.result)


async def free_path(pages: NotePages, visitor: Visitor, workspace_id: str, path: str) -> str:
    """Return a path that no file has; the first of those with a number after the name."""
    stem, dot, ending = path.rpartition(".")
    for number in range(1, _TRIES):
        found = path if number == 1 else f"{stem} {number}{dot}{ending}"
        listed = f"{LIST}/{workspace_id}/files"
        page = await visitor.api.get(FileList, listed, prefix=found, limit="1")
        if not page.items or page.items[0].path.casefold() != found.casefold():
            return found
    return f"{stem} {pages.new_id()[-12:]}{dot}{ending}"


def image_name(given: str) -> str:
    """Return a name for an image that is valid in a path and in a header."""
    name = given.replace("\\", "/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return f"{name_from_text(stem) or 'image'}.{ending.lower()}" if stem else "image"

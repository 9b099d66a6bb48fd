"""Fill an empty workspace with example notes, which show what notes can do."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from octavo_rules.identity import RANDOM_BYTES, uuid7
from octavo_rules.problems import Problem
from octavo_rules.schemas import ChangesetResult
from quart import Response

from octavo.features.notes.pages.frame import NotePages, identifier, writable
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, redirect
from octavo.http.pages.workspace_paths import LIST, path_of

_NOTES = Path(__file__).parent.parent / "example"
_FIRST = "Welcome.md"
_MILLISECONDS = 80
"""The bits of a UUID after its time."""


@cache
def example_notes() -> dict[str, str]:
    """Return the texts of the example by the paths of its notes."""
    paths = sorted(_NOTES.rglob("*.md"))
    return {path.relative_to(_NOTES).as_posix(): path.read_text("utf-8") for path in paths}


def add_example(pages: NotePages) -> None:
    """Serve the form that creates the example."""

    @pages.site.form(f"{HOME}/<uuid:workspace_id>/example", once=True)
    async def create(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        mutation = identifier(visitor.form.get("mutation", "")) or pages.new_id()
        body = {
            "mutationId": mutation,
            "operations": [
                {"op": "create", "fileId": _file_id(mutation, path), "path": path, "text": text}
                for path, text in example_notes().items()
            ],
        }
        place = f"{LIST}/{workspace.id}/changesets"
        try:
            await visitor.api.send(ChangesetResult, "POST", place, body)
        except Problem as problem:
            if problem.code not in ("path_conflict", "file_exists"):
                raise
            return redirect(path_of(workspace.id), "example-present")
        first = _file_id(mutation, _FIRST)
        return redirect(f"{path_of(workspace.id)}/notes/{first}", "example-created")


def _file_id(mutation: str, path: str) -> str:
    """Return the identifier of a note, which is the same when the form is sent again."""
    digest = sha256(f"{mutation} {path}".encode()).digest()
    return uuid7(UUID(mutation).int >> _MILLISECONDS, digest[:RANDOM_BYTES])

"""Restore a workspace or a folder to an earlier moment: choose, look ahead, confirm, undo."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from octavo_rules.identity import Position
from octavo_rules.problems import NotFound, Problem
from quart import Response

from octavo.features.history.api.restorations import (
    ListedRestoration,
    RestorationList,
    RestorationPreview,
    RestorationSchema,
)
from octavo.features.history.rules.restoration import RestorationSpan, undoes
from octavo.features.members.pages.members import names_of
from octavo.features.notes.pages.frame import NotePages, crumbs_of, writable
from octavo.http.pages.page_registry import Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect
from octavo.http.pages.workspace_paths import LIST, path_of

REFRESH_SECONDS = 3
"""Seconds after which the page of a restoration that runs is loaded again."""
CHOICES: Mapping[str, timedelta] = {
    "An hour ago": timedelta(hours=1),
    "Yesterday at this time": timedelta(days=1),
    "A week ago": timedelta(days=7),
}
REASONS: Mapping[str, str] = {
    "changed_since": "Somebody changed it while the restoration ran.",
    "path_taken": "Another file has its earlier path now.",
    "purged": "It was erased for good.",
    "unacceptable": "Its earlier text exceeds a limit that is in force now.",
    "still_deleted": "It was deleted to make room for others.",
}
"""Why a file stays as it is."""

_RULE = f"{HOME}/<uuid:workspace_id>/restore"
_ROWS = "50"
_NO_TIME = "Give a date and a time, such as 2026-03-14T10:00."
_NOT_YET = "That moment has not come yet: give one that has passed."
_NO_POSITION = "The number of the change is not one that a workspace can have."
_MOST_DIGITS = 16


class _Choice(NamedTuple):
    """What a person chose: the parameters of the preview, without the folder."""

    moment: str = ""
    position: str = ""

    @property
    def parameters(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value}


def add_restoration_pages(pages: NotePages) -> None:
    """Serve the pages that restore a workspace or a folder, and show how far this is."""

    async def choose(
        visitor: Visitor, workspace_id: str, folder: str, trouble: FormErrors | None = None
    ) -> Response:
        workspace = await writable(visitor, workspace_id)
        now = datetime.fromtimestamp(pages.now(), UTC).replace(microsecond=0)
        return await pages.show(
            "notes/restoration.html",
            workspace,
            folder=folder,
            trouble=trouble,
            crumbs=crumbs_of(workspace, folder),
            form=visitor.form or visitor.query,
            choices=[
                (name, urlencode(_query(_Choice(_written(now - ago)), folder)))
                for name, ago in CHOICES.items()
            ],
            latest=(now - CHOICES["An hour ago"]).strftime("%Y-%m-%dT%H:%M"),
        )

    async def look_ahead(
        visitor: Visitor, workspace_id: str, chosen: _Choice, folder: str
    ) -> Response:
        workspace = await writable(visitor, workspace_id)
        query = _query(chosen, folder)
        undone = await _undone_by(visitor, workspace_id, chosen, folder)
        preview = await visitor.api.get(
            RestorationPreview,
            f"{LIST}/{workspace_id}/restorations/preview",
            **query,
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        return await pages.show(
            "notes/restoration_preview.html",
            workspace,
            folder=folder,
            crumbs=crumbs_of(workspace, folder),
            preview=preview,
            chosen=chosen,
            address=urlencode({**query, "undoes": undone.restoration_id} if undone else query),
            undone=undone,
            change=pages.new_id(),
            reasons=REASONS,
        )

    @pages.site.page(_RULE)
    async def show(visitor: Visitor, workspace_id: str) -> Response:
        query = visitor.query
        folder = query.get("folder", "").strip("/")
        try:
            chosen = _chosen(query)
        except ValueError:
            trouble = FormErrors(400, "", {"at": _NO_TIME})
            return await choose(visitor, workspace_id, folder, trouble)
        if chosen is None:
            return await choose(visitor, workspace_id, folder)
        if chosen.moment and datetime.fromisoformat(chosen.moment).timestamp() > pages.now():
            return await choose(
                visitor, workspace_id, folder, FormErrors(400, "", {"at": _NOT_YET})
            )
        try:
            return await look_ahead(visitor, workspace_id, chosen, folder)
        except NotFound:
            raise
        except Problem as problem:
            trouble = form_errors_of(problem, {"moment": "at", "position": "at"})
            return await choose(visitor, workspace_id, folder, trouble)

    @pages.site.page(f"{HOME}/<uuid:workspace_id>/restorations")
    async def show_all(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        page = await visitor.api.get(
            RestorationList,
            f"{LIST}/{workspace_id}/restorations",
            limit=_ROWS,
            after=visitor.query.get("after"),
        )
        return await pages.show(
            "notes/restorations.html",
            workspace,
            page=page,
            undone={
                restoration.restoration_id
                for restoration in page.items
                if any(_undid(other, restoration) for other in page.items)
            },
            names=await names_of(visitor, workspace_id),
        )

    @pages.site.form(_RULE, once=True)
    async def restore(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        fields = visitor.form
        folder = fields.get("folder", "")
        body: dict[str, object] = {"folder": folder, "mutationId": fields.get("change", "")}
        if fields.get("moment"):
            body["moment"] = fields["moment"]
        elif position := fields.get("position", ""):
            if not _is_number(position):
                trouble = FormErrors(400, "", {"at": _NO_POSITION})
                return await choose(visitor, workspace_id, folder, trouble)
            body["position"] = int(position)
        try:
            made = await visitor.api.send(
                RestorationSchema, "POST", f"{LIST}/{workspace_id}/restorations", body
            )
        except NotFound:
            raise
        except Problem as problem:
            trouble = form_errors_of(problem, {"moment": "at", "position": "at"})
            return await choose(visitor, workspace_id, folder, trouble)
        return redirect(f"{path_of(workspace.id)}/restore/{made.restoration_id}")

    @pages.site.page(f"{_RULE}/<uuid:restoration_id>")
    async def show_progress(visitor: Visitor, workspace_id: str, restoration_id: str) -> Response:
        workspace = await writable(visitor, workspace_id)
        restoration = await visitor.api.get(
            RestorationSchema, f"{LIST}/{workspace_id}/restorations/{restoration_id}"
        )
        undo = _query(_Choice(position=str(restoration.position_before)), restoration.folder)
        others = await visitor.api.get(
            RestorationList, f"{LIST}/{workspace_id}/restorations", limit=_ROWS
        )
        return await pages.show(
            "notes/restoration_progress.html",
            workspace,
            folder=restoration.folder,
            crumbs=crumbs_of(workspace, restoration.folder),
            restoration=restoration,
            undo=urlencode({**undo, "undoes": restoration.restoration_id}),
            undone_by=next((other for other in others.items if _undid(other, restoration)), None),
            undone=next((other for other in others.items if _undid(restoration, other)), None),
            names=await names_of(visitor, workspace_id),
            reasons=REASONS,
            seconds=REFRESH_SECONDS,
        )


def _undid(restoration: ListedRestoration, other: ListedRestoration) -> bool:
    """Return whether a restoration that has ended undid another one."""
    return restoration.state == "done" and undoes(_span(restoration), _span(other))


def _span(restoration: ListedRestoration) -> RestorationSpan:
    positions = (restoration.position, restoration.position_before, restoration.position_after)
    return RestorationSpan(restoration.folder, *map(Position, positions))


async def _undone_by(
    visitor: Visitor, workspace_id: str, chosen: _Choice, folder: str
) -> RestorationSchema | None:
    """Return the restoration that the address names, if the choice undoes it."""
    try:
        place = f"{LIST}/{workspace_id}/restorations/{UUID(visitor.query.get('undoes', ''))}"
        restoration = await visitor.api.get(RestorationSchema, place)
    except (ValueError, NotFound):
        return None
    is_undone = (chosen.position, folder) == (str(restoration.position_before), restoration.folder)
    return restoration if is_undone else None


def _chosen(query: Mapping[str, str]) -> _Choice | None:
    """Return the choice in the address; None without one. Raises ValueError for an invalid time."""
    position = query.get("position", "")
    if position:
        return _Choice(position=position)
    text = query.get("moment") or query.get("at", "")
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    # Fields for a date and a time have no zone: the page says that it is UTC.
    return _Choice(_written(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))


def _written(moment: datetime) -> str:
    """Return a moment as the API takes it. Raises ValueError outside of the years 1 to 9999."""
    try:
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _query(chosen: _Choice, folder: str) -> dict[str, str]:
    return {**chosen.parameters, **({"folder": folder} if folder else {})}

"""Published links: those of a workspace, and reports of them for administrators."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from unicodedata import normalize

import segno
from markupsafe import Markup
from octavo_rules.problems import Forbidden, NotFound, Problem
from octavo_rules.schemas import FileList, Workspace
from quart import Response

from octavo.access.ports import Clock
from octavo.features.administration.pages.administration import PLACE
from octavo.features.members.pages.members import names_of
from octavo.features.publishing.api import publications
from octavo.features.publishing.api.link_reports import LinkReportList, LinkReportSchema
from octavo.features.publishing.api.publications import PublishedLinkSchema, PublishedTarget
from octavo.features.publishing.rules import LONGEST_LABEL, MAX_OPENINGS, REASONS, SHORTEST_PASSWORD
from octavo.http import contract
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import HOME, FormErrors, form_errors_of, redirect, show
from octavo.http.pages.workspace_paths import LIST, path_of, workspace_of
from octavo.model.files.path import NOTE_SUFFIX
from octavo.model.workspace import grants

_REPORTS = f"{PLACE}/reports"
_API = "/api/reports"


def add_report_pages(site: PageRegistry) -> None:
    """Serve the pages of reports."""
    only = Audience.ADMINISTRATOR

    @site.page(_REPORTS, only)
    async def show_reports(visitor: Visitor) -> Response:
        page = await visitor.api.get(LinkReportList, _API, **visitor.page)
        return await show(
            "publishing/reports.html",
            page=page,
            reasons=REASONS,
            counts=Counter(item.publication_id for item in page.items),
        )

    @site.form(f"{_REPORTS}/<uuid:report_id>/dismiss", only)
    async def dismiss(visitor: Visitor, report_id: str) -> Response:
        try:
            await visitor.api.send(contract.Removed, "DELETE", f"{_API}/{report_id}")
        except NotFound:
            return redirect(_REPORTS, "report-closed")
        return redirect(_REPORTS, "report-dismissed")

    @site.page(f"{_REPORTS}/<uuid:report_id>/takedown", only)
    async def ask(visitor: Visitor, report_id: str) -> Response:
        report = await _report(visitor, str(report_id))
        if report is None:
            return redirect(_REPORTS)
        return await show(
            "confirm.html",
            place="Reports",
            heading="Take this link down?",
            subject=f"Reported as: {REASONS[report.reason]}",
            facts={"Link": report.publication_id[-8:], "Report": report.note},
            text="Readers can't open it any more, and nobody can make it live again. The notes "
            "stay, and you get no access to them. Every report of the link is closed. The owners "
            "of the workspace see in their list that it was taken down, and get a message if this "
            "installation sends mail.",
            button="Take the link down",
            back=_REPORTS,
            here=PLACE,
        )

    @site.form(f"{_REPORTS}/<uuid:report_id>/takedown", only)
    async def take_down(visitor: Visitor, report_id: str) -> Response:
        try:
            await visitor.api.send(contract.Removed, "POST", f"{_API}/{report_id}/takedown")
        except NotFound:
            return redirect(_REPORTS, "report-closed")
        return redirect(_REPORTS, "link-taken-down")


async def _report(visitor: Visitor, report_id: str) -> LinkReportSchema | None:
    return await visitor.api.find(LinkReportList, _API, lambda report: report.id == report_id)


# Modules of the light margin by which scanners find the code (ISO/IEC 18004).
_QUIET = 4
_WIDTH = 232
_SMALLEST_MODULE = 2


def qr_code(text: str, title: str) -> Markup:
    """Return the SVG of a QR code for ``text``, dark on light in every appearance.

    It has no style attribute, which the content security policy of pages forbids, and each module
    is a whole number of pixels. ``title`` describes it. Raises `ValueError` if the text is too
    long.
    """
    code = segno.make(text, error="m", micro=False)
    modules = code.symbol_size(border=_QUIET)[0]
    width = modules * max(_WIDTH // modules, _SMALLEST_MODULE)
    svg = code.svg_inline(
        border=_QUIET,
        dark="#000",
        light="#fff",
        title=title,
        svgclass=None,
        lineclass=None,
        omitsize=True,
    )
    attributes = f'role="img" width="{width}" height="{width}" shape-rendering="crispEdges"'
    # segno escapes the title; the rest are numbers and colours.
    return Markup(svg.replace("<svg ", f"<svg {attributes} ", 1))


KINDS: Mapping[str, str] = {
    "note": "One note",
    "folder": "A folder, with every note below it",
    "whole": "The whole workspace, with every note",
}
"""What a link can open."""
DAYS: Mapping[str, str] = {
    "": "Until somebody revokes it",
    "1": "For a day",
    "7": "For a week",
    "30": "For a month",
    "365": "For a year",
}
"""How long a link can be opened, by its days."""

# Files whose paths and folders are suggested.
_SUGGESTED = "500"
# The first faulty field gets the focus. The password is last: it is asked for again with any fault.
_FIELDS = ("kind", "path", "label", "days", "until", "openings", "password")
_NAMES = {"target": "path", "fileId": "path", "prefix": "path", "expiresAt": "until"}
# The workspace exists by then: these are problems of the note or the folder.
_OF_THE_PATH = frozenset({"invalid_path", "not_found"})
_RULE = f"{HOME}/<uuid:workspace_id>/links"
_LAST_SECOND = time(23, 59, 59, tzinfo=UTC)


def name_of(target: PublishedTarget) -> str:
    """Return what people call the target of a link."""
    if target.kind == "folder":
        return target.path or "The whole workspace"
    return target.path.removesuffix(NOTE_SUFFIX) or "A note that was purged"


def limits_of(link: PublishedLinkSchema) -> str:
    """Return the limits of a link other than its end; empty without any."""
    limits = ["password"] if link.has_password else []
    if link.openings is not None:
        limits.append("one opening" if link.openings == 1 else f"{link.openings:,} openings")
    return ", ".join(limits)


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return the folders that files are in, at any depth, sorted."""
    folders: set[str] = set()
    for path in paths:
        folders.update(accumulate(path.split("/")[:-1], "{}/{}".format))
    return sorted(folders)


def add_publication_pages(site: PageRegistry, now: Clock) -> None:
    """Serve the pages of published links; ``now`` is in seconds of Unix time."""

    @site.page(_RULE)
    async def show_links(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await _managed(visitor, workspace_id)
        page = await visitor.api.get(
            publications.PublishedLinkList, _api(workspace_id), **visitor.page
        )
        return await show(
            "publishing/links.html",
            workspace=workspace,
            page=page,
            live=[item for item in page.items if item.state == "live"],
            ended=[item for item in page.items if item.state != "live"],
            name_of=name_of,
            limits_of=limits_of,
            names=await names_of(visitor, workspace_id),
        )

    @site.page(f"{_RULE}/new")
    async def show_form(visitor: Visitor, workspace_id: str) -> Response:
        return await _form(visitor, await _managed(visitor, workspace_id))

    @site.form(f"{_RULE}/new", once=True)
    async def create(visitor: Visitor, workspace_id: str) -> Response:
        workspace = await _managed(visitor, workspace_id)
        try:
            body, faults = await _link_input(visitor, workspace_id, now())
            if faults:
                return await _form(
                    visitor, workspace, FormErrors(400, "", _asked_again(visitor, faults))
                )
            link = await visitor.api.send(
                publications.PublishedLinkCreated, "POST", _api(workspace_id), body
            )
        except Problem as problem:
            trouble = form_errors_of(problem, _NAMES)
            if problem.code in _OF_THE_PATH:
                trouble = replace(trouble, text="", fields={"path": trouble.text})
            trouble = replace(trouble, fields=_asked_again(visitor, trouble.fields))
            return await _form(visitor, workspace, trouble)
        return await show(
            "publishing/link_created.html",
            workspace=workspace,
            link=link,
            name_of=name_of,
            picture=qr_code(link.address, "QR code of the address"),
        )

    @site.page(f"{_RULE}/<uuid:publication_id>/revoke")
    async def ask(visitor: Visitor, workspace_id: str, publication_id: str) -> Response:
        await _managed(visitor, workspace_id)
        back = f"{path_of(workspace_id)}/links"
        link = await _link(visitor, workspace_id, str(publication_id))
        if link is None or link.state != "live":
            return redirect(back)
        return await show(
            "confirm.html",
            place="Published links",
            heading="Revoke this link?",
            subject=name_of(link.target),
            facts={"From": link.label, "Limits": limits_of(link)},
            created_at=link.created_at,
            text="The link stops working at once, for everyone who has it. You can't undo this; "
            "you can create another link. The notes are not changed.",
            button="Revoke the link",
            back=back,
            here=HOME,
        )

    @site.form(f"{_RULE}/<uuid:publication_id>/revoke")
    async def revoke(visitor: Visitor, workspace_id: str, publication_id: str) -> Response:
        await visitor.api.send(contract.Removed, "DELETE", f"{_api(workspace_id)}/{publication_id}")
        return redirect(f"{path_of(workspace_id)}/links", "link-revoked")


def _api(workspace_id: str) -> str:
    return f"{LIST}/{workspace_id}/publications"


async def _managed(visitor: Visitor, workspace_id: str) -> Workspace:
    """Return a workspace that the visitor manages. Raises `NotFound` and `Forbidden`."""
    workspace = await workspace_of(visitor, workspace_id)
    if not grants(workspace.role, "manage"):
        raise Forbidden("Only the owners and the administrators of a workspace publish its notes.")
    return workspace


async def _link(
    visitor: Visitor, workspace_id: str, publication_id: str
) -> PublishedLinkSchema | None:
    return await visitor.api.find(
        publications.PublishedLinkList,
        _api(workspace_id),
        lambda link: link.id == publication_id,
    )


async def _form(
    visitor: Visitor, workspace: Workspace, trouble: FormErrors | None = None
) -> Response:
    files = await visitor.api.get(FileList, f"{LIST}/{workspace.id}/files", limit=_SUGGESTED)
    notes = [item.path for item in files.items if item.kind == "note"]
    fields = () if trouble is None else trouble.fields
    return await show(
        "publishing/link_form.html",
        trouble=trouble,
        workspace=workspace,
        form=visitor.form or _suggested(visitor.query),
        notes=notes,
        folders=folders_of(notes),
        any_notes=bool(notes) or files.next is not None,
        kinds=KINDS,
        days=DAYS,
        first=next((field for field in _FIELDS if field in fields), None),
        longest_label=LONGEST_LABEL,
        shortest_password=SHORTEST_PASSWORD,
    )


def _asked_again(visitor: Visitor, faults: Mapping[str, str]) -> Mapping[str, str]:
    """Return the faults of a form that is shown again, which never contains the password."""
    if not visitor.form.get("password"):
        return faults
    return {"password": "Enter the password again: it is not kept.", **faults}


def _suggested(query: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields of an empty form; the address may name a note or a folder."""
    if "note" in query:
        return {"kind": "note", "path": query["note"]}
    if "folder" in query:
        return {"kind": "folder" if query["folder"] else "whole", "path": query["folder"]}
    return {"kind": "note"}


async def _link_input(
    visitor: Visitor, workspace_id: str, now: float
) -> tuple[dict[str, object], dict[str, str]]:
    """Return the body of the request, and what is wrong with the fields of the form."""
    fields = visitor.form
    target, no_target = await _target(visitor, workspace_id)
    expires_at, no_end = _end(fields.get("days", ""), fields.get("until", "").strip(), now)
    openings, no_openings = _openings(fields.get("openings", "").strip())
    faults = {**no_target, **no_end, "openings": no_openings}
    body: dict[str, object] = {
        "target": target,
        "label": fields.get("label", "").strip() or None,
        "expiresAt": expires_at,
        "password": fields.get("password") or None,
        "openings": openings,
    }
    return body, {name: fault for name, fault in faults.items() if fault}


async def _target(
    visitor: Visitor, workspace_id: str
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the target of the request, and what is wrong with its fields."""
    kind = visitor.form.get("kind", "")
    typed = visitor.form.get("path", "").strip("/")
    path = normalize("NFC", typed.strip().strip("/"))
    listed = f"{LIST}/{workspace_id}/files"
    if typed != path and (await visitor.api.get(FileList, listed, prefix=typed, limit="1")).items:
        # A path begins with the text as it was typed, which is not normalized.
        path = typed
    if kind == "whole":
        # The form may have the path of the page that the person came from.
        return {"kind": "folder", "path": ""}, {}
    if kind not in KINDS:
        return {}, {"kind": "Choose what the link opens."}
    if not path:
        return {}, {"path": f"Give the path of the {kind}."}
    for candidate in dict.fromkeys((path, path.removesuffix(NOTE_SUFFIX) + NOTE_SUFFIX)):
        # The path itself sorts before all that begin with it.
        files = await visitor.api.get(FileList, listed, prefix=candidate, limit="1")
        file = files.items[0] if files.items and files.items[0].path == candidate else None
        if file is None:
            continue
        if file.kind != "note":
            return {}, {"path": "This is an image. Publish a note that shows it."}
        if kind == "folder" and candidate == path:
            return {}, {"path": "This is a note. Choose “One note”, or give a folder."}
        if kind == "note":
            return {"kind": "note", "fileId": file.id}, {}
    if kind == "note":
        files = await visitor.api.get(FileList, listed, prefix=f"{path}/", limit="1")
        if files.items:
            return {}, {"path": "This is a folder. Choose “A folder…”, or give a note."}
        return {}, {"path": "There is no note with this path."}
    return {"kind": "folder", "path": path}, {}


def _end(days: str, until: str, now: float) -> tuple[str | None, Mapping[str, str]]:
    """Return when a link ends, None for never, and what is wrong with its fields."""
    moment = datetime.fromtimestamp(int(now), UTC)
    if until:
        try:
            last = datetime.combine(date.fromisoformat(until), _LAST_SECOND)
        except ValueError:
            return None, {"until": "Give a day, such as 2030-12-31, or leave it empty."}
        if last < moment:
            return None, {"until": "This day is over. Give a later one, or leave it empty."}
        return last.isoformat(), {}
    if days not in DAYS:
        return None, {"days": "Choose how long the link can be opened."}
    return (moment + timedelta(days=int(days))).isoformat() if days else None, {}


def _openings(openings: str) -> tuple[int | None, str]:
    """Return how often a link can be opened, None for any number, and what is wrong with it."""
    if not openings:
        return None, ""
    digits = openings.replace(",", "").replace(" ", "")
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(MAX_OPENINGS)):
        count = int(digits)
        if 1 <= count <= MAX_OPENINGS:
            return count, ""
    return None, f"Give a whole number from 1 to {MAX_OPENINGS:,}, or leave it empty."

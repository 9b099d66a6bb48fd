"""Reports of published links, for the administrators of the installation."""

from collections import Counter

from octavo_rules.problems import NotFound
from quart import Response

from octavo.features.administration.pages.administration import PLACE
from octavo.features.publishing.api.link_reports import LinkReportList, LinkReportSchema
from octavo.features.publishing.rules import REASONS
from octavo.http import contract
from octavo.http.pages.page_registry import Audience, PageRegistry, Visitor
from octavo.http.pages.responses import redirect, show

_REPORTS = f"{PLACE}/reports"
_API = "/api/reports"
_EVERY = "500"


def add_report_pages(site: PageRegistry) -> None:
    """Serve the pages of reports."""
    only = Audience.ADMINISTRATOR

    @site.page(_REPORTS, only)
    async def show_reports(visitor: Visitor) -> Response:
        page = await visitor.api.get(LinkReportList, _API, **visitor.page)
        return await show(
            "administration/reports.html",
            page=page,
            reasons=REASONS,
            counts=Counter(each.publication_id for each in page.items),
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
    after: str | None = None
    while True:
        page = await visitor.api.get(LinkReportList, _API, limit=_EVERY, after=after)
        for each in page.items:
            if each.id == report_id:
                return each
        if page.next is None:
            return None
        after = page.next

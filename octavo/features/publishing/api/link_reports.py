"""Reports of published links, for the administrators of the installation."""

from functools import partial
from typing import Annotated
from urllib.parse import quote

from octavo_rules.problems import NotFound
from pydantic import Field

from octavo.features.publishing.reports import LinkReports
from octavo.features.publishing.rules import Reason, ReportId
from octavo.http import contract
from octavo.http.callers import require_administrator


class ReportPath(contract.Model):
    """One report."""

    report_id: Annotated[ReportId, contract.IN_PATH]


class LinkReportSchema(contract.Model):
    """An open report of a published link."""

    id: contract.Identifier
    publication_id: contract.Identifier
    """The reported link."""
    workspace_id: contract.Identifier
    reason: Reason
    note: str | None
    """What the reader wrote."""
    address: str = Field(repr=False)
    """An address to read what readers of the link see, as long as the report is open. A link with a
    password asks for it here as well.
    """
    reported_at: contract.Timestamp


class LinkReportList(contract.ListPage[LinkReportSchema]):
    """A page of open reports, newest first."""


class LinkReportOperations:
    """Reports of published links.

    Args:
        reports: the use case.
        public_url: the address that links begin with.
    """

    def __init__(self, reports: LinkReports, *, public_url: str) -> None:
        self._reports = reports
        self._public_url = public_url

    @contract.operation(
        id="listReports",
        method="GET",
        path="/api/reports",
        tag="administration",
        summary="List the open reports of published links",
        description="Requires an administrator of the installation.",
    )
    async def list_reports(self, call: contract.Call, query: contract.PageQuery) -> LinkReportList:
        """Return a page of reports."""
        caller = require_administrator(call)
        page, following = await contract.page_by_id(
            query, partial(self._reports.list, caller.account_id), lambda item: item[0].report_id
        )
        items = [
            LinkReportSchema(
                id=report.report_id,
                publication_id=report.publication_id,
                workspace_id=report.workspace_id,
                reason=report.reason,
                note=report.note,
                address=f"{self._public_url}/published/{quote(token, safe='')}",
                reported_at=contract.timestamp(report.reported_at),
            )
            for report, token in page
        ]
        return LinkReportList(items=tuple(items), next=following)

    @contract.operation(
        id="dismissReport",
        method="DELETE",
        path="/api/reports/{reportId}",
        tag="administration",
        summary="Close a report",
        description="Requires an administrator of the installation. The link stays as it is.",
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def dismiss_report(self, call: contract.Call, path: ReportPath) -> contract.Removed:
        """Close a report."""
        caller = require_administrator(call)
        await self._reports.dismiss(
            path.report_id, actor=caller.account_id, remote_address=call.remote_address
        )
        return contract.REMOVED

    @contract.operation(
        id="takeDownReportedLink",
        method="POST",
        path="/api/reports/{reportId}/takedown",
        tag="administration",
        summary="Take a reported link down",
        description="Requires an administrator of the installation, who gets no access to the "
        "workspace. The link opens nothing any more, for good, and every report of it is closed. "
        "The owners of the workspace see it in their list, and get a message if the installation "
        "sends mail.",
        problems=(NotFound,),
        finish_when_client_leaves=True,
    )
    async def take_down_reported_link(
        self, call: contract.Call, path: ReportPath
    ) -> contract.Removed:
        """Take a link down."""
        caller = require_administrator(call)
        await self._reports.take_down(
            path.report_id, actor=caller.account_id, remote_address=call.remote_address
        )
        return contract.REMOVED

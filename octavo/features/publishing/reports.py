"""Reports of published links, by readers to the administrators of the installation."""

from collections.abc import Callable

from attrs import define
from octavo_rules.identity import AccountId

from octavo.access.audit import Audit
from octavo.access.ports import Clock, NewId, milliseconds
from octavo.features.publishing.rules import LinkReport, Reason, ReportId
from octavo.features.publishing.signing import ReportAddresses
from octavo.features.publishing.sql import link_reports
from octavo.features.publishing.sql.link_reports import TakenDown
from octavo.model.access.audit import AuditEntry
from octavo.model.access.token import digest_of
from octavo.store import Store

ROUTE = "link-report"
"""The rate class of reports."""


@define(eq=False)
class LinkReports:
    """Receives reports, and lets administrators decide.

    Every method raises `StoreUnavailable`.

    Args:
        store: the database.
        addresses: derives the tokens of reported links.
        audit: records the decisions.
        now: the clock.
        new_id: returns an id.
        mail_added: called when messages may have been added to the outbox; must not block. None
            without a transport: then none are added.
    """

    _store: Store
    _addresses: ReportAddresses
    _audit: Audit
    _now: Clock
    _new_id: NewId
    _mail_added: Callable[[], None] | None

    async def submit(self, token: str, reason: Reason, note: str | None) -> None:
        """Report the link of a token.

        A token that opens nothing takes the same time, and stores nothing. If cancelled, the report
        may have been stored.
        """
        report_id = ReportId(self._new_id())
        address = await self._addresses.token(report_id)
        await self._store.write(
            link_reports.submit(
                report_id,
                digest_of(token.encode()),
                digest_of(address.encode()),
                reason=reason,
                note=note,
                now=milliseconds(self._now()),
                new_mail_id=None if self._mail_added is None else self._new_id,
            )
        )
        if self._mail_added is not None:
            self._mail_added()

    async def list(
        self, actor: AccountId, before: str | None, limit: int
    ) -> list[tuple[LinkReport, str]]:
        """Return open reports, the newest first, each with a token that opens its link.

        At most ``limit`` are returned, which follow the one with the id ``before``, if it is given.
        Raises `NotAdministrator`.
        """
        reports = await self._store.read(link_reports.list_of(actor, before, limit))
        return [(report, await self._addresses.token(report.report_id)) for report in reports]

    async def dismiss(
        self, report_id: ReportId, *, actor: AccountId, remote_address: str | None
    ) -> None:
        """Close a report; the link stays as it is.

        Raises `NotAdministrator` and `ReportMissing`. If cancelled, it may have been closed.
        """
        await self._audit.write(
            link_reports.dismiss(report_id, actor),
            lambda publication_id: [
                self._audit.entry(
                    "report_dismissed",
                    actor=actor,
                    subject=report_id,
                    remote_address=remote_address,
                    detail={"publicationId": publication_id},
                )
            ],
        )

    async def take_down(
        self, report_id: ReportId, *, actor: AccountId, remote_address: str | None
    ) -> None:
        """Take the reported link down for good, and close every report of it.

        The owners of the workspace get a message. Raises `NotAdministrator` and `ReportMissing`. If
        cancelled, it may have been taken down.
        """
        script = link_reports.take_down(
            report_id,
            actor,
            milliseconds(self._now()),
            new_mail_id=None if self._mail_added is None else self._new_id,
        )

        def entries(taken: TakenDown) -> list[AuditEntry]:
            detail = {"reportId": report_id, "workspaceId": taken.workspace_id}
            entry = self._audit.entry(
                "link_taken_down",
                actor=actor,
                subject=taken.publication_id,
                remote_address=remote_address,
                detail=detail,
            )
            return [entry]

        await self._audit.write(script, entries)
        if self._mail_added is not None:
            self._mail_added()

"""Reports of published links."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NewType

from octavo_rules.identity import WorkspaceId
from octavo_rules.refusal import DomainError

from octavo.features.publishing.rules.link import PublicationId

ReportId = NewType("ReportId", str)

Reason = Literal["spam", "abuse", "copyright", "personal_data", "malware", "illegal", "other"]

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        "spam": "Spam or a scam",
        "abuse": "Abuse or harassment",
        "copyright": "A copyright violation",
        "personal_data": "Someone's personal data",
        "malware": "Malware, or a link to it",
        "illegal": "Something else that is illegal",
        "other": "Another reason",
    }
)
"""Why a link can be reported, in words for readers."""

LONGEST_NOTE = 2_000
"""Characters of the note of a report."""


class ReportMissing(DomainError):
    """There is no such report, or it was closed."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no open report with this id.")


@dataclass(frozen=True, slots=True)
class LinkReport:
    """An open report of a link.

    Attributes:
        report_id: identifies it.
        publication_id: the link.
        workspace_id: the workspace of the link.
        reason: from the list.
        note: what the reader wrote; None for nothing.
        reported_at: in milliseconds of Unix time.
    """

    report_id: ReportId
    publication_id: PublicationId
    workspace_id: WorkspaceId
    reason: Reason
    note: str | None
    reported_at: int

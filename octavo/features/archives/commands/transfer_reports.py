"""What transfers of workspaces report: results, reasons of waits, and failures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo_client import ClientError, ProblemError
from octavo_rules.schemas import ImportWorkspaceResult, Workspace

from octavo.cli.progress import counted
from octavo.features.archives.worker.folder_archive import FolderListing

_WORKSPACES_NAMED = 10
_WAITING = {
    "archive_job_running": "waiting: this account runs another import or export",
    "archive_jobs_busy": "waiting: the server runs as many imports and exports as it may",
}


class TransferFailed(Exception):
    """Nothing was transferred, or not everything.

    Attributes:
        problems: a text for each reason, with its remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported.

    Attributes:
        workspace: the name of the workspace.
        summary: the result of the server.
        left_out: the number of files that were left out, by kind, with those that were not sent.
        links: the number of symbolic links in the folder.
        was_done: whether an import that was resumed was done already.
    """

    workspace: str
    summary: ImportWorkspaceResult
    left_out: dict[str, int]
    links: int
    was_done: bool


class ExportReport(NamedTuple):
    """What was exported.

    Attributes:
        size: of the archive in bytes.
        files: the number of files in the archive.
        lacked: the paths of images that it lacks, since they are damaged or missing on the server.
    """

    size: int
    files: int
    lacked: Sequence[str] = ()


def reason_of_wait(error: ClientError, url: str) -> str:
    """Return why a transfer waits, after a failure that may be temporary."""
    if isinstance(error, ProblemError):
        trying = f"the server could not do it ({error.code}), trying again"
        return _WAITING.get(error.code, trying)
    return f"the connection to {url} failed, trying again"


def tries_of(error: ClientError) -> str:
    """Return how often and for how long a request was tried; empty after one try."""
    if error.attempts == 1:
        return ""
    minutes = round(error.seconds / 60)
    time = counted(minutes, "minute") if minutes > 1 else counted(round(error.seconds), "second")
    return f", after {error.attempts} tries in {time}"


def unknown_workspace(wanted: str, workspaces: list[Workspace]) -> str:
    """Return a message that there is no such workspace, with the names of existing ones."""
    names = sorted({workspace.name for workspace in workspaces})
    named = ", ".join(names[:_WORKSPACES_NAMED])
    more = len(names) - _WORKSPACES_NAMED
    if more > 0:
        named += f" and {counted(more, 'other')}"
    known = f"this account has {named}" if workspaces else "this account has none"
    return f"there is no workspace {wanted}: {known}"


def import_report(
    name: str, summary: ImportWorkspaceResult, listing: FolderListing | None, *, was_done: bool
) -> ImportReport:
    """Return what was imported, with what a folder has that was not sent."""
    left_out = dict(summary.left_out)
    if listing is not None:
        for kind, number in listing.left_out.items():
            left_out[kind] = left_out.get(kind, 0) + number
    links = 0 if listing is None else listing.links
    return ImportReport(name, summary, left_out, links, was_done)

"""Export a workspace to a file."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import trio
from octavo_rules.export_report import REPORT, lacked_by_export

from octavo_client.archive_end import TAIL, has_end
from octavo_client.connection import ApiConnection, Request
from octavo_client.errors import ArchiveCut, ExportIncomplete
from octavo_client.partial_download import partial_download

ExportedFiles = Literal["all", "notes", "history"]
"""All files, notes alone, or all files with their earlier revisions."""


async def export_archive(
    connection: ApiConnection,
    path: str,
    target: Path,
    format: ExportedFiles,  # noqa: A002  # the name of the parameter of the operation
    progress: Callable[[int], object],
) -> int:
    """Export the workspace at ``path``; see `WorkspaceReader.export_archive`."""
    request = Request("GET", f"{path}/export", query={"format": format})
    async with partial_download(target, connection.entropy) as file:
        async with connection.stream(request) as body:
            async for chunk in body:
                await file.write(chunk)
                progress(file.size)
        end = await file.tail(TAIL)
        if not has_end(end, file.size):
            raise ArchiveCut("the archive has no end: the connection ended before it was complete")
    # The directory, with the report last, is at the end.
    lacked = await trio.to_thread.run_sync(_lacked, target) if REPORT.encode() in end else []
    if lacked:
        raise ExportIncomplete(file.size, lacked)
    return file.size


def _lacked(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as found:
        named = found.namelist()
        return lacked_by_export(found.read(REPORT).decode()) if named[-1:] == [REPORT] else []

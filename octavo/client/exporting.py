"""Export a workspace to a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from octavo.client.archive_end import TAIL, has_end
from octavo.client.connection import ApiConnection, Request
from octavo.client.errors import ArchiveCut
from octavo.client.partial_download import partial_download

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
        if not has_end(await file.tail(TAIL), file.size):
            raise ArchiveCut("the archive has no end: the connection ended before it was complete")
    return file.size

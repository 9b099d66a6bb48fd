"""The report in an archive about the images that the export lacks."""

from collections.abc import Iterable

REPORT = "octavo-export-report.txt"
"""The last entry of an export that lacks something; no note can have this path."""
_LACKED = "- "
_REPORT = """\
These images are not in this export, because the copies of the server are damaged or missing. Put
them back from a backup of the server, upload them again, or delete them from the workspace. All
other files are in the export.

"""


def export_report(paths: Iterable[str]) -> str:
    """Return the text of a report; ``paths`` are those that the files have in the archive."""
    return _REPORT + "".join(f"{_LACKED}{path}\n" for path in paths)


def lacked_by_export(report: str) -> list[str]:
    """Return the paths that a report names."""
    # Paths may have other separators of lines.
    lines = report.split("\n")
    return [line.removeprefix(_LACKED) for line in lines if line.startswith(_LACKED)]

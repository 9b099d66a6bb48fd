"""The reasons why an archive is not imported.

::

    ArchiveRefused
     ├ ArchiveInvalid       the parts do not make one archive, or one of its files can't be imported
     ├ ArchiveTooManyFiles  the archive has too many entries
     └ ArchiveTooLarge      its files have too many bytes in total

They are ValueErrors: a worker process reports the name of the class and the text
(`octavo.workers.WorkRefused`).
"""

from typing import ClassVar

_LONGEST_SHOWN = 200


class ArchiveRefused(ValueError):
    """The archive is not imported. The text is a sentence for the person who sent it.

    Attributes:
        code: the stable code of the problem, for programs.
    """

    code: ClassVar[str]


class ArchiveInvalid(ArchiveRefused):
    """The parts do not make one archive, or one of its files can't be imported."""

    code = "archive_invalid"


class ArchiveTooManyFiles(ArchiveRefused):
    """The archive has too many entries."""

    code = "archive_too_many_files"


class ArchiveTooLarge(ArchiveRefused):
    """The files of the archive have too many bytes in total."""

    code = "archive_too_large"


def shown(name: str) -> str:
    """Return the name of an entry as part of a message: one line of bounded length."""
    short = name if len(name) <= _LONGEST_SHOWN else f"{name[: _LONGEST_SHOWN - 1]}…"
    return "".join(each if each.isprintable() else "\ufffd" for each in short)


def refused_entry(name: str, reason: str) -> ArchiveInvalid:
    """Return the refusal of an archive for its entry ``name``.

    Args:
        name: the name as the archive has it.
        reason: one or more sentences; the first continues a colon.
    """
    return ArchiveInvalid(f"{shown(name)}: {reason}")

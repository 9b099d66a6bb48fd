"""The reasons why an archive is not imported.

::

    ArchiveRefused
     ├ ArchiveInvalid       the parts do not make one archive, or one of its files can't be imported
     ├ ArchiveTooManyFiles  the archive has too many entries
     └ ArchiveTooLarge      its files have too many bytes in total

They are ValueErrors as well: a worker process reports the name of the class and the text
(`octavo.workers.WorkRefused`).
"""

from octavo_rules.problems import Problem

_LONGEST_SHOWN = 200


class ArchiveRefused(Problem, ValueError):
    """The archive is not imported. The detail is a sentence for the person who sent it."""


class ArchiveInvalid(ArchiveRefused):
    """The parts do not make one archive, or one of its files can't be imported."""

    status, code = 422, "archive_invalid"
    summary = "The archive cannot be imported: nothing was imported."
    remedy = (
        "The detail names the file of the archive and the reason. Correct the archive, and import "
        "it again, or leave out the file."
    )


class ArchiveTooManyFiles(ArchiveRefused):
    """The archive has too many entries."""

    status, code = 422, "archive_too_many_files"
    summary = "The archive has too many files."
    remedy = "Divide it into several archives, and import each."


class ArchiveTooLarge(ArchiveRefused):
    """The archive, or its files in total, have too many bytes."""

    status, code = 413, "archive_too_large"
    summary = "The archive, or a part of it, is too large."
    remedy = (
        "The detail says how large it may be. Divide it into several archives, and import each."
    )


def shown(name: str) -> str:
    """Return the name of an entry as part of a message: one line of bounded length."""
    short = name if len(name) <= _LONGEST_SHOWN else f"{name[: _LONGEST_SHOWN - 1]}…"
    return "".join(character if character.isprintable() else "\ufffd" for character in short)


def refused_entry(name: str, reason: str) -> ArchiveInvalid:
    """Return the refusal of an archive for its entry ``name``.

    Args:
        name: the name as the archive has it.
        reason: one or more sentences; the first continues a colon.
    """
    return ArchiveInvalid(f"{shown(name)}: {reason}")

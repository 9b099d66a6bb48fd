"""Archives: refusals of imports."""

from octavo_rules.refusal import DomainError


class ArchiveUnacceptable(DomainError):
    """The parts do not make one archive, or a file of it can't be imported."""

    code = "archive_invalid"


class ArchiveHasTooManyFiles(DomainError):
    """The archive has too many files."""

    code = "archive_too_many_files"


class ArchiveHasTooManyBytes(DomainError):
    """The archive, or its files in total, have too many bytes."""

    code = "archive_too_large"


class ImportMissing(DomainError):
    """There is no such import, or another account started it."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__(
            "There is no such import: it was aborted, has expired, or another account started it."
        )


class ImportNotOpen(DomainError):
    """The import runs or is done: no part can be added."""

    code = "import_not_open"

    def __init__(self) -> None:
        super().__init__("The import runs, or is done: start another one for another archive.")


class ImportBegun(ImportNotOpen):
    """Files of the import were committed: its parts can't change any more."""

    def __init__(self) -> None:
        DomainError.__init__(
            self,
            "The import has begun to commit the files of its archive, so that its parts can't be"
            " changed: complete it, or abort it and start another.",
        )


class TooManyImports(DomainError):
    """The account has too many imports that are not done."""

    code = "too_many_imports"

    def __init__(self, imports: list[tuple[str, str]]) -> None:
        named = ", ".join(f"{each} into the workspace {workspace}" for each, workspace in imports)
        super().__init__(
            f"{len(imports)} imports are open already: complete or abort one before you start"
            f" another. Their ids: {named}."
        )


class PathsTaken(DomainError):
    """Files of the workspace have the paths of files of the archive."""

    code = "path_conflict"

    def __init__(self, paths: list[str]) -> None:
        self.paths = tuple(paths)
        named = ", ".join(paths)
        super().__init__(
            f"The workspace has files at paths of the archive, such as {named}: move or delete them"
            " first, or import into another workspace. Nothing was imported."
        )

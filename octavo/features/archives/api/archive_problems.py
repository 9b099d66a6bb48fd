"""Problems of imports and exports."""

from octavo_rules.problems import Problem, TemporaryProblem

from octavo.features.archives.import_run import ImportIncomplete
from octavo.features.archives.job import ArchiveJobRunning, ArchiveJobsBusy, JobStopped

_RETRY_SECONDS = 10


class OwnArchiveJobRunning(TemporaryProblem):
    """The account has an import or an export that runs."""

    status, code = 429, "archive_job_running"
    summary = "An import or an export of this account is running: one at a time is possible."
    remedy = (
        "Wait until it has finished; an import shows its progress. An import that was refused by "
        "this can be completed later: its parts are kept."
    )


class TooManyArchiveJobs(TemporaryProblem):
    """The installation runs as many imports and exports as it may."""

    status, code = 503, "archive_jobs_busy"
    summary = "Too many imports and exports are running: try again soon."
    remedy = "Send the request again after the seconds in retry-after; parts of imports are kept."


class ImportStopped(TemporaryProblem):
    """An import was stopped after some files were committed."""

    status, code = 503, "import_incomplete"
    summary = "The import was stopped: some files came in, the others did not."
    remedy = (
        "Complete the import again: it goes on after the files that came in, whose number is the "
        "member files. The parts are kept."
    )

    def __init__(self, files: int = 0) -> None:
        super().__init__(
            f"The import was stopped; files imported until then: {files}. Complete it again: it"
            " goes on after them.",
            retry_after=_RETRY_SECONDS,
            members={"files": files},
        )


ARCHIVE_JOB_PROBLEMS: tuple[type[Problem], ...] = (OwnArchiveJobRunning, TooManyArchiveJobs)
"""The problems of every operation that starts a job."""


def archive_problem(error: Exception) -> Problem | None:
    """Return the problem of a job that was not done; None for another error."""
    match error:
        case ArchiveJobRunning():
            return OwnArchiveJobRunning(retry_after=_RETRY_SECONDS)
        case ArchiveJobsBusy() | JobStopped():
            return TooManyArchiveJobs(retry_after=_RETRY_SECONDS)
        case ImportIncomplete():
            return ImportStopped(error.files)
        case _:
            return None

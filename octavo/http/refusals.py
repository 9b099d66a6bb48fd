"""The problems of failures: of the workspace actor, of the stores, and of workers.

Refusals are problems themselves, and handlers let them propagate. The pipeline of the contract
converts everything else here. `wait_of` tells people when to try again.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import greenroom
from octavo_rules import problems
from octavo_rules.problems import Problem

from octavo.actors.workspace.messages import ChangesetRefused, CommitFailed, NoWorkspace
from octavo.store import StoreFull, StoreUnavailable
from octavo.store.blobs import BlobsFull, BlobsUnavailable
from octavo.store.queries.blobs import BlobCollected
from octavo.workers import WorkerFailed, WorkOutOfSpace

OUTCOME_UNKNOWN = (
    "The change may have been made. With the same mutationId the request can be "
    "repeated, and takes effect once; without one, read the current state first."
)

_NO_BLOBS = "The storage of images can't be used now: nothing was changed."


class WorkspaceBusy(problems.TemporaryProblem):
    """The workspace's queue is full, or it recovers from a failure."""

    status, code = 503, "workspace_busy"
    summary = "The workspace is busy or recovering: nothing was changed unless the detail says so."
    remedy = "Send the request again after the seconds in retry-after, with the same mutationId."


def _copy(refusal: problems.Problem) -> problems.Problem:
    """Return a copy: a refusal raised from the error that carries it would be part of a cycle."""
    made = type(refusal).__new__(type(refusal), *refusal.args)
    made.__dict__.update(refusal.__dict__)
    return made


def problem_of(error: Exception) -> problems.Problem | None:
    """Return the problem for an ``error`` that is not a problem itself; None when it is a bug."""
    match error:
        case ChangesetRefused():
            return _copy(error.refusal)
        case NoWorkspace():
            return problems.NotFound()
        case CommitFailed():
            return problem_of(error.error)
        case greenroom.ActorQuarantined():
            return WorkspaceBusy(retry_after=error.retry_after)
        case greenroom.ActorCrashed() | greenroom.InvalidActor() | greenroom.AskCycle():
            # A bug: it is logged, and repeating the request does not help.
            return None
        case greenroom.NotExecuted():
            return WorkspaceBusy()
        case WorkOutOfSpace():
            return problems.StorageFull()
        case WorkerFailed():
            return problems.ServerBusy(
                "A part of the service failed: nothing was changed. Try again."
            )
        case greenroom.OutcomeUnknown():
            return WorkspaceBusy(OUTCOME_UNKNOWN)
        case StoreFull() | BlobsFull():
            return problems.StorageFull()
        case StoreUnavailable():
            return problems.StorageUnavailable(OUTCOME_UNKNOWN if error.outcome_unknown else None)
        case BlobsUnavailable() | BlobCollected():
            return problems.StorageUnavailable(_NO_BLOBS, retry_after=5)
        case _:
            return None


@contextmanager
def failures_as_problems() -> Iterator[None]:
    """Convert failures raised in the block to problems, outside the pipeline of the contract."""
    try:
        yield
    except Exception as error:
        problem = problem_of(error)
        if problem is None:
            raise
        try:
            raise problem from error
        finally:
            del problem


_MINUTE = 60
_FEW = 10


def wait_of(problem: Problem) -> str:
    """Return when a person may try again, in words such as ``in a minute``."""
    sent = dict(problem.headers).get(b"retry-after", b"")
    seconds = int(sent) if sent.isdigit() else _MINUTE
    if seconds <= _FEW:
        return "in a few seconds"
    if seconds <= _MINUTE - _FEW:
        return f"in {math.ceil(seconds / _FEW) * _FEW} seconds"
    minutes = math.ceil(seconds / _MINUTE)
    return f"in {minutes} minutes" if minutes > 1 else "in a minute"

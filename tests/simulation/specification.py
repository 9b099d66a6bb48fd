"""A sequential model of a workspace.

Written independently from the contract, and naive: it keeps all files in one tuple and examines
each of them. A revision is identified here by the mutation that made it, which its device chose, as
no mutation makes two revisions of one file.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from greenroom.testing import HistoryEntry, Status

from octavo.model.files.changeset import Outcome

Kind = Literal["create", "update", "delete", "restore", "purge"]


class FileState(NamedTuple):
    """The known state of a file; a purged one has neither path nor digest."""

    state: str
    path: str
    digest: str
    mutation: str

    def __str__(self) -> str:
        return f"{self.state} {self.path} {self.digest[:4]} by {self.mutation}"


@dataclass(frozen=True, slots=True)
class Intent:
    """One operation as its device intends it. ``expected`` is the mutation that made the head."""

    kind: Kind
    file: str
    expected: str | None = None
    path: str | None = None
    digest: str | None = None

    def __str__(self) -> str:
        aim = f" over {self.expected}" if self.expected else ""
        return f"{self.kind} {self.file}{aim}{f' at {self.path}' if self.path else ''}"


@dataclass(frozen=True, slots=True)
class Sent:
    """A changeset; `ok` with an `Accepted`, refused with a `Rejected`."""

    workspace: str
    mutation: str
    fingerprint: str
    intents: tuple[Intent, ...]

    def __str__(self) -> str:
        return f"push {self.workspace} {self.mutation} [{'; '.join(map(str, self.intents))}]"


@dataclass(frozen=True, slots=True)
class Look:
    """Read the head of a file; `ok` with a `FileState`, or None."""

    workspace: str
    file: str

    def __str__(self) -> str:
        return f"look {self.workspace} {self.file}"


@dataclass(frozen=True, slots=True)
class Listing:
    """Read the feed from the start, in one page; `ok` with a `View`."""

    workspace: str

    def __str__(self) -> str:
        return f"list {self.workspace}"


Request: TypeAlias = Sent | Look | Listing


def files_of(request: object) -> tuple[str, ...]:
    """Return the files that a request names, for the report of a failure."""
    match request:
        case Look(workspace, file):
            return (f"{workspace}/{file}",)
        case Sent():
            return tuple(f"{request.workspace}/{each.file}" for each in request.intents)
        case _:
            return ()


def subjects_of(request: Request) -> tuple[str, ...]:
    """Return what a request concerns: its workspace, and its files."""
    return (request.workspace, *files_of(request))


class Accepted(NamedTuple):
    """A receipt: the position, and the outcome of each operation."""

    position: int
    outcomes: tuple[Outcome, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.outcomes)} at {self.position}"


class Rejected(NamedTuple):
    """A refusal: its code, and the moved files, each with the mutation of its head.

    Devices receive the revision instead; the verdict finds the mutation that made it.
    """

    code: str
    heads: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.code, *(f"{file}={mutation}" for file, mutation in self.heads)])


Files: TypeAlias = tuple[tuple[str, FileState], ...]


class View(NamedTuple):
    """All files, by their ids, at a position."""

    position: int
    files: Files

    def __str__(self) -> str:
        files = ", ".join(f"{file}: {state}" for file, state in self.files)
        return f"{self.position} {{{files}}}"


class _State(NamedTuple):
    """A workspace. Only receipts that are requested again are kept: fingerprint and result."""

    view: View
    receipts: tuple[tuple[str, tuple[str, Accepted] | None], ...]

    def __str__(self) -> str:
        return str(self.view)


class Specification:
    """The model of a workspace, for `check_linearizable`."""

    def partition(self, operation: Request) -> str:
        return operation.workspace

    def initial(self, partition: Hashable, entries: Sequence[HistoryEntry[Request]]) -> _State:
        sent = [e.operation.mutation for e in entries if isinstance(e.operation, Sent)]
        again = sorted(mutation for mutation in set(sent) if sent.count(mutation) > 1)
        return _State(View(0, ()), tuple((mutation, None) for mutation in again))

    def step(
        self, state: _State, operation: Request, status: Status, result: object
    ) -> _State | None:
        if isinstance(operation, Look):
            return state if dict(state.view.files).get(operation.file) == result else None
        if isinstance(operation, Listing):
            return state if state.view == result else None
        receipts = dict(state.receipts)
        receipt = receipts.get(operation.mutation)
        if receipt is not None:
            fingerprint, before = receipt
            known: Accepted | Rejected = before
            if fingerprint != operation.fingerprint:
                known = Rejected("mutation_reused")
            return state if _agrees(known, status, result) else None
        judged = carry_out(state.view, operation)
        if isinstance(judged, Rejected):
            return state if _agrees(judged, status, result) else None
        response, view = judged
        if not _agrees(response, status, result):
            return None
        if operation.mutation in receipts:
            receipts[operation.mutation] = (operation.fingerprint, response)
        return _State(view, tuple(receipts.items()))

    def may_change(self, operation: Request, status: Status) -> bool:
        return isinstance(operation, Sent) and status is not Status.REFUSED


def _agrees(expected: Accepted | Rejected, status: Status, result: object) -> bool:
    if isinstance(expected, Rejected):
        return status is Status.REFUSED and result == expected
    if status is Status.UNKNOWN and result is None:
        return True
    return status is not Status.REFUSED and result == expected


def carry_out(view: View, sent: Sent) -> Rejected | tuple[Accepted, View]:
    """Return the outcome of a changeset that was not sent before."""
    files = dict(view.files)
    refused = _refusal(files, sent.intents)
    if refused is not None:
        return refused
    outcomes: list[Outcome] = []
    for intent in sent.intents:
        outcome, files[intent.file] = _apply(files.get(intent.file), intent, sent.mutation)
        outcomes.append(outcome)
    live = [file.path.casefold() for file in files.values() if file.state == "live"]
    if len(set(live)) < len(live):
        return Rejected("path_conflict")
    if any(path.startswith(f"{folder}/") for path in live for folder in live):
        return Rejected("invalid_graph")
    position = view.position + any(outcome != "unchanged" for outcome in outcomes)
    return Accepted(position, tuple(outcomes)), View(position, tuple(sorted(files.items())))


def _refusal(files: Mapping[str, FileState], intents: Sequence[Intent]) -> Rejected | None:
    states = [(intent, files.get(intent.file)) for intent in intents]
    if any(file is not None and file.state == "purged" for _, file in states):
        return Rejected("file_purged")
    for intent, file in states:
        if intent.kind == "create" and file is not None:
            return Rejected("file_exists")
        if intent.kind in ("update", "delete") and (file is None or file.state == "deleted"):
            return Rejected("not_found")
        if intent.kind in ("restore", "purge") and file is None:
            return Rejected("not_found")
        if intent.kind in ("restore", "purge") and file is not None and file.state == "live":
            return Rejected("file_live")
    moved = [
        (intent.file, file.mutation)
        for intent, file in states
        if intent.kind in ("update", "delete", "restore")
        and file is not None
        and file.mutation != intent.expected
    ]
    return Rejected("head_moved", tuple(moved)) if moved else None


def _apply(file: FileState | None, intent: Intent, mutation: str) -> tuple[Outcome, FileState]:
    path, digest = intent.path, intent.digest
    if file is None:
        assert path is not None
        assert digest is not None
        return "created", FileState("live", path, digest, mutation)
    if path is None:
        path = file.path
    if digest is None:
        digest = file.digest
    match intent.kind:
        case "delete":
            return "deleted", FileState("deleted", path, digest, mutation)
        case "restore":
            return "restored", FileState("live", path, digest, mutation)
        case "purge":
            return "purged", FileState("purged", "", "", mutation)
        case _ if (path, digest) == (file.path, file.digest):
            return "unchanged", file
        case _:
            return "updated", FileState("live", path, digest, mutation)

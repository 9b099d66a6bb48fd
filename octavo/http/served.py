"""What this server serves: the operations, their document, and the problems that they answer."""

from octavo.http.contract import contract_of
from octavo.http.notices import NoticeOperations
from octavo.http.openapi import document
from octavo.http.operations.account import AccountOperations
from octavo.http.operations.auth import AuthOperations
from octavo.http.operations.changesets import ChangesetOperations
from octavo.http.operations.contract import ContractOperations
from octavo.http.operations.files import FileOperations
from octavo.http.operations.history import HistoryOperations
from octavo.http.operations.keys import KeyOperations
from octavo.http.operations.links import LinkOperations
from octavo.http.operations.reading import ReadingOperations
from octavo.http.operations.registrations import RegistrationOperations
from octavo.http.operations.saves import SaveOperations
from octavo.http.operations.search import SearchOperations
from octavo.http.operations.service import ServiceOperations
from octavo.http.operations.sessions import SessionOperations
from octavo.http.operations.sync import SyncOperations
from octavo.http.operations.workspaces import WorkspaceOperations
from octavo.http.possible import possible_problems
from octavo.http.problems import PROBLEMS, Problem
from octavo.http.schemas import Json
from octavo.http.wire import WIRE_PROBLEMS, WireProblem

CONTRACT_VERSION = "0.1.0"

CONTRACT: tuple[type, ...] = (
    ServiceOperations,
    ContractOperations,
    RegistrationOperations,
    AuthOperations,
    AccountOperations,
    SessionOperations,
    KeyOperations,
    WorkspaceOperations,
    FileOperations,
    SaveOperations,
    ChangesetOperations,
    ReadingOperations,
    HistoryOperations,
    LinkOperations,
    SearchOperations,
    SyncOperations,
    NoticeOperations,
)
"""Every class whose methods declare operations."""


def contract_document() -> Json:
    """Answer the OpenAPI document of everything that is served."""
    return document(CONTRACT, title="Octavo", version=CONTRACT_VERSION)


def explained_problems() -> list[type[Problem] | WireProblem]:
    """Answer every problem that can be answered, by its status: each gets a page."""
    possible = (each for declared in contract_of(CONTRACT) for each in possible_problems(declared))
    by_code: dict[str, type[Problem] | WireProblem] = {each.code: each for each in PROBLEMS}
    by_code |= {each.code: each for each in WIRE_PROBLEMS}
    by_code |= {each.code: each for each in possible}
    return sorted(by_code.values(), key=lambda each: (each.status, each.code))

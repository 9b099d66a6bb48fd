"""The registry of the operations of this server, their document and their problems."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from antechamber import SERVER_PROBLEMS

from octavo.http import contract
from octavo.service.features import FEATURES
from octavo.service.health import ServiceOperations

_PIECE = 16_384
_MEDIA_TYPE = "application/json"


class ContractOperations:
    """The API document.

    Args:
        document: returns the document of `octavo.http.contract.openapi.document`; it is encoded
            once.
    """

    PATH: ClassVar[str] = "/api/openapi.json"

    def __init__(self, document: Callable[[], Awaitable[Mapping[str, object]]]) -> None:
        self._document = document
        self._pieces: tuple[bytes, ...] = ()
        self._length = 0

    @contract.operation(
        id="getContract",
        method="GET",
        path=PATH,
        tag="service",
        summary="Get the OpenAPI document of this server",
        security=contract.Security.NONE,
        media_types=(_MEDIA_TYPE,),
    )
    async def get_contract(self, call: contract.Call) -> contract.Stream:
        """Return the document."""
        document = await self._document()
        if not self._pieces:
            content = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
            starts = range(0, len(content), _PIECE)
            self._pieces = tuple(content[start : start + _PIECE] for start in starts)
            self._length = len(content)
        return contract.Stream(_each(self._pieces), _MEDIA_TYPE, self._length)


async def _each(pieces: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    # In pieces that all readers share: sent as a whole, the bytes would count against the memory of
    # each.
    for piece in pieces:
        yield piece


CONTRACT_VERSION = "0.1.0"
EXAMPLES = Path(__file__).with_name("examples.json")
"""By operation id, the members of `Example`; written by the tests (``make examples``)."""

_ORDER = [
    "ServiceOperations",
    "ContractOperations",
    "RegistrationOperations",
    "AuthOperations",
    "PasswordResetOperations",
    "AccountOperations",
    "SessionOperations",
    "KeyOperations",
    "AdministrationOperations",
    "AuditOperations",
    "InstallationOperations",
    "OperatorOperations",
    "WorkspaceOperations",
    "MemberOperations",
    "InvitationOperations",
    "FileOperations",
    "SaveOperations",
    "ChangesetOperations",
    "ReadingOperations",
    "HistoryOperations",
    "ClientChangeOperations",
    "RestorationOperations",
    "LinkOperations",
    "SearchOperations",
    "SyncOperations",
    "AttachmentOperations",
    "ContentOperations",
    "ImportOperations",
    "ExportOperations",
    "NoticeOperations",
    "LegalOperations",
    "PublicationOperations",
    "PublishedOperations",
    "LinkReportOperations",
    "OAuthOperations",
    "ConnectionOperations",
    "McpOperations",
]
"""The classes of the document in its order; those of new features follow."""


def _place(operations: type) -> int:
    name = operations.__name__
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


CONTRACT: tuple[type, ...] = tuple(
    sorted(
        [
            ServiceOperations,
            ContractOperations,
            *(operations for feature in FEATURES for operations in feature.operations),
        ],
        key=_place,
    )
)
"""Every class whose methods declare operations."""


@cache
def api_document() -> contract.Json:
    """Return the OpenAPI document of all operations."""
    examples: dict[str, contract.Json] = json.loads(EXAMPLES.read_bytes())
    return contract.openapi_document(
        CONTRACT,
        title="Octavo",
        version=CONTRACT_VERSION,
        examples={name: contract.Example(**example) for name, example in examples.items()},
        operations_of=contract.served_operations_of,
    )


def explained_problems() -> list[contract.AnyProblem]:
    """Return every problem that a client may receive, by status: each has a page."""
    served = contract.contract_of(CONTRACT, contract.served_operations_of)
    possible = (problem for declared in served for problem in contract.possible_problems(declared))
    problems: list[contract.AnyProblem]
    problems = [*contract.OUTSIDE_OPERATIONS, *SERVER_PROBLEMS, *possible]
    by_code = {problem.code: problem for problem in problems}
    return sorted(by_code.values(), key=lambda problem: (problem.status, problem.code))

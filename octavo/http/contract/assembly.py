"""Assemble the contract: collect the operations that classes declare, and check that they agree.

`signature` checks one declaration by itself, and against its handler.
"""

from collections.abc import Callable, Iterable
from functools import cache

from antechamber.rejection import SERVER_PROBLEMS
from octavo_rules.problems import PROBLEMS

from octavo.http.contract.operation import ContractError, Operation, declarations_of
from octavo.http.contract.router import segments_of
from octavo.http.contract.signature import check_schemas, read_signature


def operations_of(group: type) -> tuple[Operation, ...]:
    """Return the operations that the methods of ``group`` declare, in definition order.

    Raises `ContractError` for an operation that contradicts its handler, for models that cannot be
    described or parsed, and for a class without operations.
    """
    _check_schemas(group)
    return _read(group)


def served_operations_of(group: type) -> tuple[Operation, ...]:
    """Return the same as `operations_of` without the slow check of models."""
    return _read(group)


@cache
def _check_schemas(group: type) -> None:
    for operation in _read(group):
        check_schemas(operation, getattr(group, operation.handler))


@cache
def _read(group: type) -> tuple[Operation, ...]:
    methods = {
        name: value for base in reversed(group.__mro__) for name, value in vars(base).items()
    }
    operations = [
        read_signature(name, method, declared)
        for name, method in methods.items()
        for declared in declarations_of(method)
    ]
    if not operations:
        raise ContractError(f"{group.__qualname__} declares no operation")
    return tuple(operations)


def contract_of(
    groups: Iterable[type], operations_of: Callable[[type], tuple[Operation, ...]] = operations_of
) -> tuple[Operation, ...]:
    """Return the operations of all ``groups``, in order, as ``operations_of`` reads each.

    Raises `ContractError` for a duplicate id, a duplicate method and path, two templates that
    differ only in parameter names, which OpenAPI forbids, and a problem code with two statuses.
    """
    operations: tuple[Operation, ...] = ()
    statuses = {problem.code: problem.status for problem in PROBLEMS}
    statuses |= {problem.code: problem.status for problem in SERVER_PROBLEMS}
    for group in groups:
        declared = operations_of(group)
        for operation in declared:
            _check_codes(
                f"{operation.id} ({group.__qualname__}.{operation.handler})", operation, statuses
            )
        operations += declared
    ids: set[str] = set()
    methods: set[tuple[str, str]] = set()
    templates: dict[tuple[str | None, ...], str] = {}
    for operation in operations:
        if operation.id in ids:
            raise ContractError(f"the id {operation.id} is declared twice")
        if (operation.method, operation.path) in methods:
            raise ContractError(f"{operation.method} {operation.path} is declared twice")
        template = templates.setdefault(segments_of(operation.path), operation.path)
        if template != operation.path:
            raise ContractError(f"{template} and {operation.path} are one path with two names")
        ids.add(operation.id)
        methods.add((operation.method, operation.path))
    return operations


def _check_codes(where: str, operation: Operation, statuses: dict[str, int]) -> None:
    for problem in operation.problems:
        known = statuses.setdefault(problem.code, problem.status)
        if known != problem.status:
            raise ContractError(
                f"{where}: {problem.__qualname__} has the status {problem.status}, but another "
                f"problem of the code {problem.code} has {known}: choose another code"
            )

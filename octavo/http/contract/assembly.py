"""Assemble the contract: collect the operations that classes declare, and check that they agree.

`declaration_check` checks one declaration by itself, and `signature` against its handler.
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
    for each in _read(group):
        check_schemas(each, getattr(group, each.handler))


@cache
def _read(group: type) -> tuple[Operation, ...]:
    methods = {
        name: value for base in reversed(group.__mro__) for name, value in vars(base).items()
    }
    found = [
        read_signature(name, method, declared)
        for name, method in methods.items()
        for declared in declarations_of(method)
    ]
    if not found:
        raise ContractError(f"{group.__qualname__} declares no operation")
    return tuple(found)


def contract_of(
    groups: Iterable[type], operations_of: Callable[[type], tuple[Operation, ...]] = operations_of
) -> tuple[Operation, ...]:
    """Return the operations of all ``groups``, in order, as ``operations_of`` reads each.

    Raises `ContractError` for a duplicate id, a duplicate method and path, two templates that
    differ only in parameter names, which OpenAPI forbids, and a problem code with two statuses.
    """
    operations: tuple[Operation, ...] = ()
    statuses = {each.code: each.status for each in PROBLEMS}
    statuses |= {each.code: each.status for each in SERVER_PROBLEMS}
    for group in groups:
        found = operations_of(group)
        for each in found:
            _check_codes(f"{each.id} ({group.__qualname__}.{each.handler})", each, statuses)
        operations += found
    ids: set[str] = set()
    methods: set[tuple[str, str]] = set()
    templates: dict[tuple[str | None, ...], str] = {}
    for each in operations:
        if each.id in ids:
            raise ContractError(f"the id {each.id} is declared twice")
        if (each.method, each.path) in methods:
            raise ContractError(f"{each.method} {each.path} is declared twice")
        template = templates.setdefault(segments_of(each.path), each.path)
        if template != each.path:
            raise ContractError(f"{template} and {each.path} are one path with two names")
        ids.add(each.id)
        methods.add((each.method, each.path))
    return operations


def _check_codes(where: str, operation: Operation, statuses: dict[str, int]) -> None:
    for problem in operation.problems:
        known = statuses.setdefault(problem.code, problem.status)
        if known != problem.status:
            raise ContractError(
                f"{where}: {problem.__qualname__} has the status {problem.status}, but another "
                f"problem of the code {problem.code} has {known}: choose another code"
            )

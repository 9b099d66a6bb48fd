"""A contract of import-linter: a package imports what is listed, and nothing else.

import-linter's own contracts name what is forbidden; a package that must stay alone needs the
opposite. The standard library and the package itself are always allowed.
"""

import sys
from collections.abc import Iterable
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowedImportsContract(Contract):
    """``package`` imports only what ``allowed`` lists; both are settings in pyproject.toml.

    ``allowed`` names distributions' packages, or packages below the root such as ``octavo.model``.
    ``apart`` names packages inside of ``package`` that are judged by a contract of their own; the
    rest must not import them.
    """

    type_name = "allowed_imports"

    package = fields.StringField()
    allowed = fields.ListField(subfield=fields.StringField())
    apart = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find every import, direct and of whatever depth in the package, that is not listed."""
        package: Any = self.package
        allowed: Any = self.allowed
        apart: Any = self.apart
        apart = apart or ()
        trespasses = [
            f"{module} imports {imported}"
            for module in sorted({package, *graph.find_descendants(package)})
            if not _within(module, apart)
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if imported.partition(".")[0] not in sys.stdlib_module_names
            and (not _within(imported, (package, *allowed)) or _within(imported, apart))
        ]
        return ContractCheck(kept=not trespasses, metadata={"trespasses": trespasses})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which import breaks the contract."""
        for trespass in check.metadata["trespasses"]:
            output.print_error(trespass)


def _within(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)

"""A contract of import-linter: a package imports what is listed, and nothing else.

import-linter's own contracts name what is forbidden; a package that must stay alone needs the
opposite. The standard library and the package itself are always allowed.
"""

import sys
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowedImportsContract(Contract):
    """``package`` imports only what ``allowed`` lists; both are settings in pyproject.toml.

    ``allowed`` names distributions' packages, or packages below the root such as ``octavo.model``.
    """

    type_name = "allowed_imports"

    package = fields.StringField()
    allowed = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find every import, direct and of whatever depth in the package, that is not listed."""
        package: Any = self.package
        allowed: Any = self.allowed
        trespasses = [
            f"{module} imports {imported}"
            for module in sorted({package, *graph.find_descendants(package)})
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if imported.partition(".")[0] not in sys.stdlib_module_names
            and not any(f"{imported}.".startswith(f"{each}.") for each in (package, *allowed))
        ]
        return ContractCheck(kept=not trespasses, metadata={"trespasses": trespasses})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which import breaks the contract."""
        for trespass in check.metadata["trespasses"]:
            output.print_error(trespass)

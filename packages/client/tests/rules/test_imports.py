"""Importing the rules loads few modules, so programs that use some of them start fast."""

import pkgutil
import subprocess
import sys

import octavo_rules
import pytest

SCHEMAS = ("octavo_rules.schema_base", "octavo_rules.schemas")
RULES = [rule.name for rule in pkgutil.walk_packages(octavo_rules.__path__, "octavo_rules.")]
SCRIPT = "import sys; before = {{*sys.modules}}; import {}; print(*{{*sys.modules}} - before)"


def loaded_by(*modules: str) -> set[str]:
    """Import ``modules`` in a new process; return the names of the packages that this loads."""
    script = SCRIPT.format(", ".join(modules))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in ran.stdout.split()}
    # Modules of the run time of Cython, in which rapidfuzz is written; they have no file.
    return {name for name in packages if not name.startswith(("cython_", "_cython_"))}


def test_rules_load_rapidfuzz_and_the_standard_library_alone() -> None:
    rules = [rule for rule in RULES if rule not in SCHEMAS]
    loaded = loaded_by(*rules)
    assert loaded - sys.stdlib_module_names == {"octavo_rules", "rapidfuzz"}
    assert loaded.isdisjoint({"asyncio", "email", "http", "logging", "socket", "ssl", "urllib"})


@pytest.mark.parametrize("rule", RULES)
def test_only_the_schemas_load_pydantic(rule: str) -> None:
    assert ("pydantic" in loaded_by(rule)) == (rule in SCHEMAS)


def test_schemas_load_no_client_of_the_network() -> None:
    assert loaded_by(*SCHEMAS).isdisjoint({"httpx", "pycrdt", "trio", "trio_websocket", "wsproto"})

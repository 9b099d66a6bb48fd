"""The rules are light: they load no library of the network, and only the schemas load pydantic."""

import pkgutil
import subprocess
import sys

import octavo_rules

SCHEMAS = "octavo_rules.schemas"
RULES = [each.name for each in pkgutil.walk_packages(octavo_rules.__path__, "octavo_rules.")]


def test_rules_import_neither_pydantic_nor_a_client() -> None:
    assert SCHEMAS in RULES
    rules = ", ".join(each for each in RULES if each != SCHEMAS)
    script = f"import sys, {rules}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {each.partition(".")[0] for each in ran.stdout.split()}
    assert "pycrdt" in loaded
    assert not loaded & {"pydantic", "pydantic_core", "httpx", "trio_websocket"}

"""What a command imports before it works: modules are counted, because times depend on load.

The lists name what is slow to import and not needed until later.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.server import PATIENCE
from tests.project.source import ROOT

PAGES = {"quart", "quart_trio", "flask", "jinja2", "werkzeug", "octavo.service.pages"}
MCP = {"mcp_types", "octavo.mcp", "octavo.features.mcp.api.mcp_notes"}
POSTGRES = {"asyncpg", "trio_asyncio", "octavo.store.postgres.store"}
SERVER = {
    "octavo.service.running",
    "octavo.http.contract.application",
    "hypercorn",
    "pycrdt",
    "markdown_it",
}
CLIENT = {"httpx", "trio_websocket", "octavo_client", "octavo.store.sqlite"}
OWN = ("octavo", "greenroom", "antechamber")
TRACEBACKS = ("rich", "pygments")
"""Structlog imports them where they are installed, as for the tests; Octavo does not need them."""
ANY = {"trio", "pydantic", "octavo.settings", "octavo.store.engine"}

_IMPORTED = re.compile(r"import time: +\d+ \| +\d+ \| +([a-zA-Z0-9_.]+)\n")


def loaded(*command: str, until: str = "") -> set[str]:
    """The modules that a command imports, until it ends or logs ``until`` on standard error."""
    found: set[str] = set()
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "octavo", *command],
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            imported = _IMPORTED.fullmatch(line)
            if imported is not None:
                found.add(imported[1])
            elif until and until in line:
                break
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert "click" in found
    return found


@pytest.mark.parametrize(
    ("command", "unwanted", "maximum"),
    [
        (("--help",), PAGES | POSTGRES | SERVER | ANY, 130),
        (("settings",), PAGES | POSTGRES | SERVER | {"trio"}, 360),
        (("import", "--help"), PAGES | POSTGRES | SERVER | CLIENT, 440),
        (("export", "--help"), PAGES | POSTGRES | SERVER | CLIENT, 440),
        (("backup", "--help"), PAGES | POSTGRES | SERVER - {"pycrdt"}, 520),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_command_imports_only_what_it_needs(
    command: tuple[str, ...], unwanted: set[str], maximum: int
) -> None:
    found = loaded(*command)
    assert found & unwanted == set()
    assert len(found) <= maximum


@pytest.mark.parametrize("options", [(), ("--mcp", "true", "--mcp-write", "true")])
def test_serve_loads_pages_and_others_later_than_it_listens(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    given = ("serve", "--bind", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), *options)
    found = loaded(*given, until="Octavo listens on")
    assert found & (PAGES | POSTGRES | MCP | {"PIL", "markdown_it"}) == set()
    # A module loaded by `import_module` is not listed itself, but all that it imports is.
    assert {"octavo.service.wiring", "hypercorn"} <= found
    # Octavo's own modules grow with its operations. What they import must not grow along.
    own = {each for each in found if each.startswith(OWN)}
    tracebacks = {each for each in found if each.startswith(TRACEBACKS)}
    assert len(own) <= 520
    assert len(found - own - tracebacks) <= 640

"""The concurrency core stands alone: what it may import is a list, and all else is refused.

The borders between the other rooms are contracts of import-linter, in pyproject.toml; a list of
what is allowed is what those can't say.
"""

import ast
import sys
from pathlib import Path

import pytest

from tests.source import ROOT, imports, modules, package_of

CORE = "octavo.actors.core"
ALLOWED = frozenset({"attr", "attrs", "outcome", "trio"}) | sys.stdlib_module_names


def trespasses(source: str, package: str) -> list[str]:
    """The imports of a module in ``package`` that the core's border forbids."""
    return [
        f"line {line}: {origin}"
        for _, origin, line in imports(ast.parse(source), package)
        if origin.partition(".")[0] not in ALLOWED and not f"{origin}.".startswith(f"{CORE}.")
    ]


@pytest.mark.parametrize("path", modules("octavo/actors/core"), ids=str)
def test_core_module_imports_nothing_beyond_its_border(path: Path) -> None:
    assert trespasses((ROOT / path).read_text(), package_of(path)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import hypercorn",
        "import hypercorn.config as trio",
        "from quart import Quart",
        "import octavo",
        "from octavo import settings",
        "from octavo.settings import Settings",
        "from octavo.actors import testing",
        "from octavo.actors.testing import run",
        "from octavo.actors.core_extras import x",
        "from .. import testing",
        "from ..testing import run",
        "from ... import settings",
        "import trio, pytest",
        "def late():\n    import hypothesis",
        "try:\n    import anyio\nexcept ImportError:\n    pass",
    ],
)
def test_border_catches_a_trespass(statement: str) -> None:
    assert len(trespasses(statement, CORE)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "import trio.lowlevel",
        "import outcome",
        "from attrs import frozen",
        "from collections.abc import Callable",
        "from octavo.actors.core import mailbox",
        "from octavo.actors.core.mailbox import Mailbox",
        "import octavo.actors.core.mailbox",
        "from . import mailbox",
        "from .mailbox import Mailbox",
        "from __future__ import annotations",
    ],
)
def test_border_lets_pass_what_is_allowed(statement: str) -> None:
    assert trespasses(statement, CORE) == []

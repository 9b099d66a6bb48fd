"""Time, randomness and identifiers are injected: no module obtains them by itself.

`octavo.access.entropy` provides them, and the testing kit replaces it; all other modules of the
package take them as arguments, so that a run can be repeated.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.source import ROOT, imports, package_of, shipped

SOURCES = {
    "random",
    "secrets",
    "os.getrandom",
    "os.urandom",
    "uuid.uuid1",
    "uuid.uuid4",
    "uuid.uuid6",
    "uuid.uuid7",
    "uuid.uuid8",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.time",
    "time.time_ns",
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
}
MODULES = {source.partition(".")[0] for source in SOURCES}


# What gives the others their sources, and what tests are made of.
PROVIDERS = (
    "octavo/access/entropy.py",
    "packages/antechamber/src/antechamber/__main__.py",
    "packages/greenroom/src/greenroom/testing",
)


def exempt(path: Path) -> bool:
    return any(path.is_relative_to(each) for each in PROVIDERS)


def taken(source: str, package: str = "octavo") -> list[str]:
    """Where a module uses a source of time, randomness or identifiers directly."""
    tree = _at_run_time(ast.parse(source))
    known: dict[str, str] = {}
    found: list[str] = []
    for local, origin, line in imports(tree, package):
        # ``import a.b`` binds a; only ``import a.b as c`` binds c to a.b.
        top = local.partition(".")[0]
        known[top] = top if "." in local else origin
        module, _, name = origin.rpartition(".")
        if _is_source(origin) or (name == "*" and module in MODULES):
            found.append(f"line {line}: import of {origin}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            origin = _origin(node, known)
            if origin in SOURCES:
                found.append(f"line {node.lineno}: {origin}")
    return found


def _is_source(origin: str) -> bool:
    return any(f"{origin}.".startswith(f"{source}.") for source in SOURCES)


def _origin(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_origin(node.value, known)}.{node.attr}"
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def _at_run_time(tree: ast.Module) -> ast.Module:
    """The module without the imports for types alone."""

    class Types(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | Iterator[ast.AST]:
            self.generic_visit(node)
            test = node.test
            name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
            return iter(node.orelse) if name == "TYPE_CHECKING" else node

    return Types().visit(tree)  # type: ignore[no-any-return]


@pytest.mark.parametrize("path", [p for p in shipped() if not exempt(p)], ids=str)
def test_module_is_given_time_randomness_and_identifiers(path: Path) -> None:
    assert taken((ROOT / path).read_text(), package_of(path)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import random as chance",
        "from random import Random",
        "def later():\n    import secrets",
        "from secrets import token_bytes",
        "from uuid import uuid4",
        "from uuid import uuid4 as new",
        "import uuid\nuuid.uuid4()",
        "import uuid\ndef f(make=uuid.uuid4): ...",
        "import uuid as u\nu.uuid1()",
        "import time\ntime.time()",
        "import time as t\nt.time_ns()",
        "from time import time",
        "from time import monotonic as now",
        "from time import *",
        "import datetime\ndatetime.datetime.now()",
        "import datetime as dt\ndt.datetime.utcnow()",
        "import datetime as dt\ndt.date.today()",
        "from datetime import datetime\ndatetime.now(tz=None)",
        "from datetime import datetime as D, UTC\nD.now(UTC)",
        "import os\nos.urandom(8)",
        "import os.path\nos.urandom(8)",
        "from os import urandom",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import random",
    ],
)
def test_rule_catches(source: str) -> None:
    assert len(taken(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from uuid import UUID\nUUID('0' * 32)",
        "from datetime import datetime\ndatetime.fromtimestamp(0, None)",
        "import time\ntime.strftime('%Y')",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from random import Random",
        "import typing\nif typing.TYPE_CHECKING:\n    import random",
        "import trio\ntrio.current_time()",
        "def f(clock, random):\n    return clock.now() + random.random()",
        "from octavo import random",
        "from .time import time",
    ],
)
def test_rule_accepts(source: str) -> None:
    assert taken(source) == []


@pytest.mark.parametrize(
    "path", ["octavo/access/entropy.py", "packages/greenroom/src/greenroom/testing/seed.py"]
)
def test_rule_exempts_the_providers(path: str) -> None:
    assert exempt(Path(path))


@pytest.mark.parametrize(
    "path",
    [
        "octavo/service/running.py",
        "packages/greenroom/src/greenroom/testing.py",
        "octavo/settings.py",
    ],
)
def test_rule_exempts_nobody_else(path: str) -> None:
    assert not exempt(Path(path))

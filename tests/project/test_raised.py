"""An error that was handled is freed at once, with all that the functions refer to that raised it.

A function that raises what one of its variables refers to makes a cycle: the error, its traceback,
the frame, the variable. It keeps the body of a request, and what was read for it, until the
collector finds them: megabytes that nothing counts any more.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.source import ROOT, shipped

# They end with the process or the test, or belong to other people's programs.
EXEMPT = tuple(
    Path(each)
    for each in (
        "packages/greenroom/src/greenroom/testing",
        "packages/client/src/octavo_client",
        "octavo/cli/interruption.py",
    )
)
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def kept(source: str) -> list[str]:
    """Where a function raises what a variable refers to, and does not delete the variable.

    Those of ``except … as`` are deleted by Python; what ``self`` refers to lives on anyway.
    """
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, FUNCTIONS):
            continue
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        variables = {each.arg for each in every} - {"self"}
        own = [*_own(function)]
        names = [node for node in own if isinstance(node, ast.Name)]
        variables |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        deleted = {node.id for node in names if isinstance(node.ctx, ast.Del)}
        for node in own:
            name = _raised(node)
            if name in variables - deleted:
                found.append(f"line {node.lineno}: {name}")
    return found


def _own(function: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """The nodes of a function without those of the functions in it."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, ast.stmt | ast.expr) and not isinstance(node, FUNCTIONS | ast.Lambda):
            yield node
        if not isinstance(node, FUNCTIONS | ast.Lambda):
            yield from _own(node)


def _raised(node: ast.AST) -> str | None:
    """The variable through which an error is raised that exists already."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    if isinstance(raised, ast.Call) and isinstance(raised.func, ast.Attribute):
        # Other calls make a new error.
        raised = raised.func.value if raised.func.attr == "with_traceback" else None
    while isinstance(raised, ast.Attribute | ast.Subscript):
        raised = raised.value
    return raised.id if isinstance(raised, ast.Name) else None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(e): raise e", ["line 1: e"]),
        ("async def f():\n g = h()\n raise g.exceptions[0] from None", ["line 3: g"]),
        ("def f(r): raise r.error.with_traceback(None)", ["line 1: r"]),
        ("def f(e):\n try: raise e\n finally: del e", []),
        ("def f():\n try: g()\n except E as e: raise e", []),
        ("def f(e): raise of(e)", []),
        ("def f(self): raise self.error", []),
        ("def f():\n def g(e): raise e", ["line 2: e"]),
        ("def f(e):\n del e\n def g(e): raise e", ["line 3: e"]),
        ("def f(): raise trio.Cancelled", []),
    ],
)
def test_rule(source: str, expected: list[str]) -> None:
    assert kept(source) == expected


def test_no_error_is_kept_by_the_function_that_raised_it() -> None:
    found = {
        str(path): lines
        for path in shipped()
        if not any(path.is_relative_to(each) for each in EXEMPT)
        and (lines := kept((ROOT / path).read_text()))
    }
    assert found == {}

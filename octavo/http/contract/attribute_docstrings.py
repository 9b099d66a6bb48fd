"""Read the docstrings of class attributes from the source on demand.

Pydantic can read them when a class is created (``use_attribute_docstrings``), but that takes a
tenth of the server's startup time, and only the API document needs them.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache


def attribute_docstrings(kind: type, root: type) -> dict[str, str]:
    """Return the docstrings of the annotated attributes of ``kind``, by name.

    Those of its bases are included, up to the base ``root``, which is not.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[: kind.__mro__.index(root)]):
        found |= _docstrings_in(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _docstrings_in(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of a module's classes, by qualified name.

    All at once: `inspect.getsource` of a class parses the whole module each time.
    """
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        # Created dynamically, or in C.
        return {}
    found: dict[str, dict[str, str]] = {}
    for name, definition in _definitions(ast.parse(source), ""):
        # As for `inspect`, the first of several classes of one name counts.
        found.setdefault(name, _own_docstrings(definition))
    return found


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield the classes below ``node`` with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = prefix + child.name
            yield name, child
            yield from _definitions(child, f"{name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _definitions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _definitions(child, prefix)


def _own_docstrings(definition: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as text)),
            ):
                found[name] = inspect.cleandoc(text)
    return found

"""Read the docstrings of class attributes from the source on demand.

Pydantic can read them when a class is created (``use_attribute_docstrings``), but that takes a
tenth of the server's startup time, and only the API document needs them.
"""

import ast
import inspect
import textwrap
from functools import cache


def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings of the annotated attributes of ``kind`` and its bases, by name."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= _own_docstrings(base)
    return found


@cache
def _own_docstrings(kind: type) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        # Created dynamically, or in C.
        return found
    if not isinstance(definition, ast.ClassDef):
        return found
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as text)),
            ):
                found[name] = inspect.cleandoc(text)
    return found

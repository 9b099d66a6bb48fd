"""The docstrings below the attributes of a class, read from its source when they are needed.

Pydantic reads them when a class is made (``use_attribute_docstrings``), which takes a tenth of the
time in which the server starts; the document of the contract alone needs them.
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
        # Made by a call, or in C.
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

"""Count the lines of code of each distribution and of each of its rooms and features.

Usage: python -m tools.size [CHECKOUT]

A line counts if a token of the program is on it: blank lines, comments and docstrings do not. The
lines of import statements are counted once more by themselves. Tests, tools and benchmarks are not
part of a distribution.
"""

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SILENT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_WITH_FOLDERS = ("features",)  # each folder of these rooms has a row of its own


@dataclass(frozen=True)
class Size:
    """What some modules amount to: how many there are, and their lines of code and of imports."""

    modules: int = 0
    lines: int = 0
    imports: int = 0

    def __add__(self, other: "Size") -> "Size":
        """Add up two sizes."""
        return Size(
            self.modules + other.modules, self.lines + other.lines, self.imports + other.imports
        )


def size_of(source: str) -> Size:
    """Measure one module by its text."""
    tree = ast.parse(source)
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
        for line in _lines_of(node.body[0])
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _SILENT
        for line in range(token.start[0], token.end[0] + 1)
    } - docstrings
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in _lines_of(node)
    }
    return Size(1, len(code), len(imports & code))


def _lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def distributions(checkout: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each import package that a distribution holds."""
    for package in sorted(checkout.glob("packages/*/src/*")):
        if (package / "__init__.py").exists():
            yield package.name, package
    yield "octavo", checkout / "octavo"


def room_of(module: Path) -> str:
    """Name the room of a module by its path within its package; a feature is a room."""
    depth = 2 if module.parts[0] in _WITH_FOLDERS else 1
    return "/".join(module.parts[:-1][:depth])


def report(checkout: Path) -> Iterator[str]:
    """Yield the table's lines: every room, every package, and the whole."""
    yield f"{'':44}{'modules':>8}{'code':>8}{'imports':>9}"
    whole = Size()
    for name, folder in distributions(checkout):
        rooms: defaultdict[str, Size] = defaultdict(Size)
        for path in folder.rglob("*.py"):
            rooms[room_of(path.relative_to(folder))] += size_of(path.read_text(encoding="utf-8"))
        for room, size in sorted(rooms.items()):
            yield _row(f"  {name}/{room}", size)
        total = sum(rooms.values(), Size())
        yield _row(name, total)
        whole += total
    yield _row("all", whole)


def _row(name: str, size: Size) -> str:
    share = 100 * size.imports / size.lines if size.lines else 0
    return f"{name:44}{size.modules:8,}{size.lines:8,}{share:8.1f}%"


if __name__ == "__main__":
    for line in report(Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        print(line)

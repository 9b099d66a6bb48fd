"""The project's own source, for the tests of its borders and rules."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def modules(folder: str) -> list[Path]:
    """Every module below ``folder``, by paths from the root; at least one."""
    found = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))
    assert found, f"there is no module in {folder}"
    return found


def shipped() -> list[Path]:
    """Every module of every distribution, by paths from the root."""
    packages = sorted(path.relative_to(ROOT) for path in ROOT.glob("packages/*/src"))
    return [*modules("octavo"), *(path for each in packages for path in modules(str(each)))]


def package_of(path: Path) -> str:
    """The package that a module's relative imports start from."""
    parts = path.parent.parts
    return ".".join(parts[parts.index("src") + 1 :] if parts[0] == "packages" else parts)


def imports(tree: ast.AST, package: str) -> Iterator[tuple[str, str, int]]:
    """Yield local name, absolute dotted name and line of everything that is imported.

    ``package`` is where relative imports start. ``import a.b`` has the local name ``a.b``, a star
    import ``*``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield alias.asname or alias.name, f"{module}.{alias.name}", node.lineno

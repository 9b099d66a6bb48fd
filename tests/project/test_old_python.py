"""What Python 3.11.2, which Debian 12 has, does otherwise than later ones is not used."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any

import greenroom
import octavo_client
import octavo_rules
import pytest

import octavo
from tests.project.source import ROOT, shipped

ASSERTIONS = (codes.ASSERT, codes.ASSERT_NOT, codes.AT)
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def modules() -> Iterator[ModuleType]:
    for package in (octavo, greenroom, octavo_client, octavo_rules):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.endswith("__main__") and each.name != "octavo.workers.process":
                yield importlib.import_module(each.name)


def parts(item: object) -> Iterator[tuple[Any, Any]]:
    """The operations of a parsed expression, and of all that is in it."""
    if isinstance(item, parser.SubPattern):
        for operation, argument in item:
            yield operation, argument
            yield from parts(argument)
    elif isinstance(item, list | tuple):
        for each in item:
            yield from parts(each)


def may_fail_late(sequence: Any) -> bool:  # noqa: ANN401
    """Whether a sequence may fail where something before has been repeated, or looks around."""
    repeated = False
    for operation, argument in sequence:
        if operation in ASSERTIONS:
            return True
        if operation is codes.SUBPATTERN:
            late = may_fail_late(argument[3])
        elif operation is codes.BRANCH:
            # Each alternative begins where the first one did.
            late = any(map(may_fail_late, argument[1]))
        else:
            late = False
        if late or (repeated and not (operation in REPEATS and argument[0] == 0)):
            return True
        inner = [each for each, _ in parts(argument)]
        repeated = repeated or not {operation, *inner}.isdisjoint(REPEATS)
    return False


def is_matched_wrongly(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a group is repeated without backtracking whose last repetition may be incomplete.

    Python 3.11.2 goes on where that one has failed, instead of where it has begun.
    """
    return any(
        operation is codes.POSSESSIVE_REPEAT and may_fail_late(last_of(argument[2]))
        for operation, argument in parts(parser.parse(pattern, flags))
    )


def last_of(group: Any) -> Any:  # noqa: ANN401
    """The last alternative of a group, which is the last one that fails; or the group."""
    if len(group) == 1 and group[0][0] is codes.SUBPATTERN:
        return last_of(group[0][1][3])
    if len(group) == 1 and group[0][0] is codes.BRANCH:
        return group[0][1][1][-1]
    return group


@pytest.mark.parametrize(
    ("pattern", "wrongly"),
    [
        (r"(?:a(?=b)b)*+ac", True),
        (r"(?:(?<!x)ab)++c", True),
        (r"(?:a|\bb)*+", True),
        (r"(?:a|b(?!c)){2,}+", True),
        (r"(?:a|b[0-9]{1,2}c)++b1", True),
        (r"(?:b[ ]*+c)++b", True),
        (r"(?:>|(?:[-+]|[0-9]{1,9}[.)])[ \t])*+", True),
        (r"(?:a|b[ ]*+c|b)*+ d", False),
        (r"(?:-[ \t]*+){3,}+", False),
        (r"(?:[^\\]|\\.)*+", False),
        (r"(?=a)(?:ab)*+", False),
        (r"(?:a(?=b)b)*ac", False),
        (r"a*+(?=b)", False),
    ],
)
def test_expression_that_is_matched_wrongly_is_found(pattern: str, wrongly: bool) -> None:
    assert is_matched_wrongly(pattern) is wrongly


def patterns_in(module: ModuleType) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The expressions of a module and of its classes by name, also those in containers."""
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    for owner in (module, *classes):
        for name, value in vars(owner).items():
            if isinstance(value, Mapping):
                held = [*value.keys(), *value.values()]
            elif isinstance(value, list | tuple | set | frozenset):
                held = [*value]
            else:
                held = [value]
            for each in held:
                for found in each if isinstance(each, tuple) else (each,):
                    if isinstance(found, re.Pattern):
                        yield name, found


def flags_of(node: ast.expr) -> int:
    """The flags that an argument names; 0 for anything else."""
    match node:
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return int(getattr(re, name))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return flags_of(left) | flags_of(right)
    return 0


def written_in(source: str) -> Iterator[tuple[int, str | bytes, int]]:
    """The expressions that are written in calls of `re`: the line, the pattern and the flags."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re")),
                args=[ast.Constant(value=str() | bytes() as pattern), *others],
            ):
                named = [each.value for each in node.keywords if each.arg == "flags"]
                yield node.lineno, pattern, sum(map(flags_of, (*named, *others)))


def test_no_expression_is_matched_wrongly() -> None:
    seen = 0
    wrong = []
    for module in modules():
        for name, pattern in patterns_in(module):
            seen += 1
            if is_matched_wrongly(pattern.pattern, pattern.flags & ~re.UNICODE):
                wrong.append(f"{module.__name__}.{name}")
    assert seen > 100
    assert wrong == []


def test_no_expression_that_is_written_in_a_call_is_matched_wrongly() -> None:
    source = 'def f(a):\n    return re.search(r"(?:a(?=b)b)*+ac", a, re.IGNORECASE)\n'
    assert [*written_in(source)] == [(2, "(?:a(?=b)b)*+ac", re.IGNORECASE)]
    source = 're.compile("a", flags=re.I | re.M)\nre.search("b", self.text)\n'
    assert [*written_in(source)] == [(1, "a", re.IGNORECASE | re.MULTILINE), (2, "b", 0)]
    found = [
        (f"{path}:{line}", pattern, flags)
        for path in shipped()
        for line, pattern, flags in written_in((ROOT / path).read_text())
    ]
    assert len(found) > 100
    assert [place for place, pattern, flags in found if is_matched_wrongly(pattern, flags)] == []


def raising_in_groups(source: str) -> list[int]:
    """The lines that raise another error in ``except*``: Python 3.11.2 wraps it in a group."""
    return [
        inner.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.TryStar)
        for handler in node.handlers
        for inner in ast.walk(handler)
        if isinstance(inner, ast.Raise) and inner.exc is not None
    ]


def test_line_that_raises_another_error_for_a_group_is_found() -> None:
    source = "try:\n a\nexcept* A:\n raise\ntry:\n a\nexcept* A as b:\n if c:\n  raise B from b\n"
    assert raising_in_groups(source) == [9]


def test_no_other_error_is_raised_for_a_group() -> None:
    found = {
        str(path): lines
        for path in shipped()
        if (lines := raising_in_groups((ROOT / path).read_text()))
    }
    assert found == {}

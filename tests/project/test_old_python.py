"""What Python 3.11.2, which Debian 12 has, does otherwise than later ones is not used."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any

import pytest

import octavo
from tests.project.source import ROOT

ASSERTIONS = (codes.ASSERT, codes.ASSERT_NOT, codes.AT)
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def modules() -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(octavo.__path__, "octavo."):
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


def test_no_expression_is_matched_wrongly() -> None:
    seen = 0
    wrong = []
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                seen += 1
                if is_matched_wrongly(value.pattern, value.flags & ~re.UNICODE):
                    wrong.append(f"{module.__name__}.{name}")
    assert seen > 100
    assert wrong == []


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
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "octavo").rglob("*.py")
        if (lines := raising_in_groups(path.read_text()))
    }
    assert found == {}

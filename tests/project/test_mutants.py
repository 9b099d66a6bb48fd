"""The faults that `make mutants` plants, besides those of Cosmic Ray."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest

from tests.project.source import ROOT
from tools.mutants import results, selection
from tools.mutants.operators import mutants_of
from tools.mutants.selection import AREAS, drawn, modules

PAGE = results.PAGE.read_text()


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.operator, mutant.source.strip()) for mutant in mutants_of(source).values()}


def in_text(sql: str) -> set[str]:
    """What becomes of a statement in a text."""
    return {
        str(ast.literal_eval(source.removeprefix("sql = ")))
        for _, source in changes(f"sql = {sql!r}\n")
    }


def test_one_condition_of_several_is_dropped() -> None:
    assert changes("x = a and b\n") == {
        ("DropCondition", "x = True and b"),
        ("DropCondition", "x = a and True"),
    }
    assert changes("x = a or b\n") == {
        ("DropCondition", "x = False or b"),
        ("DropCondition", "x = a or False"),
    }


def test_condition_with_a_negated_comparison_is_dropped() -> None:
    assert changes("x = a or not b > c\n") == {
        ("DropCondition", "x = False or not b > c"),
        ("DropCondition", "x = a or False"),
    }


def test_checks_and_refusals_are_left_out() -> None:
    source = "async def f():\n    check(1)\n    await require(2)\n    raise Refused\n"
    assert changes(source) == {
        ("LeaveOut", source.replace("check(1)", "pass").strip()),
        ("LeaveOut", source.replace("await require(2)", "pass").strip()),
        ("LeaveOut", source.replace("raise Refused", "pass").strip()),
    }
    # The place of a statement is counted in characters, not in bytes.
    assert changes("é = 'ü'; check('ö')\n") == {("LeaveOut", "é = 'ü'; pass")}


@pytest.mark.parametrize(
    ("sql", "mutants"),
    [
        (
            "SELECT a FROM t WHERE b = $1 AND c = $2",
            {"SELECT a FROM t WHERE TRUE AND c = $2", "SELECT a FROM t WHERE b = $1 AND TRUE "},
        ),
        (
            "DELETE FROM t WHERE a IN (SELECT b FROM u WHERE c = $1)",
            {
                "DELETE FROM t WHERE TRUE ",
                "DELETE FROM t WHERE a IN (SELECT b FROM u WHERE TRUE )",
            },
        ),
        (
            "SELECT a FROM t WHERE b BETWEEN $1 AND $2 OR c",
            # The second half of BETWEEN is no condition of its own.
            {
                "SELECT a FROM t WHERE TRUE OR c",
                "SELECT a FROM t WHERE b BETWEEN $1 AND $2 OR FALSE ",
            },
        ),
        (
            "SELECT a FROM t ORDER BY a, b LIMIT $1",
            {
                "SELECT a FROM t ORDER BY a DESC, b LIMIT $1",
                "SELECT a FROM t ORDER BY a, b LIMIT $1 + 1",
            },
        ),
        ("SELECT a FROM t ORDER BY a DESC", {"SELECT a FROM t ORDER BY a ASC"}),
        ("UPDATE t SET a = b <= c", {"UPDATE t SET a = b < c"}),
        ("SELECT NOT EXISTS (SELECT 1)", {"SELECT EXISTS (SELECT 1)"}),
        ("SELECT a IS NULL", {"SELECT a IS NOT NULL"}),
        ("no statement WHEREver", set()),
    ],
)
def test_statements_are_changed(sql: str, mutants: set[str]) -> None:
    assert in_text(sql) >= mutants
    assert all(mutant != sql for mutant in in_text(sql))
    assert len(in_text(sql)) == len(mutants)


def test_equal_mutants_are_made_once() -> None:
    source = "x = a is None\n"
    more = [("A", "x = a is not None\n"), ("B", "x = not a is None\n")]
    assert len(mutants_of(source, more)) == 1
    assert mutants_of(source, [("A", source), ("B", "x = (a is None)\n"), ("C", "x = (\n")]) == {}


def test_mutants_have_names_that_do_not_depend_on_other_lines() -> None:
    source = "check(1)\ncheck(1)\ncheck(2)\n"
    names = [*mutants_of(source)]
    assert names[1] == f"{names[0]}-2"
    assert names[2].count("-") == 0
    assert [*mutants_of(f"# More.\n\n{source}")] == names


def test_modules_and_their_tests_exist() -> None:
    found = {module: area for area, module in modules()}
    assert {area.name for area in found.values()} == {area.name for area in AREAS}
    for area in AREAS:
        for pattern in area.patterns:
            assert any(ROOT.glob(pattern)), pattern
    for module in found:
        places = selection.tests_of(module)
        assert places
        assert all((ROOT / place).exists() for place in places), (module, places)


def test_draws_differ_and_are_repeated() -> None:
    whole, part = (next(area for area in AREAS if area.whole == each) for each in (True, False))
    names = [f"{number}" for number in range(800)]
    assert drawn(names, whole, 1) == names
    assert 60 < len(drawn(names, part, 1)) < 140
    assert drawn(names, part, 1) == drawn(names, part, 1) != drawn(names, part, 2)


def test_equivalent_mutants_have_a_reason() -> None:
    known = tomllib.loads((ROOT / "tools/mutants/equivalent.toml").read_text())
    assert known
    judged = {module for _, module in modules()}
    for module, reasons in known.items():
        assert module in judged
        for name, reason in reasons.items():
            assert re.fullmatch(r"[0-9a-f]{12}(-[0-9]+)?", name), name
            assert len(reason) > 10


def test_table_has_the_scores_of_the_modules() -> None:
    lines = results.scores(results.read_results())
    assert len(lines) > 20
    assert results.replaced(PAGE, lines) == PAGE


def test_scores_leave_out_what_nobody_could_observe() -> None:
    area, module = next(modules())
    found = results.score(6, ["a", "b", "c"], {"b": "the same", "other": "of another fault"})
    _, _, total, row = results.rows([(area, module)], lambda _: found)
    assert total == f"| **{area.name}** | `9` | `6` | `1` | `2` | `75.0 %` |"
    assert row == f"| `{module}` | `9` | `6` | `1` | `2` | `75.0 %` |"


def test_faults_are_found_by_the_tests_that_run_them() -> None:
    # Of a process that has imported the module, the tests would not meet a mutant.
    script = """
from pathlib import Path
from tools.mutants.running import Stage, run

module = "octavo/model/etag.py"
source = Path(module).read_text()
stages = [Stage("few", ["tests/model/test_etag.py", "-k", "bounded"])]
endless = "while True: pass"
for text in (source, source.replace("> 2 * MOST_TAGS", ">= 2 * MOST_TAGS"), endless, "("):
    found = run(module, text, stages, 1 if text == endless else 30)
    print(found.outcome, found.by)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["survived ", "killed few", "killed time", "killed few"]

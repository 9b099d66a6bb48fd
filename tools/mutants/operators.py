"""The faults that are planted: a mutant is the text of a module with one change.

The operators here, which Cosmic Ray lacks, drop a condition, leave out a statement that only calls
something, and change statements of SQL in texts.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

_SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ORDER BY)\b")
# A condition ends where the next part of the statement begins, at its own depth of parentheses.
_ENDS = re.compile(
    r"\b(AND|OR|GROUP BY|ORDER BY|LIMIT|RETURNING|ON CONFLICT|UNION|INTERSECT|EXCEPT|WHERE|THEN"
    r"|WHEN|ELSE|END|DO|HAVING|FOR)\b"
)
# The `AND` that follows is none of conditions.
_BETWEEN = re.compile(r"\bBETWEEN\s+\S+\s+$")
_COMPARED = (
    (re.compile(r"(?<![<>=!])<(?![<>=])"), "<="),
    (re.compile(r"<="), "<"),
    (re.compile(r"(?<![<>=!-])>(?![<>=])"), ">="),
    (re.compile(r">="), ">"),
    (re.compile(r"<>"), "="),
    (re.compile(r"\bNOT EXISTS\b"), "EXISTS"),
    (re.compile(r"(?<!NOT )\bEXISTS\b(?= *\()"), "NOT EXISTS"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bLIMIT (\$\d+|\d+)"), r"LIMIT \1 + 1"),
    (re.compile(r"\bDESC\b"), "ASC"),
)


class Mutant(NamedTuple):
    """A module with one fault.

    Attributes:
        operator: what was changed.
        line: the number of the first line that differs, from 1.
        before: that line in the module.
        after: the line, or those lines, in the mutant.
        source: the text of the mutant.
    """

    operator: str
    line: int
    before: str
    after: str
    source: str

    @property
    def digest(self) -> str:
        """What identifies the change in its module: its operator, the lines before and after."""
        text = f"{self.operator}\0{self.before}\0{self.after}"
        return sha256(text.encode()).hexdigest()[:12]


class _Edit(NamedTuple):
    operator: str
    start: int
    end: int
    text: str


def mutants_of(source: str, more: Iterable[tuple[str, str]] = ()) -> dict[str, Mutant]:
    """Return the mutants of a module by what identifies them in it.

    ``more`` are mutants of other operators: names and texts. Those that do not compile, or mean the
    same as the module or as another one, are left out. A number tells equal changes apart.
    """
    tree = ast.parse(source)
    # It is changed on the way.
    known = {_dumped(ast.parse(source))}
    mutants = []
    for operator, mutated in (*more, *_of_edits(source, tree)):
        try:
            dumped = _dumped(ast.parse(mutated))
            compile(mutated, "mutant", "exec")
        except SyntaxError:
            continue
        if dumped not in known:
            known.add(dumped)
            mutants.append(_compared(operator, source, mutated))
    return _named(sorted(mutants, key=lambda mutant: mutant.line))


class _Plain(ast.NodeTransformer):
    """Writes what means the same in one way: a negated comparison is the opposite one."""

    _OPPOSITES = (
        (ast.Is, ast.IsNot),
        (ast.Eq, ast.NotEq),
        (ast.In, ast.NotIn),
        (ast.Lt, ast.GtE),
        (ast.Gt, ast.LtE),
    )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        compared = node.operand
        if isinstance(node.op, ast.Not) and isinstance(compared, ast.Compare):
            for one, other in self._OPPOSITES:
                for kind, opposite in ((one, other), (other, one)):
                    if len(compared.ops) == 1 and isinstance(compared.ops[0], kind):
                        return ast.Compare(compared.left, [opposite()], compared.comparators)
        return node


def _dumped(tree: ast.Module) -> str:
    return ast.dump(_Plain().visit(tree))


def _compared(operator: str, source: str, mutated: str) -> Mutant:
    before, after = source.splitlines(), mutated.splitlines()
    first = next(
        (
            number
            for number, (one, other) in enumerate(zip(before, after, strict=False))
            if one != other
        ),
        min(len(before), len(after)),
    )
    last = 0
    while last < min(len(before), len(after)) - first and before[-1 - last] == after[-1 - last]:
        last += 1
    return Mutant(
        operator,
        first + 1,
        "\n".join(before[first : len(before) - last]),
        "\n".join(after[first : len(after) - last]),
        mutated,
    )


def _of_edits(source: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    for edit in (*_dropped_conditions(source, tree), *_left_out(source, tree), *_of_sql(source)):
        yield edit.operator, source[: edit.start] + edit.text + source[edit.end :]


def _offsets(source: str) -> list[int]:
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return offsets


def _dropped_conditions(source: str, tree: ast.Module) -> Iterator[_Edit]:
    """Leave out one condition of several that `and` or `or` joins."""
    place = _places(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                # What changes nothing for the others.
                neutral = "True" if isinstance(node.op, ast.And) else "False"
                yield _Edit("DropCondition", *place(value), neutral)


def _left_out(source: str, tree: ast.Module) -> Iterator[_Edit]:
    """Leave out a statement that only calls something, and a refusal."""
    place = _places(source)
    for node in ast.walk(tree):
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Await | ast.Call)
        if called or (isinstance(node, ast.Raise) and node.exc is not None):
            assert isinstance(node, ast.stmt)
            yield _Edit("LeaveOut", *place(node), "pass")


def _places(source: str) -> "_Places":
    return _Places(source)


class _Places:
    """The offsets of a node in a text; columns of `ast` count bytes."""

    def __init__(self, source: str) -> None:
        self._lines = source.splitlines(keepends=True)
        self._offsets = _offsets(source)

    def __call__(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode()[:column].decode()
        return self._offsets[line - 1] + len(text)


def _of_sql(source: str) -> Iterator[_Edit]:
    offsets = _offsets(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and _SQL.search(token.string):
            start = offsets[token.start[0] - 1] + token.start[1]
            for edit in _of_statement(token.string):
                yield edit._replace(start=start + edit.start, end=start + edit.end)


def _of_statement(text: str) -> Iterator[_Edit]:
    for found in re.finditer(r"\b(AND|OR|WHERE)\b", text):
        end = _end_of_condition(text, found.end())
        if end > found.end() and not _BETWEEN.search(text, 0, found.start()):
            word = found[1]
            replacement = {"AND": "AND TRUE ", "OR": "OR FALSE ", "WHERE": "WHERE TRUE "}[word]
            yield _Edit("DropSqlCondition", found.start(), end, replacement)
    for found in re.finditer(r"\bORDER BY ([\w.]+(?:\([\w., ]*\))?)(?! (?:DESC|ASC))\b", text):
        yield _Edit("TurnOrder", found.end(), found.end(), " DESC")
    for pattern, replacement in _COMPARED:
        for found in pattern.finditer(text):
            yield _Edit("ChangeSql", found.start(), found.end(), found.expand(replacement))


def _end_of_condition(text: str, start: int) -> int:
    depth = 0
    position = start
    between = False
    end = len(text.rstrip("\"'"))
    while position < end:
        character = text[position]
        if character in "({":
            depth += 1
        elif character in ")}":
            if depth == 0:
                return position
            depth -= 1
        elif depth == 0 and (found := _ENDS.match(text, position)) and position > start:
            # The `AND` of BETWEEN belongs to the condition.
            if found[0] == "AND" and between:
                between = False
            else:
                return position
        elif depth == 0 and text.startswith("BETWEEN", position):
            between = True
        position += 1
    return position


def _named(mutants: Sequence[Mutant]) -> dict[str, Mutant]:
    named: dict[str, Mutant] = {}
    for mutant in mutants:
        name, number = mutant.digest, 1
        while name in named:
            number += 1
            name = f"{mutant.digest}-{number}"
        named[name] = mutant
    return named

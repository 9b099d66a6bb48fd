"""The mutants of Cosmic Ray: one replacement for each operator and literal of Python."""

import ast
import re
from collections.abc import Iterator

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

_DATACLASS = re.compile("dataclass|define")
OPERATORS = (
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "NumberReplacer",
    "ZeroIterationForLoop",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Lt_Gt",
    "ReplaceComparisonOperator_Gt_Lt",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_FloorDiv",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_BitAnd_BitOr",
)
"""One replacement of each operator of Python: more of them are found by the same tests."""


def cosmic_mutants(source: str) -> Iterator[tuple[str, str]]:
    """Return the name of the operator and the text of each mutant of a module."""
    nodes = list(ast_nodes(get_ast(source)))
    silent = _silent_lines(ast.parse(source))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        positions = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, ((line, column), _) in enumerate(positions):
            # Each number is followed by itself less one: one more is enough.
            if name == "NumberReplacer" and occurrence % 2:
                continue
            if any(start <= (line, column) < end for start, end in silent):
                continue
            mutated = mutate_code(source, operator, occurrence)
            if mutated is not None:
                yield name, mutated


def _silent_lines(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the places of what nothing depends on at run time, such as annotations."""
    silent: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
            silent += [one.annotation for one in every if one.annotation is not None]
            silent += [] if node.returns is None else [node.returns]
        elif isinstance(node, ast.ClassDef):
            # Whether a dataclass is frozen or has slots changes nothing for who uses it well.
            silent += [
                one
                for one in node.decorator_list
                if re.match(r"dataclass|define", ast.unparse(one))
            ]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
            silent.append(node)
        elif isinstance(node, ast.AnnAssign):
            silent.append(node.annotation)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            silent.append(node)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in silent
        if isinstance(one, ast.expr | ast.stmt)
    ]

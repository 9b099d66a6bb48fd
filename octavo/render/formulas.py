r"""Formulas: ``$…$`` and ``$$…$$`` as syntax, and LaTeX as MathML.

`latex2mathml` builds elements from what a person wrote without checking it: texts, lengths and
colours. Only its elements are used here, written with their texts escaped and their attributes
checked.
"""

import re
from html import unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from octavo.render.allowed import MATH, MATH_ATTRIBUTES
from octavo.render.html_writer import escaped, escaped_value

LONGEST_FORMULA = 2000
"""Characters of a formula that is translated."""
MAX_FORMULA_DEPTH = 40
"""Open braces, environments and delimiters in a formula."""
# Pandoc's rule, by which amounts of money are not formulas.
_INLINE = re.compile(r"\$(?![\s$])((?:[^$\\]|\\.)++)(?<!\s)\$(?![0-9])", re.DOTALL)
_DISPLAY = re.compile(r"\$\$((?:[^$\\]++|\\.|\$(?!\$))+)\$\$", re.DOTALL)
_SIGN = "$$"
# Macros expand to any length.
_MACRO = re.compile(r"\\(?:def|let|(?:re|provide)?newcommand|renewcommand|newenvironment|Declare)")
_NESTING = re.compile(r"\\(begin|left|end|right)(?![A-Za-z])|\\.|([{}])", re.DOTALL)
# Environments that the translator does not know, and those that look alike.
_ENVIRONMENT = re.compile(r"(?<!\\)(\\(?:begin|end)\{)(aligned|gathered|gather\*?)\}")
_ALIKE = {"aligned": "split", "gathered": "matrix", "gather": "matrix", "gather*": "matrix"}
# The remains of a macro or an environment that the translator does not know.
_LEFT = re.compile(r"\\[A-Za-z]+|&")
# Elements that browsers show wrongly with another number of children.
_CHILDREN = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_VALUE = re.compile(r"[A-Za-z0-9#.+\- ]{0,60}")


def inline_formula(state: StateInline, silent: bool) -> bool:
    """Parse ``$…$``, or ``$$…$$`` within a paragraph: a rule of the inline grammar."""
    display = _DISPLAY.match(state.src, state.pos, state.posMax)
    formula = display or _INLINE.match(state.src, state.pos, state.posMax)
    if formula is None:
        return False
    if not silent:
        token = state.push("formula_display" if display else "formula", "math", 0)
        token.content = formula[1].strip()
    state.pos = formula.end()
    return True


def block_formula(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """Parse a paragraph between two ``$$``, without blank lines: a rule of the block grammar."""
    at = state.bMarks[begin] + state.tShift[begin]
    if silent or not state.src.startswith(_SIGN, at) or state.is_code_block(begin):
        return False
    at += len(_SIGN)
    lines: list[str] = []
    for line in range(begin, end):
        if line > begin:
            at = state.bMarks[line] + state.tShift[line]
            if at >= state.eMarks[line] or state.sCount[line] < state.blkIndent:
                return False
        content, sign, after = state.src[at : state.eMarks[line]].partition(_SIGN)
        lines.append(content)
        if sign:
            if after.strip() or not "".join(lines).strip():
                return False
            token = state.push("formula_block", "math", 0)
            token.content = "\n".join(lines).strip()
            token.map = [begin, line + 1]
            state.line = line + 1
            return True
    return False


def mathml(source: str, *, display: bool) -> str | None:
    """Return a formula as MathML; None for one that is not understood or too long.

    Args:
        source: LaTeX without its signs.
        display: whether the formula is on a line of its own.
    """
    if len(source) > LONGEST_FORMULA or _MACRO.search(source):
        return None
    depth = _depth(source)
    if depth is None or depth > MAX_FORMULA_DEPTH:
        return None
    known = _ENVIRONMENT.sub(lambda written: f"{written[1]}{_ALIKE[written[2]]}}}", source)
    try:
        root = convert_to_element(known, display="block" if display else "inline")
    # For a formula that it does not understand, the translator raises any exception.
    except Exception:  # noqa: BLE001
        return None
    del root.attrib["xmlns"]
    parts: list[str] = []
    try:
        _write(root, parts, ampersands=r"\&" in source)
    except (ValueError, RecursionError):
        return None
    return "".join(parts)


def _depth(source: str) -> int | None:
    """Return how deeply braces and environments are nested; None if one lacks its counterpart."""
    deepest = depth = 0
    for sign in _NESTING.finditer(source):
        if sign[1] in ("begin", "left") or sign[2] == "{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign[1] or sign[2]:
            depth -= 1
            if depth < 0:
                return None
    return None if depth else deepest


def _write(element: Element, parts: list[str], *, ampersands: bool) -> None:
    if element.tag not in MATH:
        raise ValueError(element.tag)
    if len(element) != _CHILDREN.get(element.tag, len(element)):
        raise ValueError(f"{element.tag} has {len(element)} children")
    parts.append(f"<{element.tag}")
    for name, value in element.attrib.items():
        if name in MATH_ATTRIBUTES and _VALUE.fullmatch(value):
            parts.append(f' {name}="{escaped_value(value)}"')
    parts.append(">")
    if element.text:
        # The translator adds character references to the text of a person.
        text = unescape(element.text)
        if element.tag == "mi" and _LEFT.fullmatch(text) and not (text == "&" and ampersands):
            raise ValueError(text)
        parts.append(escaped(text))
    for child in element:
        _write(child, parts, ampersands=ampersands)
    parts.append(f"</{element.tag}>")

"""Footnotes as syntax: ``[^label]`` with its definition, and ``^[text]``.

The definitions and their place at the end are those of mdit-py-plugins. References are parsed
here: its rule scans the rest of a paragraph for each bracket, and nests without a limit.
"""

import re

from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote.index import footnote_def, footnote_tail

LONGEST_LABEL = 100
_LABEL = re.compile(rf"\[\^([^\[\]\s]{{1,{LONGEST_LABEL}}})\]")
_DEFINED = re.compile(rf"{_LABEL.pattern}:")
_INLINE = re.compile(r"\^\[((?:[^\[\]\\]++|\\.|\[\[[^\[\]\n]++\]\]|\[[^\[\]]*+\])+)\]", re.DOTALL)


def footnote_definition(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """Parse the definition of a footnote: a rule of the block grammar."""
    at = state.bMarks[begin] + state.tShift[begin]
    return _DEFINED.match(state.src, at, state.eMarks[begin]) is not None and footnote_def(
        state, begin, end, silent
    )


def footnote_reference(state: StateInline, silent: bool) -> bool:
    """Parse a reference to a footnote that is defined: a rule of the inline grammar.

    Like a wiki link, it does not end a standard link around it.
    """
    footnotes = state.env.get("footnotes")
    if silent or footnotes is None:
        return False
    found = _LABEL.match(state.src, state.pos, state.posMax)
    if found is None or (number := footnotes["refs"].get(f":{found[1]}")) is None:
        return False
    notes = footnotes["list"]
    if number < 0:
        number = footnotes["refs"][f":{found[1]}"] = len(notes)
        notes[number] = {"label": found[1], "count": 0}
    token = state.push("footnote_ref", "", 0)
    token.meta = {"id": number, "subId": notes[number]["count"]}
    notes[number]["count"] += 1
    state.pos = found.end()
    return True


def inline_footnote(state: StateInline, silent: bool) -> bool:
    """Parse ``^[text]``, whose text has brackets of links only: a rule of the inline grammar."""
    found = _INLINE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        footnotes = state.env.setdefault("footnotes", {"refs": {}, "list": {}})
        number = len(footnotes["list"])
        tokens: list[Token] = []
        footnotes["list"][number] = {"content": found[1], "tokens": tokens}
        state.md.inline.parse(found[1], state.md, state.env, tokens)
        token = state.push("footnote_ref", "", 0)
        token.meta = {"id": number, "subId": 0}
    state.pos = found.end()
    return True


def move_footnotes(state: StateCore) -> None:
    """Move the footnotes that are referred to to the end, and remove the others."""
    footnotes = state.env.get("footnotes")
    if footnotes is not None:
        footnotes.setdefault("list", {})
        footnote_tail(state)

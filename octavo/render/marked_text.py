"""Highlighted text, ``==text==``, as inline syntax."""

from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

_SIGN = "="
_MARKER = ord(_SIGN)


def mark_delimiter(state: StateInline, silent: bool) -> bool:
    """Parse ``==``, a rule of the inline grammar; a run of more signs is text."""
    if silent:
        return False
    scanned = state.scanDelims(state.pos, True)
    if scanned.length != 2:
        state.append_pending(_SIGN * scanned.length)
        state.pos += scanned.length
        return True
    state.push("text", "", 0).content = _SIGN * 2
    # A length of 0 excludes these from the rule for runs of three in emphasis.
    state.delimiters.append(
        Delimiter(_MARKER, 0, len(state.tokens) - 1, -1, scanned.can_open, scanned.can_close)
    )
    state.pos += 2
    return True


def pair_marks(state: StateInline) -> None:
    """Turn pairs of delimiters into elements, after they were balanced."""
    groups = [state.delimiters]
    groups += (meta["delimiters"] for meta in state.tokens_meta if meta and "delimiters" in meta)
    for delimiters in groups:
        for opening in delimiters:
            if opening.marker != _MARKER or opening.end < 0:
                continue
            closing = delimiters[opening.end]
            _replace(state, opening, "mark_open", 1)
            _replace(state, closing, "mark_close", -1)


def _replace(state: StateInline, delimiter: Delimiter, kind: str, nesting: int) -> None:
    token = state.tokens[delimiter.token]
    token.type, token.tag, token.content = kind, "mark", ""
    token.nesting = 1 if nesting > 0 else -1

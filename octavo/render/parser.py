"""Markdown as tokens: CommonMark with HTML, the extensions of GitHub, and those of Obsidian.

The parser is markdown-it-py, which implements CommonMark 0.31.2; tables, strikethrough and tasks
follow GitHub (GFM 0.29). Footnotes, formulas, highlighted text, wiki links, embeds and callouts
have modules of their own.
"""

import re
from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt, rules_inline
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from mdit_py_plugins.footnote.index import footnote_def, footnote_tail

from octavo.render.allowed import FOREIGN, LEFT_OUT
from octavo.render.formulas import block_formula, inline_formula
from octavo.render.limits import LIMITS, check_renderable
from octavo.render.obsidian import embed, find_block_ids, find_callouts, wiki_link

# The definitions and their place at the end are those of mdit-py-plugins. References are parsed
# here: its rule scans the rest of a paragraph for each bracket, and nests without a limit.
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


def footnote_reference(state: rules_inline.StateInline, silent: bool) -> bool:
    """Parse a reference to a footnote that is defined: a rule of the inline grammar.

    Like a wiki link, it does not end a standard link around it.
    """
    footnotes = state.env.get("footnotes")
    if silent or footnotes is None:
        return False
    label = _LABEL.match(state.src, state.pos, state.posMax)
    if label is None or (number := footnotes["refs"].get(f":{label[1]}")) is None:
        return False
    notes = footnotes["list"]
    if number < 0:
        number = footnotes["refs"][f":{label[1]}"] = len(notes)
        notes[number] = {"label": label[1], "count": 0}
    token = state.push("footnote_ref", "", 0)
    token.meta = {"id": number, "subId": notes[number]["count"]}
    notes[number]["count"] += 1
    state.pos = label.end()
    return True


def inline_footnote(state: rules_inline.StateInline, silent: bool) -> bool:
    """Parse ``^[text]``, whose text has brackets of links only: a rule of the inline grammar."""
    footnote = _INLINE.match(state.src, state.pos, state.posMax)
    if footnote is None:
        return False
    if not silent:
        footnotes = state.env.setdefault("footnotes", {"refs": {}, "list": {}})
        number = len(footnotes["list"])
        tokens: list[Token] = []
        footnotes["list"][number] = {"content": footnote[1], "tokens": tokens}
        state.md.inline.parse(footnote[1], state.md, state.env, tokens)
        token = state.push("footnote_ref", "", 0)
        token.meta = {"id": number, "subId": 0}
    state.pos = footnote.end()
    return True


def move_footnotes(state: StateCore) -> None:
    """Move the footnotes that are referred to to the end, and remove the others."""
    footnotes = state.env.get("footnotes")
    if footnotes is not None:
        footnotes.setdefault("list", {})
        footnote_tail(state)


_SIGN = "="
_MARKER = ord(_SIGN)


def mark_delimiter(state: rules_inline.StateInline, silent: bool) -> bool:
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


def pair_marks(state: rules_inline.StateInline) -> None:
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


def _replace(
    state: rules_inline.StateInline, delimiter: Delimiter, kind: str, nesting: int
) -> None:
    token = state.tokens[delimiter.token]
    token.type, token.tag, token.content = kind, "mark", ""
    token.nesting = 1 if nesting > 0 else -1


InlineRule = Callable[[rules_inline.StateInline, bool], bool]

_BLOCKS = (
    *("blockquote", "code", "fence", "heading", "hr", "html_block", "lheading", "list"),
    *("reference", "table"),
)
_COMMONMARK: dict[str, tuple[InlineRule, ...]] = {
    "\n": (rules_inline.newline,),
    "\\": (rules_inline.escape,),
    "`": (rules_inline.backtick,),
    "*": (rules_inline.emphasis.tokenize,),
    "_": (rules_inline.emphasis.tokenize,),
    "[": (rules_inline.link,),
    "!": (rules_inline.image,),
    "<": (rules_inline.autolink, rules_inline.html_inline),
    "&": (rules_inline.entity,),
}
"""The rules of inline content by the character that they begin with."""
_EXTENDED: dict[str, tuple[InlineRule, ...]] = {
    **_COMMONMARK,
    "~": (rules_inline.strikethrough.tokenize,),
    "=": (mark_delimiter,),
    "[": (wiki_link, footnote_reference, rules_inline.link),
    "!": (embed, rules_inline.image),
    "^": (inline_footnote,),
    "$": (inline_formula,),
}
# Where text ends: at the characters of the rules, where they can begin something. Labels of links
# are searched for their closing bracket.
_END_OF_TEXT = re.compile(r"[\n\\`*_\[\]<&~$]|!(?=\[)|\^(?=\[)|==")
_LEFT_OUT = re.compile(
    rf"<(?:(/?)({'|'.join(sorted(LEFT_OUT - FOREIGN))})(?![^\s/>])"
    rf"|(/?)({'|'.join(sorted(FOREIGN))})(?![^\s/>])(?!.*/>\Z))",
    re.IGNORECASE | re.DOTALL,
)
# A list takes two levels, its own and its item's. The parser omits blocks below this depth.
_DEEPEST_BLOCK = 2 * LIMITS["nesting"] + 2
# Deeper markup remains text. Each bracket causes up to this many scans of the rest.
_DEEPEST_INLINE = 20


def parse(text: str, *, extended: bool = True) -> list[Token]:
    """Parse the Markdown of a note; a paragraph's tokens are the children of its token.

    Addresses of links are those written, with their escapes and references decoded. Equal texts
    give equal tokens. Parsing may hold the interpreter for seconds; a server must run it in a
    separate process.

    Args:
        text: the Markdown, without front matter.
        extended: whether there is more than CommonMark.

    Raises:
        UnrenderableNote: before parsing, if the text exceeds a limit of the grammar
            (`octavo.render.limits.check_renderable`).
    """
    check_renderable(text)
    return _grammar(extended=extended).parse(text)


def _without_left_out(inlines: list[Token]) -> list[Token]:
    """Remove the content of scripts and the like, which is neither shown nor described."""
    tags = [_LEFT_OUT.match(token.content) for token in inlines if token.type == "html_inline"]
    if not any(tags):
        return inlines
    kept: list[Token] = []
    name = ""
    for token in inlines:
        tag = _LEFT_OUT.match(token.content) if token.type == "html_inline" else None
        tag_name = "" if tag is None else (tag[2] or tag[4]).lower()
        if tag is not None and tag_name == (name or tag_name):
            name = "" if tag[1] or tag[3] else tag_name
        elif name and not token.nesting:
            continue
        kept.append(token)
    return kept


class _Inlines(ParserInline):
    """Tries only the rules that begin with the next character."""

    def __init__(self, rules: dict[str, tuple[InlineRule, ...]]) -> None:
        super().__init__()
        self._rules = rules
        self.ruler2.before("emphasis", "marks", pair_marks)
        self.ruler2.enableOnly(["balance_pairs", "strikethrough", "marks", "emphasis"])

    def tokenize(self, state: rules_inline.StateInline) -> None:
        """Add the tokens of the state's range."""
        source, end, rules = state.src, state.posMax, self._rules
        while (at := state.pos) < end:
            special = _END_OF_TEXT.search(source, at, end)
            stop = end if special is None else special.start()
            if stop > at:
                state.append_pending(source[at:stop])
                state.pos = stop
                continue
            if state.level < _DEEPEST_INLINE:
                for rule in rules.get(source[at], ()):
                    if rule(state, False):
                        break
                else:
                    state.append_pending(source[at])
                    state.pos = at + 1
            else:
                state.append_pending(source[at])
                state.pos = at + 1
        if state.pending:
            state.pushPending()

    def skipToken(self, state: rules_inline.StateInline) -> None:  # noqa: N802
        """Move behind the next token, or the next character of text."""
        at = state.pos
        known = state.cache.get(at)
        if known is not None:
            state.pos = known
            return
        if state.level >= _DEEPEST_INLINE:
            state.pos = state.posMax
        else:
            self._skip(state, at)
        state.cache[at] = state.pos

    def _skip(self, state: rules_inline.StateInline, at: int) -> None:
        special = _END_OF_TEXT.search(state.src, at, state.posMax)
        stop = state.posMax if special is None else special.start()
        if stop > at:
            state.pos = stop
            return
        state.level += 1
        for rule in self._rules.get(state.src[at], ()):
            if rule(state, True):
                break
        else:
            state.pos = at + 1
        state.level -= 1


class _Grammar(MarkdownIt):
    """Leaves addresses as they are written: they are also paths of files."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, url: str) -> str:  # noqa: N802
        return url


@cache
def _grammar(*, extended: bool) -> MarkdownIt:
    # A parser has one depth limit for both, so blocks and inlines each have a parser.
    options = {"html": True, "tasklists": extended}
    blocks = _Grammar("zero", {**options, "maxNesting": _DEEPEST_BLOCK}).enable(_BLOCKS)
    inlines = _Grammar("zero", {**options, "maxNesting": _DEEPEST_INLINE})
    inlines.inline = _Inlines(_EXTENDED if extended else _COMMONMARK)

    def parse_inlines(state: StateCore) -> None:
        for token in state.tokens:
            if token.type != "inline":
                continue
            if _END_OF_TEXT.search(token.content) is None:
                # Most cells of tables, and many items, are plain.
                text = Token("text", "", 0, content=token.content)
                token.children = [text] if token.content else []
            else:
                token.children = _without_left_out(
                    inlines.inline.parse(token.content, inlines, state.env, [])
                )

    blocks.core.ruler.at("inline", parse_inlines)
    if extended:
        blocks.block.ruler.before(
            "reference", "footnote_def", footnote_definition, {"alt": ["paragraph", "reference"]}
        )
        blocks.block.ruler.before("fence", "formula", block_formula)
        blocks.core.ruler.before("inline", "callouts", find_callouts)
        blocks.core.ruler.before("inline", "block_ids", find_block_ids)
        blocks.core.ruler.after("inline", "footnotes", move_footnotes)
    else:
        blocks.disable(["table"])
    return blocks

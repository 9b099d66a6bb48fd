"""Tokens of Markdown as HTML, before it is sanitised.

`Renderer` writes the tokens of a note in order, and collects what else a page shows of it: the
references, the outline and the number of words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from markdown_it.token import Token

from octavo.render.allowed import ALIGNMENTS
from octavo.render.formulas import mathml
from octavo.render.highlighting import highlighted
from octavo.render.html_writer import HtmlWriter, escaped, escaped_value
from octavo.render.link_writer import LinkWriter, is_image, name_of
from octavo.render.obsidian import META, WikiLink, sized
from octavo.render.references import FileReference
from octavo.render.rendered_note import OutlineHeading
from octavo.render.written_html import write_html

_TEXTS = frozenset(
    {"code_inline", "embed", "formula", "formula_display", "text", "text_special", "wiki_link"}
)


def plain_text(inlines: Iterable[Token]) -> str:
    """Return the text of inline tokens on one line, without HTML and numbers of footnotes."""
    return " ".join("".join(map(_text, inlines)).split())


def _text(token: Token) -> str:
    if token.type in _TEXTS:
        return token.content
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return sized(plain_text(token.children or ())).text
    return ""


def first_words(text: str, longest: int) -> str:
    """Return the beginning of ``text``, cut after a word to at most ``longest`` characters."""
    if len(text) <= longest:
        return text
    beginning = text[: longest - 1]
    if not text[longest - 1].isspace():
        # A text without spaces is cut anywhere.
        beginning = beginning.rpartition(" ")[0] or beginning
    return f"{beginning.rstrip(' ,;:.-')}…"


MAX_HIGHLIGHTED = 100_000
"""Characters of code that are highlighted in a note; further blocks are plain."""
MAX_FORMULAS = 2000
"""Formulas that are translated in a note; of further ones, the source is shown."""
MAX_TRANSLATED = 50_000
"""Characters of formulas that are translated in a note."""
_LOWEST_HEADING = 6
_BACK = "\u21a9\ufe0e"
_ELEMENTS = {
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "em": "em",
    "list_item": "li",
    "mark": "mark",
    "ordered_list": "ol",
    "paragraph": "p",
    "s": "s",
    "strong": "strong",
    "table": "table",
    "tbody": "tbody",
    "td": "td",
    "th": "th",
    "thead": "thead",
    "tr": "tr",
}
# Elements with other blocks in them; their tags are on lines of their own.
_CONTAINERS = frozenset({"blockquote", "ol", "table", "tbody", "thead", "tr", "ul"})
_INLINE = frozenset({"em", "mark", "s", "strong"})


class Renderer:
    """Writes the HTML of one note.

    Attributes:
        outline: its headings, without those in footnotes.
        words: the number of words in its text, without code.
    """

    def __init__(self, anchors: Mapping[str, str], lower_headings: int) -> None:
        """Args: the anchors of the note, and how many levels lower its headings are shown."""
        self.outline: list[OutlineHeading] = []
        self.words = 0
        self._lower = lower_headings
        self._writer = HtmlWriter()
        self._links = LinkWriter(self._writer, anchors)
        self._tokens: Sequence[Token] = ()
        # For each open link of Markdown, whether it was written.
        self._written_links: list[bool] = []
        self._in_footnotes = False
        self._highlighted = self._formulas = self._translated = 0
        self._rules = self._table_of_rules()

    @property
    def references(self) -> tuple[FileReference, ...]:
        """Return the files that the note refers to, each once, in the order of their numbers."""
        return self._links.references

    def render(self, tokens: Sequence[Token]) -> str:
        """Return the HTML of the blocks of a note. To be called once."""
        self._tokens = tokens
        rules, parts = self._rules, self._writer.parts
        was_hidden = False
        for at, token in enumerate(tokens):
            # The text of a tight item, and a block after it.
            if was_hidden and token.nesting >= 0 and token.type != "inline":
                parts.append("\n")
            was_hidden = token.hidden
            rules[token.type](token, at)
        return self._writer.html()

    def write_inlines(self, tokens: Sequence[Token]) -> None:
        """Write the inline content of a block."""
        writer, rules = self._writer, self._rules
        for at, token in enumerate(tokens):
            kind = token.type
            if kind == "text":
                if token.content:
                    self.words += len(token.content.split())
                    writer.text(token.content)
            else:
                rules[kind](token, at)

    # Blocks

    def _table_of_rules(self) -> dict[str, Callable[[Token, int], None]]:
        rules: dict[str, Callable[[Token, int], None]] = {
            "inline": self._inline,
            "text": self._text,
            "text_special": self._text,
            "code_inline": self._code_inline,
            "code_block": self._code_block,
            "fence": self._fence,
            "hr": self._rule,
            "html_block": self._html,
            "html_inline": self._html,
            "softbreak": self._soft_break,
            "hardbreak": self._hard_break,
            "link_open": self._link_open,
            "link_close": self._link_close,
            "image": self._image,
            "wiki_link": self._wiki_link,
            "embed": self._embed,
            "formula": self._formula,
            "formula_display": self._formula,
            "formula_block": self._formula_block,
            "footnote_ref": self._footnote_reference,
            "footnote_block_open": self._footnotes_open,
            "footnote_block_close": self._footnotes_close,
            "footnote_open": self._footnote_open,
            "footnote_close": self._footnote_close,
            "footnote_anchor": self._footnote_anchor,
            "callout_open": self._callout_open,
            "callout_close": self._callout_close,
            "callout_title_open": self._callout_title_open,
            "callout_title_close": self._callout_title_close,
            "heading_open": self._heading_open,
            "heading_close": self._heading_close,
        }
        for name in _ELEMENTS:
            rules[f"{name}_open"], rules[f"{name}_close"] = self._open, self._close
        rules["paragraph_open"] = self._paragraph_open
        rules["list_item_open"] = self._item_open
        for name in ("td", "th"):
            rules[f"{name}_open"] = self._cell_open
        return rules

    def _open(self, token: Token, at: int) -> None:
        start = token.attrs.get("start")
        self._writer.open(token.tag, "" if start is None else f' start="{start}"')
        if token.tag in _CONTAINERS:
            self._writer.parts.append("\n")

    def _close(self, token: Token, at: int) -> None:
        if token.hidden:
            return
        self._writer.close(token.tag)
        if token.tag not in _INLINE:
            self._writer.parts.append("\n")

    def _paragraph_open(self, token: Token, at: int) -> None:
        if token.hidden:
            return
        self._writer.open("p", _block_id(self._tokens[at + 1]))
        if at and self._tokens[at - 1].type == "list_item_open":
            self._check_box(self._tokens[at - 1])

    def _item_open(self, token: Token, at: int) -> None:
        following = self._tokens[at + 1]
        attributes = ' class="task"' if "checked" in token.meta else ""
        if following.hidden:
            attributes += _block_id(self._tokens[at + 2])
        self._writer.open("li", attributes)
        if following.type != "paragraph_open" or following.hidden:
            self._check_box(token)
        if not following.hidden and following.type != "list_item_close":
            self._writer.parts.append("\n")

    def _check_box(self, item: Token) -> None:
        if "checked" in item.meta:
            checked, label = ("", "To do")
            if item.meta["checked"]:
                checked, label = (' checked=""', "Done")
            self._writer.void(f'<input type="checkbox" disabled=""{checked} aria-label="{label}"> ')

    def _cell_open(self, token: Token, at: int) -> None:
        style = str(token.attrs.get("style", ""))
        align = ALIGNMENTS.get(style.removeprefix("text-align:"))
        self._writer.open(token.tag, f' class="{align}"' if align else "")

    def _heading_open(self, token: Token, at: int) -> None:
        level = min(_LOWEST_HEADING, int(token.tag[1]) + self._lower)
        anchor = str(token.attrs["id"])
        self._writer.open(f"h{level}", f' id="{escaped_value(anchor)}"' if anchor else "")
        if not self._in_footnotes:
            text = plain_text(self._tokens[at + 1].children or ())
            self.outline.append(OutlineHeading(level, text, anchor))

    def _heading_close(self, token: Token, at: int) -> None:
        self._writer.close(f"h{min(_LOWEST_HEADING, int(token.tag[1]) + self._lower)}")
        self._writer.parts.append("\n")

    def _rule(self, token: Token, at: int) -> None:
        self._writer.void("<hr>\n", "hr")

    def _inline(self, token: Token, at: int) -> None:
        self.write_inlines(token.children or ())

    def _code_block(self, token: Token, at: int) -> None:
        self._writer.void(f"<pre><code>{escaped(token.content)}</code></pre>\n", "pre")

    def _fence(self, token: Token, at: int) -> None:
        code, language = token.content, token.info.split(maxsplit=1)[:1]
        html = None
        if language and self._highlighted + len(code) <= MAX_HIGHLIGHTED:
            html = highlighted(code, language[0])
            self._highlighted += 0 if html is None else len(code)
        html = escaped(code) if html is None else html
        self._writer.void(f"<pre><code>{html}</code></pre>\n", "pre")

    def _callout_open(self, token: Token, at: int) -> None:
        state = ' open=""' if token.meta["open"] else ""
        self._writer.open(_callout(token), f' class="callout callout-{token.info}"{state}')
        self._writer.parts.append("\n")

    def _callout_close(self, token: Token, at: int) -> None:
        self._writer.close(_callout(token))
        self._writer.parts.append("\n")

    def _callout_title_open(self, token: Token, at: int) -> None:
        self._writer.open("summary" if token.meta["folds"] else "p", ' class="callout-title"')

    def _callout_title_close(self, token: Token, at: int) -> None:
        self._writer.close("summary" if token.meta["folds"] else "p")
        self._writer.parts.append("\n")

    # Footnotes

    def _footnotes_open(self, token: Token, at: int) -> None:
        self._writer.close_all()
        self._in_footnotes = True
        self._writer.open("section", ' class="footnotes"')
        self._writer.parts.append("\n")
        self._writer.open("ol")
        self._writer.parts.append("\n")

    def _footnotes_close(self, token: Token, at: int) -> None:
        self._writer.close("ol")
        self._writer.parts.append("\n")
        self._writer.close("section")
        self._writer.parts.append("\n")

    def _footnote_open(self, token: Token, at: int) -> None:
        self._writer.open("li", f' id="fn:{token.meta["id"] + 1}"')

    def _footnote_close(self, token: Token, at: int) -> None:
        self._writer.close("li")
        self._writer.parts.append("\n")

    def _footnote_reference(self, token: Token, at: int) -> None:
        number = token.meta["id"] + 1
        if self._writer.is_within("a"):
            self._writer.void(f'<sup class="footnote">{number}</sup>')
            return
        self._writer.void(
            f'<sup class="footnote"><a href="#fn:{number}" id="{_source_id(token)}">{number}</a>'
            "</sup>"
        )

    def _footnote_anchor(self, token: Token, at: int) -> None:
        self._writer.void(f' <a href="#{_source_id(token)}" class="footnote-back">{_BACK}</a>')

    # Inline content

    def _text(self, token: Token, at: int) -> None:
        self._writer.text(token.content)

    def _soft_break(self, token: Token, at: int) -> None:
        self._writer.parts.append("\n")

    def _hard_break(self, token: Token, at: int) -> None:
        self._writer.void("<br>\n")

    def _code_inline(self, token: Token, at: int) -> None:
        self._writer.void(f"<code>{escaped(token.content)}</code>")

    def _html(self, token: Token, at: int) -> None:
        write_html(token.content, self._writer, self._links)

    def _link_open(self, token: Token, at: int) -> None:
        attributes = None
        if not self._writer.is_within("a"):
            attributes = self._links.link_attributes(
                str(token.attrs["href"]), str(token.attrs.get("title", ""))
            )
        self._written_links.append(attributes is not None)
        if attributes is not None:
            self._writer.open("a", attributes)

    def _link_close(self, token: Token, at: int) -> None:
        if self._written_links.pop():
            self._writer.close("a")

    def _wiki_link(self, token: Token, at: int) -> None:
        link: WikiLink = token.meta["link"]
        self.words += len(link.shown.split())
        self._links.file_link("wiki", False, link.target, link.heading, link.shown)

    def _embed(self, token: Token, at: int) -> None:
        link: WikiLink = token.meta["link"]
        shown = sized(link.label)
        if is_image(link.target):
            text = shown if shown.text else shown._replace(text=name_of(link.target))
            self._links.local_image("wiki", link.target, link.heading, text, "")
        else:
            label = shown.text or link._replace(label="").shown
            self._links.file_link("wiki", True, link.target, link.heading, label)

    def _image(self, token: Token, at: int) -> None:
        shown = sized(plain_text(token.children or ()))
        self._links.write_image(str(token.attrs["src"]), shown, str(token.attrs.get("title", "")))

    def _formula(self, token: Token, at: int) -> None:
        self._writer.void(self._translated_formula(token))

    def _formula_block(self, token: Token, at: int) -> None:
        self._writer.open("p")
        self._writer.void(self._translated_formula(token))
        self._writer.close("p")
        self._writer.parts.append("\n")

    def _translated_formula(self, token: Token) -> str:
        source = token.content
        translated = None
        if self._formulas < MAX_FORMULAS and self._translated + len(source) <= MAX_TRANSLATED:
            self._formulas += 1
            self._translated += len(source)
            translated = mathml(source, display=token.type != "formula")
        return f"<code>{escaped(source)}</code>" if translated is None else translated


def _callout(token: Token) -> str:
    return "details" if token.meta["folds"] else "div"


def _block_id(token: Token) -> str:
    """Return the attribute of a block with the text ``token``; empty without an id."""
    block_id = token.meta.get(META)
    return "" if block_id is None else f' id="{block_id}"'


def _source_id(token: Token) -> str:
    repeated = token.meta["subId"]
    number = token.meta["id"] + 1
    return f"fnref:{number}:{repeated + 1}" if repeated else f"fnref:{number}"

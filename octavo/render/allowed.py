"""The HTML that notes may become: the one list of elements, attributes, classes and schemes.

There is no script, style, form, frame or object, no attribute that runs or loads anything, and no
address that a page would load by itself, except images of the workspace. ``docs/security.md`` has
the same list for readers.
"""

from functools import cache
from typing import Final

import nh3

HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCKS: Final = HEADINGS | {
    *("blockquote", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "hr", "li", "ol"),
    *("p", "pre", "section", "summary", "table", "ul"),
}
"""Elements that end an open paragraph."""
TABLE_PARTS: Final = frozenset({"caption", "tbody", "td", "tfoot", "th", "thead", "tr"})
PHRASES: Final = frozenset(
    {
        *("a", "abbr", "b", "br", "cite", "code", "del", "dfn", "em", "i", "img", "input", "ins"),
        *("kbd", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strong", "sub"),
        *("sup", "time", "u", "var", "wbr"),
    }
)
MATH: Final = frozenset(
    {
        *("math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot"),
        *("mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd"),
        *("mtext", "mtr", "munder", "munderover"),
    }
)
LEFT_OUT: Final = frozenset({"iframe", "math", "noembed", "noframes", "script", "style", "svg"})
"""Elements that a person may not write, and whose content nobody would read as text."""
FOREIGN: Final = frozenset({"math", "svg"})
"""Elements of these that a slash ends."""
TAGS: Final = BLOCKS | TABLE_PARTS | PHRASES | MATH

# Attributes of a formula: lengths, alignments and switches, none with an address.
MATH_ATTRIBUTES: Final = frozenset(
    {
        *("accent", "columnalign", "columnlines", "columnspacing", "depth", "display"),
        *("displaystyle", "fence", "form", "height", "largeop", "linebreak", "linethickness"),
        *("lspace", "mathbackground", "mathcolor", "mathvariant", "maxsize", "minsize"),
        *("movablelimits", "notation", "rowlines", "rowspacing", "rspace", "scriptlevel"),
        *("stretchy", "voffset", "width"),
    }
)
LANGUAGE: Final = frozenset({"dir", "lang"})
"""Attributes of any element that a person may write."""
WRITTEN: Final = {
    "a": {"href", "title"},
    "abbr": {"title"},
    "dfn": {"title"},
    "details": {"open"},
    "img": {"alt", "height", "src", "title", "width"},
    "li": {"value"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan", "scope"},
    "time": {"datetime"},
    **{name: {"align"} for name in ("div", "p", *HEADINGS)},
}
"""Further attributes that a person may write in HTML, by element."""

CALLOUTS: Final = (
    *("abstract", "bug", "danger", "example", "failure", "info", "note", "question", "quote"),
    *("success", "tip", "todo", "warning"),
)
"""The kinds of callouts that have a style of their own."""
CODE_CLASSES: Final = frozenset(
    {"c", "gd", "gh", "gi", "k", "m", "na", "nb", "nf", "nt", "nv", "o", "s"}
)
"""The classes of the tokens of highlighted code, those of Pygments."""
_CALLOUT_CLASSES = {"callout", *(f"callout-{kind}" for kind in CALLOUTS)}
ALIGNMENTS: Final = {side: f"align-{side}" for side in ("left", "center", "right")}
"""The values of the attribute align, and the classes that are written instead: HTML has no more
such attribute."""
_ALIGNED: Final = {name: set(ALIGNMENTS.values()) for name in WRITTEN if "align" in WRITTEN[name]}
CLASSES: Final = {
    **_ALIGNED,
    "a": {"embed", "footnote-back"},
    "details": _CALLOUT_CLASSES,
    "div": _CALLOUT_CLASSES | _ALIGNED["div"],
    "li": {"task"},
    "p": {"callout-title"} | _ALIGNED["p"],
    "section": {"footnotes"},
    "span": {"missing", *CODE_CLASSES},
    "summary": {"callout-title"},
    "sup": {"footnote"},
}
"""The classes by element: those of the style sheet."""

SCHEMES: Final = frozenset({"http", "https", "mailto"})
REFERENCE_SCHEME: Final = "octavo"
"""The scheme of addresses that `octavo.render.references.place_references` replaces."""

_OWN: Final = {
    "a": {"id"},
    "li": {"id"},
    "p": {"id"},
    **{name: {"id"} for name in HEADINGS},
    **{name: set(MATH_ATTRIBUTES) for name in MATH},
}
_VALUES: Final = {
    "img": {"loading": {"lazy"}},
    "input": {
        "type": {"checkbox"},
        "disabled": {""},
        "checked": {""},
        "aria-label": {"Done", "To do"},
    },
}
"""Attributes with one of a few values."""
_SCROLLED: Final = {name: {"tabindex": "0"} for name in ("pre", "table")}
"""Elements that may be wider than the page scroll by themselves, also by the keyboard."""
_ATTRIBUTES: Final = {
    name: ((set() if name in MATH else LANGUAGE) | WRITTEN.get(name, set()) | _OWN.get(name, set()))
    - {"align", *_VALUES.get(name, {})}
    for name in TAGS
}


def clean(html: str) -> str:
    """Return ``html`` with the allowed elements, attributes and addresses alone.

    This is the HTML of a rendered note: files of the workspace have addresses of the scheme
    ``octavo``, and addresses without a scheme are only fragments.
    """
    return _cleaner(placed=False).clean(html)


def clean_placed(html: str) -> str:
    """Return ``html`` with what is allowed after its references were placed.

    Addresses without a scheme are those of the page's site.
    """
    return _cleaner(placed=True).clean(html)


@cache
def _cleaner(*, placed: bool) -> nh3.Cleaner:
    schemes = SCHEMES if placed else SCHEMES | {REFERENCE_SCHEME}
    return nh3.Cleaner(
        tags=set(TAGS),
        attributes=_ATTRIBUTES,
        tag_attribute_values=_VALUES,
        set_tag_attribute_values=_SCROLLED,
        allowed_classes=CLASSES,
        url_schemes=set(schemes),
        url_relative="pass_through" if placed else _fragment,
        link_rel="noopener noreferrer",
    )


def _fragment(address: str) -> str | None:
    return address if address.startswith("#") else None

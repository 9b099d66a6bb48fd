"""Notes for the grammar tests, and the limit that each exceeds."""

from collections.abc import Iterator
from email.message import Message
from importlib.metadata import distributions
from typing import cast

from octavo.model.refusal import UnrenderableNote
from octavo.render.limits import check_renderable

PATHOLOGICAL = [
    *(
        "[",
        "]",
        "[]",
        "[a](",
        "[a](b",
        "[a](<b",
        '[a](b "',
        "![[",
        "![a](",
        "[a][",
        "[a][b]",
        "[[a]",
    ),
    *("*", "*a ", "a*", "*a_ ", "**a", "a**b", "*_", "_a_ ", "~~a", "~*", "`", "`a``b```c", "\\"),
    *("$", "$a ", "$$a$$ ", "$$\na\n$$\n", "==a", "a==", "%%", "%%\n", "[[", "[[a]]", "![[a|1]]"),
    *("^[", "^[a] ", "[^a", "[^1]: a\n", "[^1]: a\n\n[^1] ", "> [!a]- b\n", "> > [!a] b\n"),
    *("<b>", "</b>", "<div>\n", "<details>\n\n", "<!-- a -->", "<? ?>", '<a b="', "<a b c <"),
    *("&", "&amp;", "&#1;", "<", "<a", "<a:b", "<a@b> ", "<!--", "<?", "<![CDATA[", "!"),
    *(
        ">",
        "> a\n",
        "- a\n",
        "- a\n\n",
        "1. a\n",
        "- ",
        ">- 1. a\n",
        "* * * a\n",
        "  - a\n",
        "#",
        "a\n",
    ),
    *(
        "a\n===\n",
        "a\n---\n",
        "```\n",
        "~~~\n",
        "    a\n",
        "\t",
        "|",
        "|a",
        "a|b\n-|-\n",
        "|-|-|\n",
    ),
    *(
        "[a]: b\n",
        '[a]: b "\n',
        "[a]:\n",
        "[a]: <",
        "[a\n",
        "\n",
        " \n",
        "\r",
        "a\\\n",
        "(",
        "a  \n",
    ),
]
"""Units of text that cost most when they are repeated."""


def limit_of(text: str) -> str | None:
    """The name of the limit that a text exceeds."""
    try:
        check_renderable(text)
    except UnrenderableNote as refusal:
        return refusal.limit
    return None


def readmes() -> Iterator[str]:
    """The READMEs of the packages installed here, whatever their markup."""
    for distribution in distributions():
        # The interface removes this part from the message.
        text = cast(Message, distribution.metadata).get_payload()
        if isinstance(text, str):
            yield text


def nested(depth: int) -> str:
    """Nested lists, one line each."""
    return "".join(f"{'  ' * level}- a\n" for level in range(depth))


def table(columns: int, rows: int) -> str:
    """A table whose rows omit all cells but one."""
    return "".join(("|", "a|" * columns, "\n|", "-|" * columns, "\n", "b\n" * rows))

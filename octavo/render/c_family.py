"""A lexer for languages of the family of C.

Those of Pygments look for whole declarations at the start of each line, which takes quadratic time
for some texts: ten thousand characters of C# can take eight seconds.
"""

from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

_KEYWORDS = """
    abstract alignas alignof as assert async auto await base break case catch class const constexpr
    continue default delegate delete do else enum event explicit export extends extern final finally
    fixed for foreach friend get goto if implements import in inline instanceof interface internal
    is lock mutable namespace native new operator out override package params private protected
    public readonly record ref register return sealed set sizeof stackalloc static static_assert
    struct super switch synchronized template this throw throws transient try typedef typename
    typeof union unsafe using var virtual volatile when where while with yield
""".split()  # noqa: SIM905
_TYPES = """
    bool boolean byte char decimal double float int long object sbyte short signed size_t string
    uint ulong unsigned ushort void wchar_t
""".split()  # noqa: SIM905


class CFamilyLexer(RegexLexer):
    """Finds comments, strings, numbers, keywords and called names; each match is in one line."""

    name = "Family of C"
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment),
            (r"/\*", Comment, "comment"),
            (r"#[ \t]*[a-z]+[^\n]*", Comment.Preproc),
            (r'[@$LuUR]{0,2}"(?:[^"\\\n]|\\.)*"?', String),
            (r"'(?:[^'\\\n]|\\.){0,12}'", String),
            (
                r"0[xXbB][0-9a-fA-F_']+\w*|[0-9][0-9_']*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?\w*",
                Number,
            ),
            (r"@\w+", Name.Decorator),
            (words(_KEYWORDS, suffix=r"\b"), Keyword),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (words(("false", "null", "nullptr", "true"), suffix=r"\b"), Keyword.Constant),
            (r"\w++(?=\()", Name.Function),
            (r"\w++", Name),
            (r"[-+*/%&|^!<>=?:~]+", Operator),
            (r".", Text),
        ],
        "comment": [(r"[^*]+", Comment), (r"\*/", Comment, "#pop"), (r"\*", Comment)],
    }

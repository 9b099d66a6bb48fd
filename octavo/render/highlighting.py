"""Code with its tokens in elements of a few classes, by the lexers of Pygments."""

from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import ClassVar

from pygments import token
from pygments.lexer import Lexer, RegexLexer, words
from pygments.lexers import get_lexer_by_name

from octavo.render.html_writer import escaped

# Those of Pygments search each line for the start of a whole declaration. That takes quadratic time
# for some texts: ten thousand characters of C# can take eight seconds.
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
            (r"\s+", token.Text),
            (r"//[^\n]*", token.Comment),
            (r"/\*", token.Comment, "comment"),
            (r"#[ \t]*[a-z]+[^\n]*", token.Comment.Preproc),
            (r'[@$LuUR]{0,2}"(?:[^"\\\n]|\\.)*"?', token.String),
            (r"'(?:[^'\\\n]|\\.){0,12}'", token.String),
            (
                r"0[xXbB][0-9a-fA-F_']+\w*|[0-9][0-9_']*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?\w*",
                token.Number,
            ),
            (r"@\w+", token.Name.Decorator),
            (words(_KEYWORDS, suffix=r"\b"), token.Keyword),
            (words(_TYPES, suffix=r"\b"), token.Keyword.Type),
            (words(("false", "null", "nullptr", "true"), suffix=r"\b"), token.Keyword.Constant),
            (r"\w++(?=\()", token.Name.Function),
            (r"\w++", token.Name),
            (r"[-+*/%&|^!<>=?:~]+", token.Operator),
            (r".", token.Text),
        ],
        "comment": [
            (r"[^*]+", token.Comment),
            (r"\*/", token.Comment, "#pop"),
            (r"\*", token.Comment),
        ],
    }


LONGEST_CODE = 10_000
"""Characters of a block that is highlighted."""
LONGEST_LINE = 1000
"""Characters of a line of such a block."""
# Other names lead to lexers that few need, some of which take long for some texts.
LANGUAGES = frozenset(
    {
        *("bash", "c", "c#", "c++", "clojure", "cmake", "cpp", "cs", "csharp", "css", "dart"),
        *("diff", "docker", "dockerfile", "elixir", "erlang", "fish", "go", "golang", "graphql"),
        *("haskell", "hs", "html", "http", "ini", "java", "javascript", "js", "json", "jsx"),
        *("julia", "kotlin", "latex", "less", "lisp", "lua", "make", "makefile"),
        *("nginx", "nix", "objective-c", "ocaml", "perl", "php", "powershell"),
        *("ps1", "py", "python", "r", "rb", "rs", "ruby", "rust", "scala", "scss", "sh", "shell"),
        *("sql", "swift", "tex", "toml", "ts", "tsx", "typescript", "vim", "xml"),
        *("yaml", "yml", "zig", "zsh"),
    }
)
"""The names of languages that are highlighted."""
_C_FAMILY = frozenset({"c", "c#", "c++", "cpp", "cs", "csharp", "java", "objective-c"})

_CLASSES: dict[token._TokenType, str] = {
    token.Token: "",
    token.Comment: "c",
    token.Generic.Deleted: "gd",
    token.Generic.Heading: "gh",
    token.Generic.Inserted: "gi",
    token.Generic.Subheading: "gh",
    token.Keyword: "k",
    token.Name: "",
    token.Name.Attribute: "na",
    token.Name.Builtin: "nb",
    token.Name.Class: "nf",
    token.Name.Decorator: "nf",
    token.Name.Function: "nf",
    token.Name.Tag: "nt",
    token.Name.Variable: "nv",
    token.Number: "m",
    token.Operator: "o",
    token.Operator.Word: "k",
    token.String: "s",
}


def highlighted(code: str, language: str) -> str | None:
    """Return ``code`` as HTML in which tokens have classes.

    Args:
        code: the code.
        language: its name as written after the fence.

    Returns:
        None for a language that is not in `LANGUAGES`, or a block that is too large.
    """
    language = language.lower()
    if language not in LANGUAGES or len(code) > LONGEST_CODE:
        return None
    if len(code) > LONGEST_LINE and max(map(len, code.split("\n"))) > LONGEST_LINE:
        return None
    classed = (
        (_class_of(kind), value) for _, kind, value in _lexer(language).get_tokens_unprocessed(code)
    )
    parts: list[str] = []
    for name, tokens in groupby(classed, key=itemgetter(0)):
        text = escaped("".join(value for _, value in tokens))
        parts.append(f'<span class="{name}">{text}</span>' if name and text else text)
    return "".join(parts)


@cache
def _lexer(language: str) -> Lexer:
    if language in _C_FAMILY:
        return CFamilyLexer()
    return get_lexer_by_name(language)


@cache
def _class_of(kind: token._TokenType) -> str:
    while kind not in _CLASSES:
        assert kind.parent is not None
        kind = kind.parent
    return _CLASSES[kind]

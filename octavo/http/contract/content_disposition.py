"""The header ``content-disposition`` of responses (RFC 6266)."""

import re
from typing import Literal
from urllib.parse import quote

# attr-char of RFC 8187 section 3.2.1, besides letters, digits and what quote() always keeps.
_UNQUOTED = "!#$&+^`|"
_NOT_PLAIN = re.compile(r'[^\x20-\x7e]|["\\%/]')


def content_disposition(kind: Literal["inline", "attachment"], name: str) -> bytes:
    """Return the header for a file ``name``, which browsers show (inline) or save.

    A name that is not plain ASCII is given twice: for old programs, with other characters replaced,
    and in UTF-8 (RFC 6266 appendix D).
    """
    plain = _NOT_PLAIN.sub("_", name)
    header = f'{kind}; filename="{plain}"'
    if plain != name:
        header += f"; filename*=UTF-8''{quote(name, safe=_UNQUOTED)}"
    return header.encode("ascii")

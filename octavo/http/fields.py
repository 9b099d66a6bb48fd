"""Request fields whose limits are in the API document but enforced by the domain model.

Pydantic does not check these constraints. The model refuses violations with specific codes, such as
``invalid_path``, where pydantic would cause ``invalid_request``.
"""

from typing import Annotated

from pydantic import Field

from octavo.model.access.account import LONGEST as LONGEST_ADDRESS
from octavo.model.files.path import LONGEST_PATH
from octavo.model.search.query import LONGEST_QUERY
from octavo.render.limits import LIMITS

_WITHOUT_NUL = "^[^\\u0000]*$"
_ETAG = '(W/)?"[\\x21\\x23-\\x7e\\x80-\\uffff]*"'
_ETAGS = f"[ \\t,]*{_ETAG}([ \\t]*,[ \\t,]*{_ETAG})*[ \\t,]*"

PathText = Annotated[
    str,
    Field(
        json_schema_extra={
            "minLength": 1,
            "maxLength": LONGEST_PATH,
            "pattern": '^[^\\u0000-\\u001f\\u007f"*:<>?\\\\|]+$',
        }
    ),
]
"""The path of a file; at most 1024 bytes in UTF-8."""

FolderPath = Annotated[str, Field(json_schema_extra={"pattern": _WITHOUT_NUL})]
"""A folder, or a prefix of paths; empty for all."""

MarkdownText = Annotated[
    str, Field(json_schema_extra={"maxLength": LIMITS["length"], "pattern": _WITHOUT_NUL})
]
"""The text of a note; at most 2 MiB in UTF-8."""

EmailAddress = Annotated[
    str,
    Field(
        max_length=1_000,
        json_schema_extra={"minLength": 3, "maxLength": LONGEST_ADDRESS, "format": "email"},
    ),
]
"""The address of an account, in upper or lower case."""


QueryText = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": LONGEST_QUERY})]
"""A search query."""

ExpectedHead = Annotated[str, Field(json_schema_extra={"pattern": f"^{_ETAGS}$"})]
"""The header ``if-match``: entity tags (RFC 9110 section 13.1.1), without ``*``."""

KnownHeads = Annotated[str, Field(json_schema_extra={"pattern": f"^[ \\t]*(\\*|{_ETAGS})[ \\t]*$"})]
"""The header ``if-none-match``: entity tags, or ``*`` (RFC 9110 section 13.1.2)."""


def label(longest: int) -> dict[str, int]:
    """Return the limits of a label of at most ``longest`` characters, for ``json_schema_extra``."""
    return {"minLength": 1, "maxLength": longest}

"""Parse media types (RFC 9110 section 8.3.1)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_BYTES = 1024
"""Bytes of a content-type header."""
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TYPE = re.compile(rb"[ \t]*(%b/%b)[ \t]*" % (_TOKEN, _TOKEN))
_PARAMETER = re.compile(
    rb';[ \t]*(?:(%b)=(?:(%b)|"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t -~\x80-\xff])*)"))?[ \t]*'
    % (_TOKEN, _TOKEN)
)
_ESCAPED = re.compile(rb"\\(.)")


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type: ``essence`` is ``type/subtype``; names are in lower case."""

    essence: str
    parameters: Mapping[str, bytes] = field(default_factory=dict)


def parse_media_type(value: bytes) -> MediaType | None:
    """Parse a content-type header; return None when it is invalid.

    A repeated parameter makes it invalid, since implementations differ on which one counts.
    """
    found = _TYPE.match(value) if len(value) <= MOST_BYTES else None
    if found is None:
        return None
    essence = found[1].decode("ascii").lower()
    parameters: dict[str, bytes] = {}
    position = found.end()
    while position < len(value):
        parameter = _PARAMETER.match(value, position)
        if parameter is None:
            return None
        position = parameter.end()
        if parameter[1] is None:
            continue
        name = parameter[1].decode("ascii").lower()
        if name in parameters:
            return None
        plain, quoted = parameter[2], parameter[3]
        parameters[name] = _ESCAPED.sub(rb"\1", quoted) if plain is None else plain
    return MediaType(essence, parameters)


def in_utf8(media_type: MediaType) -> bool:
    """Return whether text of ``media_type`` is UTF-8, which is the default without a charset."""
    return media_type.parameters.get("charset", b"utf-8").lower() in (b"utf-8", b"utf8")

"""Parse the content-disposition of form parts (RFC 7578 section 4.2) as browsers write it."""

import re
from typing import NamedTuple

_START = re.compile(rb"(?i)[ \t]*form-data[ \t]*")
_PARAMETER = re.compile(
    rb';[ \t]*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;" \t]+)[ \t]*'
)
# Browsers percent-encode quotes and line breaks (HTML, section 4.10.21.8), other clients use a
# backslash; before any other character a backslash is part of the file name.
_ESCAPE = re.compile(rb'%(?:22|0[Dd]|0[Aa])|\\["\\]')
_UNESCAPED = {b"%22": b'"', b"%0D": b"\r", b"%0A": b"\n", b'\\"': b'"', b"\\\\": b"\\"}


class Disposition(NamedTuple):
    """The name of a field, and the file name if it is a file."""

    name: str
    filename: str | None


def parse_disposition(value: bytes) -> Disposition | None:
    """Parse a content-disposition header; return None when it is malformed.

    It is malformed without a name, with two, or if not UTF-8. Other parameters are ignored,
    including ``filename*`` (forbidden by RFC 7578 section 4.2, but sent by some clients as well).
    """
    start = _START.match(value)
    if start is None:
        return None
    found: dict[bytes, str] = {}
    position = start.end()
    while position < len(value):
        parameter = _PARAMETER.match(value, position)
        if parameter is None:
            return None
        position = parameter.end()
        name = parameter[1].lower()
        if name in found:
            return None
        try:
            found[name] = _text(parameter[2])
        except UnicodeDecodeError:
            return None
    if b"name" not in found:
        return None
    return Disposition(found[b"name"], found.get(b"filename"))


def _text(quoted: bytes) -> str:
    if not quoted.startswith(b'"'):
        return quoted.decode()
    return _ESCAPE.sub(lambda one: _UNESCAPED[one[0].upper()], quoted[1:-1]).decode()

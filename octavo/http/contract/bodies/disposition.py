"""How a part of a form is named (RFC 7578 section 4.2), in the spelling that browsers use."""

import re
from typing import NamedTuple

_START = re.compile(rb"(?i)[ \t]*form-data[ \t]*")
_PARAMETER = re.compile(
    rb';[ \t]*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;" \t]+)[ \t]*'
)
# Browsers spell a quote and line breaks by percent signs (HTML, section 4.10.21.8), other clients
# by a backslash; before any other character a backslash is one of a file's name.
_SPELLED = re.compile(rb'%(?:22|0[Dd]|0[Aa])|\\["\\]')
_MEANT = {b"%22": b'"', b"%0D": b"\r", b"%0A": b"\n", b'\\"': b'"', b"\\\\": b"\\"}


class Disposition(NamedTuple):
    """The name of a field, and of the file in it when it is one."""

    name: str
    filename: str | None


def parse_disposition(value: bytes) -> Disposition | None:
    """Return what the header content-disposition ``value`` names; None when it is malformed.

    Malformed is one without a name, with two, or not in UTF-8. Other parameters count for
    nothing, ``filename*`` among them (RFC 7578 section 4.2 forbids it; some send it as well).
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


def _text(spelled: bytes) -> str:
    if not spelled.startswith(b'"'):
        return spelled.decode()
    return _SPELLED.sub(lambda one: _MEANT[one[0].upper()], spelled[1:-1]).decode()

"""Sign-in addresses in normalized form."""

import re
from typing import NewType

Address = NewType("Address", str)
"""A sign-in address in normalized form: lower case, at most `LONGEST` characters."""

LONGEST = 254
"""Characters of an address: the limit of a mail path (RFC 5321 section 4.5.3.1.3)."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# The syntax that browsers accept (HTML, valid e-mail address), with at most 64 characters before
# the at sign (RFC 5321 section 4.5.3.1.1).
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")


def parse_address(text: str) -> Address:
    """Return the normalized form of the address ``text``.

    Surrounding spaces are removed. Raises ValueError, whose text describes the error without
    quoting the input. Non-ASCII letters are refused: many look alike, and an address must have
    one form only.
    """
    bare = text.strip(" \t")
    if len(bare) > LONGEST:
        raise ValueError(f"An address has at most {LONGEST} characters.")
    if not bare.isascii():
        raise ValueError(
            "An address has ASCII characters only: write an internationalized domain as xn--…."
        )
    written = bare.lower()
    if not _ADDRESS.fullmatch(written):
        raise ValueError("The address is invalid: give one such as ann@example.org.")
    return Address(written)


def local_part(address: Address) -> str:
    """Return the part of ``address`` before the at sign."""
    return address.partition("@")[0]

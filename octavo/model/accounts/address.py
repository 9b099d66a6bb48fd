"""The address that an account signs in with, in its one written form."""

import re
from typing import NewType

Address = NewType("Address", str)
"""A sign-in address in its written form: lower case, at most `LONGEST` characters."""

LONGEST = 254
"""Characters of an address: what a mail path carries (RFC 5321 section 4.5.3.1.3)."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# What a browser takes for an address (HTML, valid e-mail address), of at most 64 characters
# before the sign (RFC 5321 section 4.5.3.1.1).
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")


def parse_address(text: str) -> Address:
    """Return the written form of the address ``text``.

    Spaces round it are left out. Raises ValueError, whose text says what is wrong and never
    quotes what was given. Letters beyond ASCII are refused: many look alike, and one address
    must not have two forms.
    """
    bare = text.strip(" \t")
    if len(bare) > LONGEST:
        raise ValueError(f"An address has at most {LONGEST} characters.")
    if not bare.isascii():
        raise ValueError(
            "An address has ASCII characters alone: write a domain of other letters as xn--…."
        )
    written = bare.lower()
    if not _ADDRESS.fullmatch(written):
        raise ValueError("This is no address: give one such as ann@example.org.")
    return Address(written)


def local_part(address: Address) -> str:
    """Return what stands before the sign of ``address``."""
    return address.partition("@")[0]

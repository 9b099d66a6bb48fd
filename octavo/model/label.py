"""Short one-line texts that people give as names, and that are shown in lists and on pages."""

import unicodedata

from octavo.model.hidden_characters import hidden_fault, is_visible

_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))

LONGEST_DEVICE = 256
"""Characters kept of a browser's ``user-agent``."""


def parse_label(text: str, longest: int) -> str:
    """Return ``text`` in NFC, without surrounding white space.

    Raises ValueError, whose text describes the error, for one in which nothing is seen, that
    exceeds ``longest`` characters, or contains a control character or a hidden one.
    """
    if len(text) > 4 * longest:
        raise ValueError(f"The maximum is {longest} characters.")
    label = unicodedata.normalize("NFC", text).strip()
    if not is_visible(label):
        raise ValueError("At least one visible character is required.")
    if len(label) > longest:
        raise ValueError(f"The maximum is {longest} characters.")
    if not all(map(_printable, label)):
        raise ValueError("Only one line of text without control characters is accepted.")
    fault = hidden_fault(label)
    if fault is not None:
        raise ValueError(f"The text {fault}: delete it and type it again.")
    return label


def device_of(user_agent: bytes | None) -> str:
    """Return the printable form of a browser's ``user-agent`` header.

    Never raises: unprintable characters are dropped, and the rest is truncated.
    """
    text = (user_agent or b"")[: 4 * LONGEST_DEVICE].decode("latin-1")
    return "".join(filter(_printable, text)).strip()[:LONGEST_DEVICE]


def _printable(character: str) -> bool:
    return unicodedata.category(character) not in _UNPRINTABLE

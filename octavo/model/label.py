"""Short texts that people name things by, and that stand in lists and on pages."""

import unicodedata

# They steer how a line is drawn, and can make one name look like another (Unicode TR 36,
# section 3.7).
_STEERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))

LONGEST_DEVICE = 256
"""Characters that are kept of what a browser calls itself."""


def parse_label(text: str, longest: int) -> str:
    """Return ``text`` in NFC, without white space round it.

    Raises ValueError, which says what is wrong, for one that is empty, has more than ``longest``
    characters, or holds a control character or one that turns the direction of writing.
    """
    if len(text) > 4 * longest:
        raise ValueError(f"This has at most {longest} characters.")
    label = unicodedata.normalize("NFC", text).strip()
    if not label:
        raise ValueError("This needs at least one character that is no white space.")
    if len(label) > longest:
        raise ValueError(f"This has at most {longest} characters.")
    if not all(map(_printable, label)):
        raise ValueError("This is one line of text, without control characters.")
    return label


def device_of(user_agent: bytes | None) -> str:
    """Return what a browser calls itself in its header ``user-agent``, fit to be shown.

    Never raises: what can't be shown is left out, what is too long is cut.
    """
    text = (user_agent or b"")[: 4 * LONGEST_DEVICE].decode("latin-1")
    return "".join(filter(_printable, text)).strip()[:LONGEST_DEVICE]


def _printable(character: str) -> bool:
    return unicodedata.category(character) not in _UNPRINTABLE and character not in _STEERING

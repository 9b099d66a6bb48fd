"""Bytes within JSON: standard base64 with its padding (RFC 4648 section 4)."""

from base64 import b64decode, b64encode
from binascii import Error
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

_SCHEMA = WithJsonSchema({"type": "string", "contentEncoding": "base64"})


def _decode(given: object) -> bytes:
    if not isinstance(given, str):
        raise ValueError("Give bytes as a string of standard base64.")
    try:
        return b64decode(given, validate=True)
    except (Error, ValueError):
        raise ValueError("This is no standard base64 with padding.") from None


GivenBytes = Annotated[bytes, BeforeValidator(_decode), _SCHEMA]
"""Bytes that are taken."""

Base64 = Annotated[str, _SCHEMA]
"""Bytes that are answered; `base64_of` writes them."""


def base64_of(data: bytes) -> Base64:
    """Answer bytes as they stand in JSON."""
    return b64encode(data).decode("ascii")

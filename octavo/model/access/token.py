"""Secret tokens: how they are written, and the digests that are stored of them.

Tokens are made of 256 random bits. Only the SHA-256 digest is stored. With that much entropy a slow
hash is unnecessary, and a look-up by digest reveals nothing through timing.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from zlib import crc32

ENTROPY = 32
"""Random bytes of a token."""

KEY_PREFIX = "octk_"
"""The prefix of API keys, which lets people and secret scanners recognize them."""

OPERATOR_PREFIX = "octo_"
"""The prefix of operator tokens."""

ACCESS_PREFIX = "octa_"
"""The prefix of access tokens for the MCP endpoint."""

REFRESH_PREFIX = "octr_"
"""The prefix of the tokens by which programs renew access tokens."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_KEY_LENGTH, _CHECKSUM_LENGTH = 30, 6
_PREFIXED = re.compile(rb"oct[akor]_[0-9A-Za-z]{36}")
_OPAQUE = re.compile(rb"[A-Za-z0-9_-]{43}")


def opaque_token(entropy: bytes) -> str:
    """Return the token of a session or an invitation: base64url of ``entropy``, 43 characters."""
    if len(entropy) != ENTROPY:
        raise ValueError(f"a token takes {ENTROPY} random bytes, not {len(entropy)}")
    return urlsafe_b64encode(entropy).rstrip(b"=").decode()


def decoded_token(token: str, length: int) -> bytes | None:
    """Return the bytes of a token of ``length`` characters in base64url; None for anything else."""
    if len(token) != length:
        return None
    try:
        data = urlsafe_b64decode(token)
    except ValueError:
        return None
    # The decoder ignores foreign characters; a token has one spelling.
    return data if urlsafe_b64encode(data).decode() == token else None


def is_opaque_token(token: bytes) -> bool:
    """Return whether ``token`` has the form of an `opaque_token`."""
    return _OPAQUE.fullmatch(token) is not None


def api_key(entropy: bytes) -> str:
    """Return the API key of ``entropy``: prefix, 30 characters, and a checksum of both.

    About 178 of the 256 random bits are used; the distribution is uniform up to 2 to the -77.
    """
    return _prefixed(KEY_PREFIX, entropy)


def operator_token(entropy: bytes) -> str:
    """Return the operator token of ``entropy``, in the form of an `api_key`."""
    return _prefixed(OPERATOR_PREFIX, entropy)


def access_token(entropy: bytes) -> str:
    """Return the access token of ``entropy``, in the form of an `api_key`."""
    return _prefixed(ACCESS_PREFIX, entropy)


def refresh_token(entropy: bytes) -> str:
    """Return the refresh token of ``entropy``, in the form of an `api_key`."""
    return _prefixed(REFRESH_PREFIX, entropy)


def _prefixed(prefix: str, entropy: bytes) -> str:
    if len(entropy) != ENTROPY:
        raise ValueError(f"a key takes {ENTROPY} random bytes, not {len(entropy)}")
    number = int.from_bytes(entropy, "big") % 62**_KEY_LENGTH
    text = prefix + _base62(number, _KEY_LENGTH)
    return text + _checksum(text.encode())


def is_api_key(token: bytes) -> bool:
    """Return whether ``token`` has the form of a key and a correct checksum.

    The checksum detects typing errors without a look-up.
    """
    return token.startswith(KEY_PREFIX.encode()) and _is_prefixed(token)


def is_operator_token(token: bytes) -> bool:
    """Return whether ``token`` has the form of an operator token and a correct checksum."""
    return token.startswith(OPERATOR_PREFIX.encode()) and _is_prefixed(token)


def is_access_token(token: bytes) -> bool:
    """Return whether ``token`` has the form of an access token and a correct checksum."""
    return token.startswith(ACCESS_PREFIX.encode()) and _is_prefixed(token)


def _is_prefixed(token: bytes) -> bool:
    if _PREFIXED.fullmatch(token) is None:
        return False
    return _checksum(token[:-_CHECKSUM_LENGTH]).encode() == token[-_CHECKSUM_LENGTH:]


def digest_of(token: bytes) -> bytes:
    """Return the stored form of ``token``: its SHA-256 digest, 32 bytes."""
    return sha256(token).digest()


def _checksum(text: bytes) -> str:
    return _base62(crc32(text), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits

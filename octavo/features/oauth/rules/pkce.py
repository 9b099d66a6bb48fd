"""Proof Key for Code Exchange, method S256 only (RFC 7636)."""

import hmac
import re
from base64 import urlsafe_b64encode
from hashlib import sha256

from octavo.features.oauth.rules.refusal import OAuthRefusal

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def check_challenge(challenge: str | None, method: str | None) -> str:
    """Return the code challenge of a request. Raises `OAuthRefusal`."""
    if challenge is None:
        raise OAuthRefusal("invalid_request", "A code_challenge is missing: PKCE is required.")
    if method != "S256":
        raise OAuthRefusal("invalid_request", "The code_challenge_method must be S256.")
    if _CHALLENGE.fullmatch(challenge) is None:
        raise OAuthRefusal(
            "invalid_request",
            "The code_challenge must be the base64url of a SHA-256 digest, 43 characters.",
        )
    return challenge


def challenge_of(verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636 section 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def proves(verifier: str, challenge: str) -> bool:
    """Return whether ``verifier`` is valid, and the one that ``challenge`` was made of."""
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    return hmac.compare_digest(challenge_of(verifier), challenge)

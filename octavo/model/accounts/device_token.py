"""Device tokens: proof that a browser has signed in to an account before.

A token allows nothing. It only says that attempts from this browser are not those of strangers, who
may know an address and try passwords for it all day. It holds a random number for the browser, by
which its attempts are counted, and is bound to the address and to a secret of the installation
(OWASP: slow down online guessing attacks with device cookies).
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

from octavo.model.accounts.address import Address

DEVICE_BYTES = 16
_MAC = 20
_LENGTH = 4 * (DEVICE_BYTES + _MAC) // 3
_MOST = 4
"""Addresses for which one browser is known: those who share it."""


def device_token(device: bytes, address: Address, secret: bytes) -> str:
    """Return the token of a browser, of letters, digits, ``-`` and ``_``.

    Args:
        device: the `DEVICE_BYTES` random bytes of the browser.
        address: of the account that it signed in to.
        secret: of the installation.
    """
    return urlsafe_b64encode(device + _mac(device, address, secret)).decode()


def known_device(tokens: str, address: Address, secret: bytes) -> bytes | None:
    """Return the browser that signed in to ``address`` before, by the first valid token.

    ``tokens`` is what a browser sent, a list as `with_token` makes it, or anything else.
    """
    for token in tokens.split(".", _MOST)[:_MOST]:
        data = _decoded(token)
        if data is not None:
            device = data[:DEVICE_BYTES]
            if hmac.compare_digest(data[DEVICE_BYTES:], _mac(device, address, secret)):
                return device
    return None


def with_token(token: str, tokens: str) -> str:
    """Return the list of ``token`` and those of ``tokens``, newest first; the oldest fall off.

    ``tokens`` is such a list, or anything else that a browser sent: what can be no token is left
    out. Tokens of other people who use the browser stay.
    """
    others = [
        each
        for each in tokens.split(".", _MOST)[:_MOST]
        if each != token and _decoded(each) is not None
    ]
    return ".".join([token, *others[: _MOST - 1]])


def _decoded(token: str) -> bytes | None:
    if len(token) != _LENGTH or not token.isascii():
        return None
    try:
        data = urlsafe_b64decode(token)
    except ValueError:
        return None
    # The decoder ignores foreign characters; a token has one spelling.
    return data if urlsafe_b64encode(data).decode() == token else None


def _mac(device: bytes, address: Address, secret: bytes) -> bytes:
    message = b"octavo device\0" + device + address.encode()
    return hmac.digest(secret, message, "sha256")[:_MAC]

"""Device tokens: proof that a browser has signed in to an account with its present password.

A token grants no access. It only shows that attempts from this browser are not those of strangers,
who may know an address and try passwords for it all day. It has a random number of the browser, by
which its attempts are counted, and the time of the sign-in (OWASP: slow down online guessing
attacks with device cookies).

A token contains two proofs, made with a secret of the installation. The proof of the address is
checked without the account, so a stranger's request looks up nothing, whether or not there is an
account. The proof of the password is valid as long as the password: after the removal of the
account or a change of its password, the token is worthless.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

from octavo_rules.identity import AccountId

from octavo.model.access.account import Address
from octavo.model.access.token import decoded_token

DEVICE_BYTES = 16
DEVICE_TOKEN_SECONDS = 400 * 86_400
"""After this time without signing in, a browser is a stranger; it keeps no cookie for longer."""
_TIME = 6
_SIGNED = DEVICE_BYTES + _TIME
_PROOF = 16
_LENGTH = 4 * (_SIGNED + 2 * _PROOF) // 3
_MOST = 4
"""Addresses for which one browser is known: those who share it."""


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """A browser that has signed in to an account; ``device`` is its number."""

    device: bytes
    account_id: AccountId


@dataclass(frozen=True, slots=True)
class DeviceOwner:
    """An account and its password, as argon2 encodes it: what a token is for."""

    account_id: AccountId
    address: Address
    encoded: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """A valid token for an address, whose proof of a password is still to be checked."""

    device: bytes
    _signed: bytes
    _proof: bytes

    def holds_for(self, owner: DeviceOwner, secret: bytes) -> bool:
        """Return whether the browser signed in to ``owner`` with its present password."""
        return hmac.compare_digest(self._proof, _password_proof(self._signed, owner, secret))


def device_token(device: bytes, owner: DeviceOwner, issued_at: int, secret: bytes) -> str:
    """Return the token of a browser, of letters, digits, ``-`` and ``_``.

    Args:
        device: the `DEVICE_BYTES` random bytes of the browser.
        owner: the account that it signed in to.
        issued_at: the time of that, in milliseconds of Unix time.
        secret: of the installation.
    """
    signed = device + issued_at.to_bytes(_TIME, "big")
    proofs = _address_proof(signed, owner.address, secret) + _password_proof(signed, owner, secret)
    return urlsafe_b64encode(signed + proofs).decode()


def claimed_device(tokens: str, address: Address, now: int, secret: bytes) -> DeviceClaim | None:
    """Return the first valid token of ``tokens`` for ``address`` that has not expired.

    ``tokens`` is what a browser sent, a list as `with_token` makes it, or anything else; ``now`` is
    in milliseconds.
    """
    for _, data in _readable(tokens):
        issued_at = int.from_bytes(data[DEVICE_BYTES:_SIGNED], "big")
        if _is_for(data, address, secret) and now < issued_at + DEVICE_TOKEN_SECONDS * 1000:
            return DeviceClaim(data[:DEVICE_BYTES], data[:_SIGNED], data[_SIGNED + _PROOF :])
    return None


def with_token(token: str, tokens: str) -> str:
    """Return the list of ``token`` and ``tokens``, newest first; the oldest are dropped."""
    return ".".join([token, *(other for other, _ in _readable(tokens))][:_MOST])


def without_address(tokens: str, address: Address, secret: bytes) -> str:
    """Return the list of those of ``tokens`` that are not for ``address``; it may be empty.

    ``tokens`` is such a list, or anything else that a browser sent: what can be no token is left
    out. Tokens of other people who use the browser stay.
    """
    others = (other for other, data in _readable(tokens) if not _is_for(data, address, secret))
    return ".".join(others)


def _readable(tokens: str) -> Iterator[tuple[str, bytes]]:
    for token in tokens.split(".", _MOST)[:_MOST]:
        data = decoded_token(token, _LENGTH)
        if data is not None:
            yield token, data


def _is_for(data: bytes, address: Address, secret: bytes) -> bool:
    proof = data[_SIGNED : _SIGNED + _PROOF]
    return hmac.compare_digest(proof, _address_proof(data[:_SIGNED], address, secret))


def _address_proof(signed: bytes, address: Address, secret: bytes) -> bytes:
    message = b"octavo device of an address\0" + signed + address.encode()
    return hmac.digest(secret, message, "sha256")[:_PROOF]


def _password_proof(signed: bytes, owner: DeviceOwner, secret: bytes) -> bytes:
    # All fields but the last two have a fixed length, and an id contains no NUL.
    held = f"{owner.account_id}\0{owner.encoded}".encode()
    message = b"octavo device of a password\0" + signed + held
    return hmac.digest(secret, message, "sha256")[:_PROOF]

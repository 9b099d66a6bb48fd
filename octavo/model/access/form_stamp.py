"""Stamps of forms with a long text: proof that an account could write when the form was made.

The session may end while a person writes. The stamp, in the address of the form, then admits the
text, so that the person gets it back, signs in and saves it. It allows nothing else.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import NamedTuple
from uuid import UUID

from octavo_rules.identity import AccountId, WorkspaceId

AFTER_SESSION_SECONDS = 86_400.0
"""Seconds for which a form can be sent after the session in which it was made."""
_ID = 16
_TIME = 6
_SIGNED = 2 * _ID + _TIME
_PROOF = 16
_LENGTH = 4 * (_SIGNED + _PROOF) // 3


class FormStamp(NamedTuple):
    """The content of a stamp: who could write where, and when, in milliseconds of Unix time."""

    account_id: AccountId
    workspace_id: WorkspaceId
    made_at: int


def signed_stamp(stamp: FormStamp, secret: bytes) -> str:
    """Return a stamp as text for an address."""
    signed = (
        UUID(stamp.account_id).bytes
        + UUID(stamp.workspace_id).bytes
        + stamp.made_at.to_bytes(_TIME, "big")
    )
    return urlsafe_b64encode(signed + _proof(signed, secret)).decode()


def valid_stamp(text: str, secret: bytes, now: int, session_seconds: float) -> FormStamp | None:
    """Return the stamp in ``text``; None if it is not one, or too old at ``now`` (milliseconds).

    A session lives for ``session_seconds`` at most. When one ended is not known afterwards, so a
    stamp is valid until `AFTER_SESSION_SECONDS` after the last moment at which it could have ended.
    """
    if len(text) != _LENGTH:
        return None
    try:
        data = urlsafe_b64decode(text)
    except (Error, ValueError):
        return None
    signed, proof = data[:_SIGNED], data[_SIGNED:]
    if not hmac.compare_digest(proof, _proof(signed, secret)):
        return None
    made_at = int.from_bytes(signed[2 * _ID :], "big")
    if not made_at <= now <= made_at + 1000 * (session_seconds + AFTER_SESSION_SECONDS):
        return None
    account, workspace = UUID(bytes=signed[:_ID]), UUID(bytes=signed[_ID : 2 * _ID])
    return FormStamp(AccountId(str(account)), WorkspaceId(str(workspace)), made_at)


def _proof(signed: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, b"octavo form stamp\0" + signed, "sha256")[:_PROOF]

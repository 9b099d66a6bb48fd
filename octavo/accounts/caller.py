"""Who calls, once it is known."""

from dataclasses import dataclass

from octavo.model.accounts.account import Account, Role
from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.session import SessionId
from octavo.model.identity import AccountId


@dataclass(frozen=True, slots=True)
class Caller:
    """An account that calls by a session or by a key, of which one is given.

    Attributes:
        locked: True when it may use what a locked account keeps, and nothing else.
    """

    account_id: AccountId
    role: Role
    locked: bool
    session_id: SessionId | None = None
    key_id: KeyId | None = None

    @property
    def name(self) -> str:
        """Who it is, as the log tells it: the id of the account."""
        return self.account_id


def caller_of(
    account: Account, *, session_id: SessionId | None = None, key_id: KeyId | None = None
) -> Caller:
    """Return ``account`` as a caller."""
    return Caller(account.account_id, account.role, account.state == "locked", session_id, key_id)

"""The authenticated caller of a request: an account, or the operator."""

from dataclasses import dataclass

from octavo.model.accounts.account import Account, Role
from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.consent import LegalDocuments
from octavo.model.accounts.session import SessionId
from octavo.model.identity import AccountId


@dataclass(frozen=True, slots=True)
class Caller:
    """An account authenticated by a session or by a key; exactly one of the two is set.

    Attributes:
        locked: whether it is limited to the operations of locked accounts.
        consent_due: whether it must accept the legal documents first.
    """

    account_id: AccountId
    role: Role
    locked: bool
    consent_due: bool = False
    session_id: SessionId | None = None
    key_id: KeyId | None = None

    @property
    def name(self) -> str:
        """The name of the caller in the log: the id of the account."""
        return self.account_id


def caller_of(
    account: Account,
    legal: LegalDocuments,
    *,
    session_id: SessionId | None = None,
    key_id: KeyId | None = None,
) -> Caller:
    """Return the caller for ``account``, where the documents ``legal`` are in force."""
    return Caller(
        account.account_id,
        account.role,
        account.state == "locked",
        legal.due_from(account.consent),
        session_id,
        key_id,
    )


@dataclass(frozen=True, slots=True)
class Operator:
    """The external service of the operator, authenticated by an operator token."""

    name: str = "operator"
    locked: bool = False

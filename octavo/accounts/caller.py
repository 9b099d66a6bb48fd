"""The authenticated caller of a request: an account, or the operator."""

from dataclasses import dataclass

from octavo.model.accounts.access_limits import AccessLimits, Scope
from octavo.model.accounts.account import Account, Role
from octavo.model.accounts.api_key import KeyId
from octavo.model.accounts.consent import LegalDocuments
from octavo.model.accounts.session import SessionId
from octavo.model.files.confinement import Confinement
from octavo.model.identity import AccountId, ProgramNumber
from octavo.model.oauth.grant import Grant, GrantId


@dataclass(frozen=True, slots=True)
class Caller:
    """An account authenticated by a session, a key or an access token; one of their ids is set.

    Attributes:
        locked: whether it is limited to the operations of locked accounts.
        consent_due: whether it must accept the legal documents first.
        limits: those of a limited credential; None with full access.
        grant_id: the grant of an access token, and
        program: the program that has it.
    """

    account_id: AccountId
    role: Role
    locked: bool
    consent_due: bool = False
    session_id: SessionId | None = None
    key_id: KeyId | None = None
    limits: AccessLimits | None = None
    grant_id: GrantId | None = None
    program: ProgramNumber | None = None

    @property
    def name(self) -> str:
        """The name of the caller in the log: the id of the account."""
        return self.account_id

    @property
    def scopes(self) -> frozenset[Scope] | None:
        """The scopes that the credential is limited to; None with full access."""
        return None if self.limits is None else self.limits.scopes

    @property
    def confined(self) -> bool:
        """Whether the credential is limited to a folder."""
        return self.limits is not None and self.limits.folder is not None

    @property
    def confinement(self) -> Confinement | None:
        """The folder that the credential is limited to; None for all files."""
        return None if self.limits is None else self.limits.confinement


def caller_of(
    account: Account,
    legal: LegalDocuments,
    *,
    session_id: SessionId | None = None,
    key_id: KeyId | None = None,
    limits: AccessLimits | None = None,
    grant: Grant | None = None,
) -> Caller:
    """Return the caller for ``account``, where the documents ``legal`` are in force."""
    return Caller(
        account.account_id,
        account.role,
        account.state == "locked",
        legal.due_from(account.consent),
        session_id,
        key_id,
        limits,
        None if grant is None else grant.grant_id,
        None if grant is None else grant.program,
    )


@dataclass(frozen=True, slots=True)
class Operator:
    """The external service of the operator, authenticated by an operator token."""

    name: str = "operator"
    locked: bool = False
    scopes: None = None
    confined: bool = False

"""The authenticated caller of a request: an account, or the operator."""

from dataclasses import dataclass, field

from octavo_rules.identity import AccountId, ProgramNumber, Scope

from octavo.model.access.account import AccessLimits, GrantId, KeyId, Role, SessionId
from octavo.model.files.confinement import Confinement


@dataclass(frozen=True, slots=True)
class Caller:
    """An account authenticated by a session, a key or an access token; one of their ids is set.

    Attributes:
        locked: whether it is limited to the operations of locked accounts.
        consent_due: whether it must accept the legal documents first.
        limits: those of a limited credential; None with full access.
        grant_id: the grant of an access token, and
        program: the program that has it.
        name: the name of the caller in the log: the id of the account.
        scopes: the scopes that the credential is limited to; None with full access.
        confinement: the folder that it is limited to; None for all files.
        confined: whether it is limited to a folder.
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
    # Derived once: each request reads them.
    name: str = field(init=False, repr=False, compare=False)
    scopes: frozenset[Scope] | None = field(init=False, repr=False, compare=False)
    confinement: Confinement | None = field(init=False, repr=False, compare=False)
    confined: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derive what depends on the account and the limits."""
        limits = self.limits
        confinement = None if limits is None else limits.confinement
        object.__setattr__(self, "name", self.account_id)
        object.__setattr__(self, "scopes", None if limits is None else limits.scopes)
        object.__setattr__(self, "confinement", confinement)
        object.__setattr__(self, "confined", confinement is not None)


@dataclass(frozen=True, slots=True)
class Operator:
    """The external service of the operator, authenticated by an operator token."""

    name: str = "operator"
    locked: bool = False
    scopes: None = None
    confined: bool = False

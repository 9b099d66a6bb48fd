"""Why somebody is not let in, or an account can't have what it asks for.

Each is an answer: nothing was changed. The tree::

    Refusal
     ├ CredentialRefused     address and password open no account
     ├ InvitationUnusable    no account can be made from the invitation
     ├ AddressTaken          another account has the address
     ├ AccountGone           the account was removed or disabled meanwhile
     ├ TooManyKeys           the account has as many keys as it may
     ├ NoSuchSession         no session of the account
     ├ NoSuchKey             no key of the account
     └ TooManyAttempts       one more try has to wait
"""

from octavo.model.accounts.api_key import MOST_KEYS
from octavo.model.refusal import DomainError


class InvalidCredentials(DomainError):
    """Address and password open no account: which of them is wrong is told to nobody."""

    code = "credential_refused"

    def __init__(self) -> None:
        super().__init__("No account has this address and this password.")


class InvitationUnusable(DomainError):
    """The invitation is unknown, used, expired, revoked, or somebody else's: all read alike."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("This invitation opens nothing. Ask whoever invited you for another.")


class AddressTaken(DomainError):
    """Another account has the address."""

    code = "address_taken"

    def __init__(self) -> None:
        super().__init__("There is an account with this address: sign in instead.")


class AccountGone(DomainError):
    """The account was removed or disabled while its request was under way."""

    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__("The account of this request is no longer open.")


class TooManyKeys(DomainError):
    """The account has as many keys as it may."""

    code = "too_many_keys"

    def __init__(self) -> None:
        super().__init__(f"An account has at most {MOST_KEYS} keys: revoke one first.")


class NoSuchSession(DomainError):
    """The account has no such session; another one's is told apart by nobody."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("The account has no such session.")


class NoSuchKey(DomainError):
    """The account has no such key; another one's is told apart by nobody."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("The account has no such key.")


class TooManyAttempts(DomainError):
    """One more try has to wait.

    Attributes:
        retry_after: whole seconds until it passes, at least 1.
    """

    code = "rate_limited"

    def __init__(self, retry_after: int) -> None:
        super().__init__("There were too many attempts: wait before the next one.")
        self.retry_after = retry_after

"""Refusals of sign-in, registration and credentials. A refused request changes nothing.

::

    DomainError
     ├ InvalidCredentials    wrong address or password
     ├ InvitationUnusable    the invitation can't be used
     ├ InvitationMissing     there is no such invitation
     ├ AddressTaken          another account has the address
     ├ InvalidResetToken     the token to choose a new password is not valid
     ├ AccountGone           the account was removed or disabled meanwhile
     ├ AccountMissing        there is no such account
     ├ NotAdministrator      the account is no enabled administrator
     ├ LastAdministrator     no enabled administrator would remain
     ├ ControlsChanged       the controls have another revision
     ├ TooManyKeys           the account has the maximum number of keys
     ├ TooManyInvitations    the maximum number of invitations is open
     ├ NoSuchSession         the account has no such session
     ├ NoSuchKey             the account has no such key
     └ TooManyAttempts       the rate limit is exceeded
        └ PasswordQueueFull  the server checks as many passwords as it can
"""

from octavo_rules.refusal import DomainError

from octavo.features.accounts.rules.session import MAX_KEYS


class InvalidCredentials(DomainError):
    """The address or the password is wrong; the refusal does not reveal which."""

    code = "credential_refused"

    def __init__(self) -> None:
        super().__init__("No account has this address and this password.")


class InvitationUnusable(DomainError):
    """The invitation is unknown, used, expired, revoked, or for another address."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("The invitation is not valid. Ask the person who invited you for another.")


class InvitationMissing(DomainError):
    """There is no invitation with this id."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such invitation.")


class AddressTaken(DomainError):
    """Another account has the address."""

    code = "address_taken"

    def __init__(self) -> None:
        super().__init__("There is an account with this address: sign in instead.")


class InvalidResetToken(DomainError):
    """The token to choose a new password is unknown, used or expired."""

    code = "invalid_token"

    def __init__(self) -> None:
        super().__init__("The link is not valid any more: request another.")


class NotAdministrator(DomainError):
    """The account of the caller is not an enabled administrator."""

    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("This requires an administrator of the installation.")


class LastAdministrator(DomainError):
    """The installation would be left without an enabled administrator."""

    code = "last_administrator"

    def __init__(self) -> None:
        super().__init__(
            "This is the last enabled administrator: make another account an administrator first."
        )


class ControlsChanged(DomainError):
    """The controls of the account have changed since they were read."""

    code = "controls_changed"

    def __init__(self, revision: int) -> None:
        super().__init__(f"The controls have the revision {revision} now: read them again.")


class TooManyKeys(DomainError):
    """The account has the maximum number of keys."""

    code = "too_many_keys"

    def __init__(self) -> None:
        super().__init__(f"An account has at most {MAX_KEYS} keys: revoke one first.")


class TooManyInvitations(DomainError):
    """The workspace, or the installation, has the maximum number of open invitations."""

    code = "too_many_invitations"

    def __init__(self, maximum: int) -> None:
        super().__init__(f"At most {maximum:,} invitations may be open: revoke one first.")


class NoSuchSession(DomainError):
    """The account has no such session; sessions of other accounts are not distinguished."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("The account has no such session.")


class NoSuchKey(DomainError):
    """The account has no such key; keys of other accounts are not distinguished."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("The account has no such key.")

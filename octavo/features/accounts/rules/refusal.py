"""Refusals of sign-in, registration and credentials. A refused request changes nothing.

::

    Problem
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

from octavo_rules.problems import CredentialRefused, Forbidden, NotFound, Problem

from octavo.features.accounts.rules.session import MAX_KEYS


class InvalidCredentials(CredentialRefused):
    """The address or the password is wrong; the refusal does not reveal which."""

    detail = "No account has this address and this password."


class InvitationUnusable(NotFound):
    """The invitation is unknown, used, expired, revoked, or for another address."""

    detail = "The invitation is not valid. Ask the person who invited you for another."


class InvitationMissing(NotFound):
    """There is no invitation with this id."""

    detail = "There is no such invitation."


class AddressTaken(Problem):
    """Another account has the address."""

    status, code = 409, "address_taken"
    summary = "Another account has this address."
    remedy = "Sign in to that account, or choose another address. The invitation is still open."
    advice = "There is an account with this address already. Sign in with it instead."
    detail = "There is an account with this address: sign in instead."


class InvalidResetToken(Problem):
    """The token to choose a new password is unknown, used or expired."""

    status, code = 400, "invalid_token"
    summary = "The link to choose a new password is not valid."
    remedy = "A link works once, and for an hour. Request another one, and use the newest message."
    detail = "The link is not valid any more: request another."


class NotAdministrator(Forbidden):
    """The account of the caller is not an enabled administrator."""

    detail = "This requires an administrator of the installation."


class LastAdministrator(Problem):
    """The installation would be left without an enabled administrator."""

    status, code = 409, "last_administrator"
    summary = "The installation would be left without an enabled administrator."
    remedy = "Make another account an administrator first."
    advice = "This is the last enabled administrator. Make another account an administrator first."
    detail = "This is the last enabled administrator: make another account an administrator first."


class ControlsChanged(Problem):
    """The controls of the account have changed since they were read."""

    status, code = 409, "controls_changed"
    summary = "The controls of the account have changed since they were read."
    remedy = "Read the account again, and repeat the change with the revision of its controls."
    advice = (
        "Somebody else changed these settings meanwhile. They are shown as they are now: check"
        " them, and save again."
    )

    def __init__(self, revision: int) -> None:
        super().__init__(f"The controls have the revision {revision} now: read them again.")


class TooManyKeys(Problem):
    """The account has the maximum number of keys."""

    status, code = 409, "too_many_keys"
    summary = "The account has the maximum number of keys."
    remedy = "Revoke a key that is no longer used; expired keys count as well."
    advice = "You have the maximum number of keys. Revoke one first."
    detail = f"An account has at most {MAX_KEYS} keys: revoke one first."


class TooManyInvitations(Problem):
    """The workspace, or the installation, has the maximum number of open invitations."""

    status, code = 409, "too_many_invitations"
    summary = "The maximum number of invitations is open."
    remedy = "Revoke an invitation that is no longer needed, or wait until one is used or expires."
    advice = "There are too many open invitations. Revoke some first."

    def __init__(self, maximum: int) -> None:
        super().__init__(f"At most {maximum:,} invitations may be open: revoke one first.")


class NoSuchSession(NotFound):
    """The account has no such session; sessions of other accounts are not distinguished."""

    detail = "The account has no such session."


class NoSuchKey(NotFound):
    """The account has no such key; keys of other accounts are not distinguished."""

    detail = "The account has no such key."

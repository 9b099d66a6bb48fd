"""The problems of signing in, of accounts and of keys, and those that refusals become."""

from collections.abc import Iterator
from contextlib import contextmanager

from octavo.http.contract.problems import (
    CredentialRefused,
    NotFound,
    NotSignedIn,
    Problem,
    RateLimited,
)
from octavo.model.accounts import refusal as refused
from octavo.model.refusal import DomainError


class AddressTaken(Problem):
    """Another account has the address."""

    status, code = 409, "address_taken"
    summary = "Another account has this address."
    remedy = "Sign in to that account, or choose another address. The invitation is still open."


class TooManyKeys(Problem):
    """The account has as many keys as it may."""

    status, code = 409, "too_many_keys"
    summary = "The account has as many keys as it may: revoke one first."
    remedy = "Revoke a key that is no longer used; one that has expired counts, too."


_PROBLEMS: dict[type[DomainError], type[Problem]] = {
    refused.CredentialRefused: CredentialRefused,
    refused.InvitationUnusable: NotFound,
    refused.AddressTaken: AddressTaken,
    refused.AccountGone: NotSignedIn,
    refused.TooManyKeys: TooManyKeys,
    refused.NoSuchSession: NotFound,
    refused.NoSuchKey: NotFound,
}


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """Raise the problem that a refusal of `octavo.model.accounts.refusal` is answered with.

    What else is raised inside comes out as it is.
    """
    try:
        yield
    except refused.TooManyAttempts as refusal:
        raise RateLimited(refusal.detail, retry_after=refusal.retry_after) from None
    except DomainError as refusal:
        problem = _PROBLEMS.get(type(refusal))
        if problem is None:
            raise
        raise problem(refusal.detail) from None

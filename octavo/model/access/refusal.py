"""Refusals of callers: of the account, and of attempts."""

from octavo_rules.problems import NotFound, NotSignedIn, RateLimited


class AccountGone(NotSignedIn):
    """The account was removed or disabled during the request."""

    detail = "The account of this request is no longer open."


class AccountMissing(NotFound):
    """There is no account with this id."""

    detail = "There is no such account."


class TooManyAttempts(RateLimited):
    """The rate limit is exceeded."""

    detail = "There were too many attempts: wait before the next one."

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after=retry_after)


class PasswordQueueFull(TooManyAttempts):
    """The server checks as many passwords as it can; the attempt was not counted."""

    detail = "The server is checking many other passwords at the moment: wait before the next one."

"""Refusals of callers: of the account, and of attempts."""

from octavo_rules.refusal import DomainError


class AccountGone(DomainError):
    """The account was removed or disabled during the request."""

    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__("The account of this request is no longer open.")


class AccountMissing(DomainError):
    """There is no account with this id."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such account.")


class TooManyAttempts(DomainError):
    """The rate limit is exceeded.

    Attributes:
        retry_after: whole seconds until the next attempt is admitted, at least 1.
    """

    code = "rate_limited"

    def __init__(self, retry_after: int, reason: str = "There were too many attempts") -> None:
        super().__init__(f"{reason}: wait before the next one.")
        self.retry_after = retry_after


class PasswordQueueFull(TooManyAttempts):
    """The server checks as many passwords as it can; the attempt was not counted."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after, "The server is checking many other passwords at the moment")

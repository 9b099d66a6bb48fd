"""The rate classes of the contract, counted for each client."""

from octavo.accounts.attempts import Attempts
from octavo.http.auth_protocol import is_protocol, protocol_errors
from octavo.http.call import Call
from octavo.http.identity_problems import refusals_as_problems


class AttemptLimiter:
    """Holds back clients that call operations of a rate class too often.

    Args:
        attempts: counts them; it has a rate for each rate class that the contract has.
    """

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts

    async def admit(self, rate_class: str, call: Call) -> None:
        """Count ``call`` in ``rate_class``; raises `RateLimited`, and KeyError for no class."""
        with protocol_errors(told=is_protocol(call)), refusals_as_problems():
            self._attempts.admit_client(rate_class, call.client)

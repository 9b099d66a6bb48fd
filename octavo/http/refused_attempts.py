"""Count refused requests for the audit."""

from octavo_rules.identity import AccountId

from octavo.access.audit import RefusedAttempts
from octavo.http.contract.problems import AccountLocked, KeyRefused, RateLimited
from octavo.http.contract.request_log import RequestLog, RequestRecord
from octavo.model.access.audit import account_of

COUNTED = frozenset({AccountLocked.code, KeyRefused.code, RateLimited.code})
"""Problems of any operation that are counted. Wrong passwords and operator tokens are counted where
they are verified, as the account is known there."""


def counting_refusals(log_request: RequestLog, refused: RefusedAttempts) -> RequestLog:
    """Return a request log that counts refusals with a code of `COUNTED`, and calls another."""

    def log(record: RequestRecord) -> None:
        if record.failure is not None and record.failure in COUNTED:
            principal = None if record.principal is None else AccountId(record.principal)
            refused.note(
                record.failure,
                record.operation,
                subject=account_of(principal),
                client=record.client,
            )
        log_request(record)

    return log

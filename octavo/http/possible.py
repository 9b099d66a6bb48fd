"""Which problems an operation may answer: its own, and those that its declaration implies.

One rule for the document, which lists them, and for the check that a handler keeps to the list.
"""

from octavo.http.operation import Declaration, Locked, Security
from octavo.http.problems import (
    AccountLocked,
    BodyTimeout,
    BodyTooLarge,
    CredentialRefused,
    Forbidden,
    InternalError,
    InvalidRequest,
    KeyRefused,
    NotSignedIn,
    OperatorOff,
    Problem,
    RateLimited,
    ServerBusy,
    UnsupportedMediaType,
    WrongOrigin,
)
from octavo.http.store_problems import OF_READING, OF_STORE

_BY_SECURITY: dict[Security, tuple[type[Problem], ...]] = {
    Security.NONE: (),
    Security.SESSION_OR_KEY: (NotSignedIn, KeyRefused, Forbidden),
    Security.OPERATOR: (NotSignedIn, CredentialRefused, OperatorOff),
    Security.MCP: (NotSignedIn, CredentialRefused, Forbidden),
}


def derived_problems(declared: Declaration) -> tuple[type[Problem], ...]:
    """Answer the problems that ``declared`` implies, by their status."""
    found: list[type[Problem]] = [InvalidRequest, *_BY_SECURITY[declared.security]]
    if declared.security is not Security.NONE:
        found += OF_READING if declared.method == "GET" else OF_STORE
    if declared.security is Security.SESSION_OR_KEY:
        if declared.method != "GET":
            found.append(WrongOrigin)
        if declared.locked is Locked.REFUSED:
            found.append(AccountLocked)
    if declared.body is not None:
        found += (BodyTimeout, BodyTooLarge, UnsupportedMediaType)
    if declared.rate is not None:
        found.append(RateLimited)
    return _ordered((*found, InternalError, ServerBusy))


def possible_problems(declared: Declaration) -> tuple[type[Problem], ...]:
    """Answer every problem that may be answered in place of the success, by its status."""
    return _ordered((*derived_problems(declared), *declared.problems))


def _ordered(problems: tuple[type[Problem], ...]) -> tuple[type[Problem], ...]:
    by_code = {(problem.status, problem.code): problem for problem in problems}
    return tuple(by_code[key] for key in sorted(by_code))

"""Which problems an operation may answer: its own, and those that its declaration implies.

One rule for the document, which lists them, and for the check that a handler keeps to the list.

Answers that the contract does not have: told to the tests, logged once in production.
"""

import logging

from octavo.http.contract.operation import Declaration, Locked, Operation, Security
from octavo.http.contract.problems import (
    AccountLocked,
    BodyTimeout,
    BodyTooLarge,
    CredentialRefused,
    Forbidden,
    Header,
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
from octavo.http.contract.unavailable import OF_READING, OF_STORE

_BY_SECURITY: dict[Security, tuple[type[Problem], ...]] = {
    Security.NONE: (),
    Security.SESSION_OR_KEY: (NotSignedIn, KeyRefused, Forbidden),
    Security.OPERATOR: (NotSignedIn, CredentialRefused, OperatorOff),
    Security.MCP: (NotSignedIn, CredentialRefused, Forbidden),
}


def derived_problems(declared: Declaration) -> tuple[type[Problem], ...]:
    """Return the problems that ``declared`` implies, by their status."""
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
    """Return every problem that may be answered in place of the success, by its status."""
    return _ordered((*derived_problems(declared), *declared.problems))


def _ordered(problems: tuple[type[Problem], ...]) -> tuple[type[Problem], ...]:
    by_code = {(problem.status, problem.code): problem for problem in problems}
    return tuple(by_code[key] for key in sorted(by_code))


_LOGGER = logging.getLogger(__name__)


class UndeclaredAnswer(AssertionError):
    """A handler answered what its operation does not declare."""


class DeclaredAnswers:
    """What one operation may answer, made once.

    Args:
        operation: whose answers are judged.
        strict: raise `UndeclaredAnswer` at what is not declared; else each kind of it is logged
            once, as an error, and answered as it is. What can't be answered is a TypeError then.
    """

    __slots__ = ("_name", "_operation", "_problems", "_strict", "_told")

    def __init__(self, operation: Operation, *, strict: bool) -> None:
        self._operation = operation
        self._strict = strict
        self._problems = {(each.status, each.code) for each in possible_problems(operation)}
        self._name = f"{operation.id} ({operation.handler})"
        self._told: set[str] = set()

    def problem(self, problem: Problem) -> None:
        """Judge a problem that the handler raised."""
        if (problem.status, problem.code) not in self._problems:
            self._found(f"the problem {problem.status} {problem.code}")

    def status(self, status: int) -> None:
        """Judge the status of a success."""
        if status not in self._operation.statuses:
            self._found(f"the status {status}")

    def headers(self, headers: tuple[Header, ...]) -> None:
        """Judge the headers that a success adds."""
        for name, value in headers:
            kinds = (type(name), type(value))
            if kinds != (bytes, bytes):
                # The value may be a secret, and this is logged.
                given = " and ".join(kind.__name__ for kind in kinds)
                raise self._failure(
                    f"answered the header {name!r} as {given}: names and values are bytes"
                )
            if name.decode("latin-1") not in self._operation.headers:
                self._found(f"the header {name.decode('latin-1')}")

    def media_type(self, media_type: str) -> None:
        """Judge the media type of a stream."""
        if media_type not in self._operation.media_types:
            self._found(f"the media type {media_type}")

    def not_modified(self) -> None:
        """Judge a 304."""
        if not self._operation.not_modified:
            self._found("the status 304")

    def other_content(self, content: object, reason: str = "") -> Exception:
        """Return the error that ``content`` is, which does not fit what is declared.

        ``reason`` says where, when its type alone does not tell; as it may show the content, it
        is for tests alone.
        """
        declared = self._operation.answers
        named = declared.__name__ if isinstance(declared, type) else declared
        if self._operation.streams and declared is None:
            named = "a Stream"
        where = f": {reason}" if reason and self._strict else ""
        return self._failure(f"declares {named}, and answered a {type(content).__name__}{where}")

    def _found(self, what: str) -> None:
        if self._strict:
            raise self._failure(f"does not declare {what}")
        if what not in self._told:
            self._told.add(what)
            _LOGGER.error("%s does not declare %s", self._name, what)

    def _failure(self, what: str) -> Exception:
        told = f"{self._name} {what}"
        return UndeclaredAnswer(told) if self._strict else TypeError(told)

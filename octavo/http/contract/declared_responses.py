"""The responses that an operation declares, derived for the document and checked at run time.

Undeclared responses raise in tests, and are logged once each in production.
"""

import logging

from octavo_rules import problems

from octavo.http.contract.operation import Declaration, Locked, Operation, Security

OUTSIDE_OPERATIONS: tuple[type[problems.Problem], ...] = (
    problems.InvalidRequest,
    problems.NotFound,
    problems.MethodNotAllowed,
    problems.BodyTimeout,
    problems.BodyTooLarge,
    problems.UnsupportedMediaType,
    problems.InternalError,
)
"""The problems of the router and of the pages, which no declaration has to name."""
_BY_SECURITY: dict[Security, tuple[type[problems.Problem], ...]] = {
    Security.NONE: (),
    Security.SESSION_OR_KEY: (
        problems.NotSignedIn,
        problems.KeyRefused,
        problems.Forbidden,
        problems.InsufficientScope,
    ),
    Security.OPERATOR: (problems.NotSignedIn, problems.CredentialRefused, problems.OperatorOff),
    Security.MCP: (
        problems.NotSignedIn,
        problems.CredentialRefused,
        problems.Forbidden,
        problems.InsufficientScope,
    ),
}


def derived_problems(declared: Declaration) -> tuple[type[problems.Problem], ...]:
    """Return the problems that ``declared`` implies, by status."""
    implied: list[type[problems.Problem]] = [
        problems.InvalidRequest,
        *_BY_SECURITY[declared.security],
    ]
    if declared.security is not Security.NONE:
        # A tool reports in its result that a change found no room.
        reads = declared.method == "GET" or declared.security is Security.MCP
        implied += problems.READ_PROBLEMS if reads else problems.STORE_PROBLEMS
    if declared.security is Security.SESSION_OR_KEY:
        if declared.method != "GET":
            implied.append(problems.WrongOrigin)
        if declared.locked is not Locked.ALLOWED:
            implied += (problems.ConsentRequired, problems.AccountLocked)
    if declared.body is not None:
        implied += (problems.BodyTimeout, declared.body.too_large, problems.UnsupportedMediaType)
    if declared.rate is not None:
        implied.append(problems.RateLimited)
    return _ordered((*implied, problems.InternalError, problems.ServerBusy))


def possible_problems(declared: Declaration) -> tuple[type[problems.Problem], ...]:
    """Return every problem that the operation may respond with, by status."""
    return _ordered((*derived_problems(declared), *declared.problems))


def _ordered(kinds: tuple[type[problems.Problem], ...]) -> tuple[type[problems.Problem], ...]:
    by_code = {(kind.status, kind.code): kind for kind in kinds}
    return tuple(by_code[key] for key in sorted(by_code))


_LOGGER = logging.getLogger(__name__)


class UndeclaredResponseError(AssertionError):
    """A handler returned a response that its operation does not declare."""


class DeclaredResponses:
    """The responses of one operation, computed once.

    Args:
        operation: whose responses are checked.
        strict: raise `UndeclaredResponseError` for undeclared responses; otherwise each kind is
            logged once as an error, and sent, or raises TypeError if it can't be encoded.
    """

    def __init__(self, operation: Operation, *, strict: bool) -> None:
        self._operation = operation
        self._strict = strict
        self._problems = {
            (problem.status, problem.code) for problem in possible_problems(operation)
        }
        self._name = f"{operation.id} ({operation.handler})"
        self._logged: set[str] = set()

    def problem(self, problem: problems.Problem) -> None:
        """Check a problem that the handler raised."""
        if (problem.status, problem.code) not in self._problems:
            self._undeclared(f"the problem {problem.status} {problem.code}")

    def status(self, status: int) -> None:
        """Check the status of a success."""
        if status not in self._operation.statuses:
            self._undeclared(f"the status {status}")

    def headers(self, headers: tuple[problems.Header, ...]) -> None:
        """Check the headers of a success."""
        for name, value in headers:
            kinds = (type(name), type(value))
            if kinds != (bytes, bytes):
                # The value may be a secret, so only the types are logged.
                types = " and ".join(kind.__name__ for kind in kinds)
                raise self._failure(
                    f"returned the header {name!r} as {types}: names and values are bytes"
                )
            if name.decode("latin-1") not in self._operation.headers:
                self._undeclared(f"the header {name.decode('latin-1')}")

    def media_type(self, media_type: str) -> None:
        """Check the media type of a stream."""
        if media_type not in self._operation.media_types:
            self._undeclared(f"the media type {media_type}")

    def not_modified(self) -> None:
        """Check a 304."""
        if not self._operation.not_modified:
            self._undeclared("the status 304")

    def other_content(self, content: object, reason: str = "") -> Exception:
        """Return the error for ``content`` that does not match the declared type.

        ``reason`` gives the location when the type alone does not; since it may include the
        content, it is used in tests only.
        """
        declared = self._operation.response_type
        named = declared.__name__ if isinstance(declared, type) else declared
        if self._operation.streams and declared is None:
            named = "a Stream"
        elif self._operation.page and declared is None:
            named = "an HtmlPage"
        where = f": {reason}" if reason and self._strict else ""
        return self._failure(f"declares {named}, and returned a {type(content).__name__}{where}")

    def _undeclared(self, what: str) -> None:
        if self._strict:
            raise self._failure(f"does not declare {what}")
        if what not in self._logged:
            self._logged.add(what)
            _LOGGER.error("%s does not declare %s", self._name, what)

    def _failure(self, what: str) -> Exception:
        message = f"{self._name} {what}"
        return UndeclaredResponseError(message) if self._strict else TypeError(message)

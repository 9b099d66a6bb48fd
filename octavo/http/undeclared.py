"""Answers that the contract does not have: told to the tests, logged once in production."""

import logging

from octavo.http.operation import Operation
from octavo.http.possible import possible_problems
from octavo.http.problems import Header, Problem

_LOGGER = logging.getLogger(__name__)


class UndeclaredAnswer(AssertionError):
    """A handler answered what its operation does not declare."""


class Declared:
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
        """Answer the error that ``content`` is, which does not fit what is declared.

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

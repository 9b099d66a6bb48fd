"""Checks the responses of a server against the API document that it serves."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import schemathesis

_STATUS_WITHOUT_BODY = (101, 204, 304)


class Undocumented(AssertionError):
    """The response is not documented in the contract."""


class ServedContract:
    """The contract as a server publishes it.

    Args:
        document: the response of ``/api/openapi.json``.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._operations = {each.id: each for each in _operations(document)}
        self._schema = schemathesis.openapi.from_dict(document)

    def operation_of(self, method: str, path: str) -> str | None:
        """Return the id of the operation that serves ``method`` at ``path``."""
        wanted = "GET" if method == "HEAD" else method
        for each in self._operations.values():
            if each.method == wanted and each.pattern.fullmatch(path):
                return each.id
        return None

    def check(self, operation_id: str, response: httpx.Response) -> None:
        """Raise if ``response`` is not documented for the operation."""
        operation = self._operations[operation_id]
        documented = operation.responses.get(str(response.status_code))
        shown = f"{operation_id} returned {response.status_code} {response.text[:500]!r}"
        if documented is None:
            raise Undocumented(f"{shown}: no such status")
        if "x-request-id" not in response.headers:
            raise Undocumented(f"{shown}: no x-request-id")
        content_type = response.headers.get("content-type")
        if response.status_code in _STATUS_WITHOUT_BODY or "content" not in documented:
            if response.content or content_type is not None:
                raise Undocumented(f"{shown}: a body")
            return
        if content_type not in documented["content"]:
            raise Undocumented(f"{shown}: of type {content_type}")
        self._schema[operation.path][operation.method].validate_response(response)

    def codes(self) -> Iterator[tuple[str, str]]:
        """Return every pair of an operation and a documented code, or the status of a success."""
        return (pair for each in self._operations.values() for pair in each.codes())


class _Operation:
    def __init__(self, path: str, method: str, documented: dict[str, Any]) -> None:
        self.id: str = documented["operationId"]
        self.path, self.method = path, method.upper()
        self.responses: dict[str, Any] = documented["responses"]
        self.pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))

    def codes(self) -> Iterator[tuple[str, str]]:
        for status, documented in self.responses.items():
            if int(status) < 400:
                yield self.id, status
                continue
            problem = documented["content"].get("application/problem+json")
            if problem is None:
                # Errors in the format of a protocol have its codes, not those of problems.
                continue
            schema = problem["schema"]
            yield from ((self.id, code) for code in schema["properties"]["code"]["enum"])


def _operations(document: dict[str, Any]) -> Iterator[_Operation]:
    for path, methods in document["paths"].items():
        for method, documented in methods.items():
            yield _Operation(path, method, documented)

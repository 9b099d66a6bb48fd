"""Checks the responses of a server against the API document that it serves.

The clients of the socket tests check the head of each response as it arrives (`check_head`), and
the cases of the operations also its content (`ServedContract.check`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any

import httpx

from octavo.service.registry import api_document

_STATUS_WITHOUT_BODY = (101, 204, 304)
# Of the connection, or of every message (RFC 9110 sections 6.6.1, 7.6.1, 7.8, 8.3 and 8.6).
_TRANSPORT = frozenset(
    {
        "connection",
        "content-length",
        "content-type",
        "date",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_STORED = ("cache-control", "no-store")

Header = tuple[str, str]


class Undocumented(AssertionError):
    """The response is not documented in the contract."""


class ServedContract:
    """The contract as a server publishes it.

    Args:
        document: the response of ``/api/openapi.json``.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._operations = {each.id: each for each in _operations(document)}
        # What is written out in a path comes before a parameter.
        self._by_path = sorted(self._operations.values(), key=lambda each: each.path.count("{"))
        # Any response may have the headers that the description names.
        self._common = frozenset(re.findall("`([a-z-]+)`", document["info"]["description"]))
        self._document = document

    def operation_of(self, method: str, path: str) -> str | None:
        """Return the id of the operation that serves ``method`` at ``path``."""
        wanted = "GET" if method == "HEAD" else method
        for each in self._by_path:
            if each.method == wanted and each.pattern.fullmatch(path):
                return each.id
        return None

    def check_head(self, operation_id: str, status: int, headers: Sequence[Header]) -> None:
        """Raise if the head of a response is not documented for the operation.

        ``headers`` have names in lower case.
        """
        shown = f"{operation_id} returned {status} with {headers}"
        documented = self._operations[operation_id].responses.get(str(status))
        if documented is None:
            raise Undocumented(f"{shown}: no such status")
        described: dict[str, Any] = documented["headers"]
        if "x-request-id" not in dict(headers):
            raise Undocumented(f"{shown}: no x-request-id")
        for name, value in headers:
            if name in described:
                if not self._allows(described[name], value):
                    raise Undocumented(f"{shown}: {name} with another value than {described[name]}")
            elif name not in _TRANSPORT | self._common:
                raise Undocumented(f"{shown}: no such header as {name}")
            elif name == _NOT_STORED[0] and (name, value) != _NOT_STORED:
                raise Undocumented(f"{shown}: {name} is not described")
        content_type = dict(headers).get("content-type")
        if status in _STATUS_WITHOUT_BODY or "content" not in documented:
            if content_type is not None:
                raise Undocumented(f"{shown}: a body")
        elif content_type not in documented["content"]:
            raise Undocumented(f"{shown}: of type {content_type}")

    def check(self, operation_id: str, response: httpx.Response) -> None:
        """Raise if ``response`` is not documented for the operation."""
        operation = self._operations[operation_id]
        self.check_head(operation_id, response.status_code, response.headers.multi_items())
        if "content" in operation.responses[str(response.status_code)]:
            self._schema[operation.path][operation.method].validate_response(response)
        elif response.content:
            raise Undocumented(f"{operation_id} returned {response.content[:500]!r}: a body")

    def codes(self) -> Iterator[tuple[str, str]]:
        """Return every pair of an operation and a documented code, or the status of a success.

        What the server responds with to any request is left out.
        """
        return (pair for each in self._operations.values() for pair in each.codes())

    @cached_property
    def _schema(self) -> Any:  # noqa: ANN401 - of schemathesis, which takes long to import
        import schemathesis  # noqa: PLC0415

        return schemathesis.openapi.from_dict(self._document)

    def _allows(self, header: dict[str, Any], value: str) -> bool:
        """Return whether a described header may have the value."""
        schema = _resolved(_resolved(header, self._document)["schema"], self._document)
        if "enum" in schema:
            return value in schema["enum"]
        if "const" in schema:
            return bool(value == schema["const"])
        return re.search(schema.get("pattern", ""), value) is not None


class _Operation:
    def __init__(
        self, path: str, method: str, documented: dict[str, Any], document: dict[str, Any]
    ) -> None:
        self.id: str = documented["operationId"]
        self.path, self.method = path, method.upper()
        given = documented["responses"]
        self.responses = {status: _resolved(each, document) for status, each in given.items()}
        # The others are common to all operations.
        self._own = [status for status, each in given.items() if "$ref" not in each]
        self.pattern = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))

    def codes(self) -> Iterator[tuple[str, str]]:
        for status in self._own:
            if int(status) < 400:
                yield self.id, status
                continue
            content = self.responses[status]["content"]
            if "application/json" in content:
                # Errors in the format of a protocol have its codes, not those of problems.
                continue
            schema = content["application/problem+json"]["schema"]
            yield from ((self.id, code) for code in schema["properties"]["code"]["enum"])


def _resolved(part: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return what ``part`` refers to, or itself."""
    for name in part.get("$ref", "#").split("/")[1:]:
        document = document[name]
    return document if "$ref" in part else part


def _operations(document: dict[str, Any]) -> Iterator[_Operation]:
    for path, methods in document["paths"].items():
        for method, documented in methods.items():
            yield _Operation(path, method, documented, document)


@cache
def _contract() -> ServedContract:
    return ServedContract(api_document())


def check_head(method: str, path: str, status: int, headers: Sequence[Header]) -> None:
    """Raise if an operation at ``method`` and ``path`` does not document the head of a response.

    Pages and other paths are not documented. ``headers`` have names in lower case.
    """
    operation_id = _contract().operation_of(method, path)
    if operation_id is not None:
        _contract().check_head(operation_id, status, headers)

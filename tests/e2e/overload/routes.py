"""What is attacked, derived from the registries: every route of the pages, and every operation.

What they need of an installation is filled in by the names of their parameters: a new route or
operation is attacked without a line here. One with a parameter of a new name fails its test.
"""

import json
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import uuid4

from octavo_rules.identity import READ

from octavo.service.registry import api_document
from tests.e2e.operations.common import Documented, operations
from tests.e2e.overload.target import Request
from tests.fakes.page_reader import installation

NOT_ASKED = {
    "describeAccessRequest": "needs a program that asks for access",
    "findOperatorAccount": "is for operators, and describes one account",
    "getClient": "is for the program that registered what it describes, of 4 KB",
    "getLegalDocument": "serves a text of the operator",
    "openMcp": "is always refused",
    "openSyncNotices": "is a WebSocket: *subscriptions of WebSockets*, *pings of WebSockets*",
    "readOperatorAccount": "is for operators, and describes one account",
}
"""Operations that read and are not asked, with the reason."""
CHANGING = {
    "completeWorkspaceImport": "responds with a report of limited length",
    "createApiKey": "responds with one key and its workspaces",
    "openPublishedPage": "responds as getPublishedPage",
    "pushChangeset": "*changesets of 7 MB*, *400 links rewritten*",
    "registerClient": "responds with what was sent, of at most 4 KB",
    "reportPublishedLink": "responds with a short page",
    "restoreWorkspace": "responds with one restoration",
    "serveMcp": "needs a program that a person allowed access, and calls what is asked here",
    "undoClientChanges": "*changesets of 7 MB* has the same result, of at most 500 files",
    "updateClient": "responds as registerClient",
}
"""Operations that change something, may respond with a list or a text, and are not asked: the row
that has them, or the reason why there is none.
"""
_VIEWS = {"difference": ("view", ("words", "lines", "sides"))}
"""Parameters of pages, by the last word of the path."""


class Reading(NamedTuple):
    """An operation that reads, with the values of its parameters that change the response most."""

    name: str
    method: str
    path: str
    queries: tuple[Mapping[str, str], ...]


@cache
def page_paths(method: str) -> tuple[str, ...]:
    """The paths of all pages that a browser can ``GET``, or send a form to."""
    with installation() as house:
        rules = [rule for rule in house.app.url_map.iter_rules() if method in (rule.methods or ())]
    return tuple(
        dict.fromkeys(re.sub(r"<(?:\w+:)?(\w+)>", _parameter, each.rule) for each in rules)
    )


def _parameter(found: re.Match[str]) -> str:
    """Return the parameter of a page as the API names it."""
    first, *others = found[1].split("_")
    return f"{{{first}{''.join(map(str.capitalize, others))}}}"


def pages(ids: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of all pages; unknown ids stand for those that ``ids`` does not have."""
    found = []
    for path in page_paths("GET"):
        name, values = _VIEWS.get(path.rpartition("/")[2], ("", ("",)))
        found += [_known(path, ids) + (f"?{name}={value}" if name else "") for value in values]
    return tuple(found)


def forms(ids: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of all forms; as `pages`."""
    return tuple(_known(path, ids) for path in page_paths("POST"))


def _known(path: str, ids: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda found: ids.get(found[1]) or str(uuid4()), path)


@cache
def readings() -> tuple[Reading, ...]:
    """The operations that read, or respond as if they did."""
    document = api_document()
    return tuple(
        Reading(
            described["operationId"],
            described["method"],
            described["path"],
            tuple(_queries(document, described)),
        )
        for described in operations(document)
        if _reads(described) and described["operationId"] not in NOT_ASKED
    )


def changing() -> frozenset[str]:
    """The other operations that may respond with more than their schema limits."""
    document = api_document()
    return frozenset(
        described["operationId"]
        for described in operations(document)
        if not _reads(described) and is_unlimited(document, described)
    )


def _reads(described: Documented) -> bool:
    return (
        described["method"] == "GET"
        or described.get("x-scope") == READ
        or described["operationId"] in _BODIES
    )


def requests(ids: Mapping[str, str]) -> dict[str, Request]:
    """The requests of `readings`, by what they are. Raises KeyError without the id for one."""
    found = {}
    for reading in readings():
        body = _BODIES[reading.name](ids) if reading.method != "GET" else None
        for query in reading.queries:
            own = {**ids, **_of_other_files(reading.name, query, ids)}
            filled = {name: value.format_map(own) for name, value in query.items()}
            path = reading.path.format_map(own) + (f"?{urlencode(filled)}" if filled else "")
            name = " ".join([reading.name, *(f"{key}={value}" for key, value in query.items())])
            found[name] = Request(reading.method, path, json.dumps(body) if body else "")
    return found


def _of_other_files(
    operation_id: str, query: Mapping[str, str], ids: Mapping[str, str]
) -> Mapping[str, str]:
    """Return the ids of a file that is larger for this operation than the longest note."""
    if operation_id == "getLinks":
        return {"fileId": ids["manyLinks"]}
    if operation_id == "getPublishedAttachment" or "width" in query:
        return {"fileId": ids["imageId"], "revisionId": ids["imageRevision"]}
    return {}


_BODIES: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
    "readFiles": lambda ids: {"fileIds": [ids["fileId"], ids["manyLinks"]], "content": "full"},
    # Without a state vector, an empty update is answered with the whole document.
    "saveNote": lambda ids: {"epoch": ids["epoch"], "update": "AAA="},
}
_REQUIRED = {"q": "1", "client": "{client}", "since": "{since}", "position": "0"}
"""Values of parameters without which an operation does nothing."""
_MOST = {"limit", "context"}
"""Parameters that are a number of things."""


def _queries(document: dict[str, Any], described: Documented) -> Iterator[Mapping[str, str]]:
    """Yield the greatest limits with each combination of the named values."""
    named: list[list[Mapping[str, str]]] = []
    fixed = {}
    for parameter in (_resolved(document, each) for each in described.get("parameters", ())):
        if parameter["in"] != "query":
            continue
        name, kinds = parameter["name"], _kinds(document, parameter["schema"])
        values = [str(value) for kind in kinds for value in kind.get("enum", ())]
        values += [str(kind["const"]) for kind in kinds if "const" in kind]
        most = [str(kind["maximum"]) for kind in kinds if "maximum" in kind]
        if name in _MOST and most:
            # Of what can be left out, everything is the most.
            if not any(kind.get("type") == "null" for kind in kinds):
                fixed[name] = most[0]
        elif name in _REQUIRED:
            fixed[name] = _REQUIRED[name]
        elif values and len(values) <= 3:
            optional = "default" not in _resolved(document, parameter["schema"])
            left_out: list[Mapping[str, str]] = [{}] if optional else []
            named.append([*left_out, *({name: value} for value in values)])
    for chosen in product(*named):
        yield dict(ChainMap(*map(dict, chosen), fixed))


def is_unlimited(document: dict[str, Any], described: Documented) -> bool:
    """Whether a successful response has a list, a text of any length, or bytes."""
    for status, response in described["responses"].items():
        if not status.startswith("2"):
            continue
        for media_type, content in _resolved(document, response).get("content", {}).items():
            schema = content.get("schema", {})
            if media_type != "application/json" or _has_much(document, schema, frozenset()):
                return True
    return False


def _has_much(document: dict[str, Any], schema: dict[str, Any], within: frozenset[str]) -> bool:
    name = schema.get("$ref", "")
    if name in within:
        return False
    schema = _resolved(document, schema)
    kind = schema.get("type")
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, ())]
    of_anything = not parts and kind is None and not schema.keys() & {"enum", "const"}
    of_any_members = kind == "object" and "properties" not in schema
    if of_anything or of_any_members or kind == "array" or "contentEncoding" in schema:
        return True
    parts += schema.get("properties", {}).values()
    return any(_has_much(document, part, within | {name} - {""}) for part in parts)


def _kinds(document: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    schema = _resolved(document, schema)
    return [_resolved(document, each) for each in schema.get("anyOf", [schema])]


def _resolved(document: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in found:
        place: Any = document
        for step in found["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        found = place
    return found

"""Valid requests of every page and form, made out of the pages that have the forms."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode, urlsplit

from quart import Quart

from octavo.http.pages.page_registry import form_token
from tests.access_matrix.callers import Caller
from tests.access_matrix.requests import NEW, UNKNOWN, Request
from tests.access_matrix.world import (
    ARCHIVE,
    FROM_HERE,
    IMAGE,
    OF_CALLER,
    OF_NAME,
    Ids,
    World,
    access_request,
)
from tests.e2e.operations.common import Documented
from tests.fakes.identity_fixture import PASSWORD
from tests.fakes.page_reader import FIELDS, MULTIPART, Document, Form, multipart, multipart_fields

PAGES = ["pages"]
"""The tags of a page."""
WORKSPACE = "/workspaces/{workspaceId}"
NOTE = f"{WORKSPACE}/notes/{{fileId}}"
ACCOUNT = "/administration/accounts/{accountId}"
QUERIES: dict[str, Callable[[World], dict[str, str]]] = {
    "GET /oauth/authorize": access_request,
    "POST /oauth/authorize": access_request,
    "GET /register": lambda world: {"invitation": world.house["invitation"]},
    "POST /register": lambda world: {"invitation": world.house["invitation"]},
    "GET /reset-password": lambda world: {"token": world.secrets["reset"]},
    f"GET {WORKSPACE}/programs/undo": lambda world: world.program,
}
GUEST = {"address": "guest@example.org", "password": PASSWORD}
GIVEN: dict[str, Callable[[World], dict[str, str]]] = {
    "POST /account/keys": lambda _: {"name": OF_CALLER, "access": ""},
    "POST /account/password": lambda _: {"currentPassword": PASSWORD, "newPassword": NEW},
    "POST /account/removal": lambda _: {"password": PASSWORD},
    "POST /forgot-password": lambda _: {"address": "guest@example.org"},
    "POST /join": lambda world: {"invitation": world.house["invitation"]},
    "POST /register": lambda world: {
        "invitation": world.house["invitation"],
        "address": "new@example.org",
        "displayName": OF_CALLER,
        "password": NEW,
    },
    "POST /reset-password": lambda _: {"newPassword": NEW},
    "POST /sign-in": lambda _: GUEST,
    "POST /sign-in/again": lambda _: {**GUEST, "following": "/workspaces"},
    "POST /workspaces": lambda _: {"name": OF_CALLER},
    f"POST {WORKSPACE}/delete": lambda _: {"name": f"The {OF_NAME}"},
    f"POST {WORKSPACE}/links/new": lambda _: {"kind": "whole", "label": OF_CALLER},
    f"POST {WORKSPACE}/programs/undo": lambda world: world.program,
    f"POST {WORKSPACE}/restore": lambda _: {"position": "1", "change": UNKNOWN},
}
"""By form, the fields that a person fills in."""
FILES = {
    f"POST {WORKSPACE}/images": ("image", "a.png", IMAGE),
    f"POST {WORKSPACE}/transfers": ("archive", "a.zip", ARCHIVE),
}
"""By form, the field of a file, its name and its content."""


def routes(app: Quart) -> list[Documented]:
    """The pages and forms, described as the document of the API describes operations."""
    found = []
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda name: "{" + _camel(name[1]) + "}", rule.rule)
        # Its name has a digest of the content.
        path = re.sub(r"-[0-9a-f]{16}\.", ".", path)
        for method in sorted((rule.methods or set()) & {"GET", "POST"}):
            name = f"{method} {path}"
            found.append({"operationId": name, "method": method, "path": path, "tags": PAGES})
    return sorted(found, key=lambda each: str(each["path"]))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


@dataclass
class Forms:
    """The forms of all pages, by the address that they are sent to."""

    found: dict[str, Form] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def look_at(self, path: str, page: str) -> None:
        """Keep the forms of a page."""
        for form in Document(page).forms:
            if form.method == "post":
                self.found.setdefault(urlsplit(form.action or path).path, form)

    def request(
        self, world: World, described: Documented, ids: Ids, caller: Caller, marks: tuple[str, ...]
    ) -> Request:
        """A request that succeeds if the caller may do what it asks for."""
        name = described["operationId"]
        target = target_of(world, described, ids)
        headers = (FROM_HERE, (b"sec-fetch-site", b"same-origin"))
        if described["method"] == "GET":
            return Request("GET", target, headers, b"")
        # Another workspace has no page with the form.
        place = urlsplit(target).path.replace(ids["workspaceId"], world.house["workspaceId"])
        form = self.found.get(place, Form("post", target))
        fields = dict(form.fields)
        if caller.session:
            fields["token-of-form"] = form_token(caller.session.encode())
        fields["once"] = str(next(self._numbers))
        for mark in marks:
            fields = {each: value.replace(mark, OF_CALLER) for each, value in fields.items()}
        fields |= GIVEN[name](world) if name in GIVEN else {}
        if name in FILES:
            of_file, file_name, content = FILES[name]
            fields.pop(of_file, None)
            body, kind = multipart(fields, of_file, file_name, content), MULTIPART
        elif form.multipart:
            body, kind = multipart_fields(fields), MULTIPART
        else:
            body, kind = urlencode(fields).encode(), FIELDS
        return Request("POST", target, (*headers, (b"content-type", kind.encode())), body)


def target_of(world: World, described: Documented, ids: Ids) -> str:
    name = described["operationId"]
    given = {"code": "not_found", **ids}
    path = re.sub(r"\{(\w+)\}", lambda found: given.get(found[1], UNKNOWN), described["path"])
    for kind in (".css", ".svg"):
        if path.endswith(kind):
            return world.installation.static[kind]
    query = QUERIES[name](world) if name in QUERIES else {}
    return f"{path}?{urlencode(query)}" if query else path

"""Contradictions in a declaration: with itself, its handler, or another one."""

from collections.abc import Callable
from typing import Annotated, NewType

import pytest
from octavo_rules.problems import NotFound, Problem
from pydantic import BaseModel

from octavo.http.contract.assembly import contract_of, operations_of
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.call import Call, HtmlPage, NotModified, Reply, Stream
from octavo.http.contract.contract_model import IN_PATH, HeaderModel, Model
from octavo.http.contract.declared_responses import derived_problems, possible_problems
from octavo.http.contract.operation import ContractError, Locked, Operation, Security, operation
from tests.fakes.declared_operations import group, only
from tests.fakes.example_contract import NoteInput, NoteMade, PagePath, ShelfOperations, ShelfPath

ThingId = NewType("ThingId", str)
BODY = json_body(NoteInput, limit=10)


class ThingPath(Model):
    thing_id: Annotated[ThingId, IN_PATH]


class TextPath(Model):
    thing_id: str


class Headers(HeaderModel):
    if_match: str


class Headless(Problem):
    pass


class Lenient(Problem):
    status, code, summary = 200, "lenient", "Fine."


class Unheard(Problem):
    status, code, summary = 499, "unheard", "Nobody listens."


class Shouting(Problem):
    status, code, summary = 409, "TooLoud", "Too loud."


class Dumb(Problem):
    status, code, summary = 409, "dumb", ""


class Ignoring(BaseModel):
    limit: int = 1


class LooseEnd(Model):
    end: "NowhereDefined"  # type: ignore[name-defined]  # noqa: F821


async def plain(self: object, call: Call) -> NoteMade:
    raise NotImplementedError


async def nothing(self: object, call: Call) -> None:
    raise NotImplementedError


async def by_path(self: object, call: Call, path: ShelfPath) -> NoteMade:
    raise NotImplementedError


async def by_page(self: object, call: Call, path: PagePath) -> NoteMade:
    raise NotImplementedError


async def by_text(self: object, call: Call, path: TextPath) -> NoteMade:
    raise NotImplementedError


async def with_body(self: object, call: Call, body: NoteInput) -> NoteMade:
    raise NotImplementedError


async def other_body(self: object, call: Call, body: NoteMade) -> NoteMade:
    raise NotImplementedError


async def by_headers(self: object, call: Call, headers: ShelfPath) -> NoteMade:
    raise NotImplementedError


async def by_query(self: object, call: Call, query: str) -> NoteMade:
    raise NotImplementedError


async def by_other(self: object, call: Call, cookies: NoteMade) -> NoteMade:
    raise NotImplementedError


async def streaming(self: object, call: Call) -> Stream:
    raise NotImplementedError


async def bare(self, call: Call, query) -> NoteMade:  # type: ignore[no-untyped-def]  # noqa: ANN001
    raise NotImplementedError


async def callless(self: object) -> NoteMade:
    raise NotImplementedError


async def pathless(self: object, path: ShelfPath) -> NoteMade:
    raise NotImplementedError


async def forward(self: object, call: Call) -> "NowhereDefined":  # type: ignore[name-defined]  # noqa: F821
    raise NotImplementedError


async def of_anything(self: object, call: Call) -> Callable[[], int]:
    raise NotImplementedError


async def of_a_class(self: object, call: Call) -> list[Headless]:
    raise NotImplementedError


async def of_a_loose_end(self: object, call: Call) -> LooseEnd:
    raise NotImplementedError


async def perhaps(self: object, call: Call) -> NoteMade | NotModified:
    raise NotImplementedError


async def by_ignoring(self: object, call: Call, query: Ignoring) -> NoteMade:
    raise NotImplementedError


def not_async(self: object, call: Call) -> NoteMade:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("handler", "declared", "message"),
    [
        (by_path, {}, "/api/do has no parameter shelfId"),
        (plain, {"path": "/api/{thingId}"}, "needs a path parameter with thingId"),
        (by_page, {"path": "/api/{shelfId}"}, "has no parameter page"),
        (by_text, {"path": "/api/{thingId}"}, "thingId must be marked as IN_PATH"),
        (by_path, {"path": "/api/{shelfId}/{shelfId}"}, "names a parameter twice"),
        (plain, {"path": "api"}, "must start with a slash"),
        (with_body, {"method": "POST"}, "the declaration has no body"),
        (plain, {"method": "POST", "body": BODY}, "the handler takes no body"),
        (with_body, {"body": BODY}, "a GET has no body"),
        (other_body, {"method": "POST", "body": BODY}, "declared as NoteInput, the handler takes"),
        (by_headers, {}, "must be a HeaderModel"),
        (by_query, {}, "query must be a Model"),
        (by_other, {}, "accepts path, query, headers, body, not cookies"),
        (bare, {}, "query needs an annotation"),
        (not_async, {}, "must be an async method"),
        (plain, {"status": 204}, "204 has no content"),
        (streaming, {}, "media_types requires a Stream"),
        (plain, {"media_types": ("text/plain",)}, "media_types requires a Stream"),
        (plain, {"id": "DoIt"}, "id must be in camelCase"),
        (plain, {"id": "do-it"}, "id must be in camelCase"),
        (plain, {"id": ""}, "id must be in camelCase"),
        (plain, {"method": "get"}, "'get' is not one of the methods GET, POST, PUT, PATCH, DELETE"),
        (plain, {"method": "HEAD"}, "'HEAD' is not one of the methods"),
        (callless, {}, r"must accept its call: async def do\(self, call: Call\)"),
        (pathless, {"path": "/api/{shelfId}"}, "must accept its call"),
        (plain, {"status": 404}, "404 is not a success status"),
        (plain, {"status": 299}, "299 is not a success status"),
        (plain, {"status": "200"}, "'200' is not a success status"),
        (plain, {"status": 304}, "304 is not a success status"),
        (plain, {"other_statuses": (302,)}, "302 is not a success status"),
        (plain, {"other_statuses": 202}, "other_statuses must be a tuple of statuses, not 202"),
        (perhaps, {"status": 304}, "304 has no content"),
        (plain, {"problems": NotFound}, "must be a tuple of Problem classes"),
        (plain, {"problems": [NotFound]}, "must be a tuple of Problem classes"),
        (plain, {"problems": (NotFound(),)}, "must contain subclasses of Problem, not NotFound"),
        (
            plain,
            {"problems": (ValueError,)},
            "must contain subclasses of Problem, not <class 'ValueError'>",
        ),
        (plain, {"problems": (Headless,)}, "Headless needs status, code, summary"),
        (plain, {"problems": (Lenient,)}, "Lenient has the status 200"),
        (plain, {"problems": (Unheard,)}, "Unheard has the status 499"),
        (plain, {"problems": (Shouting,)}, "Shouting has the code 'TooLoud'"),
        (plain, {"problems": (Dumb,)}, "Dumb needs a summary"),
        (forward, {}, "NowhereDefined.*define or import what it names"),
        (of_anything, {}, "can't be described: return a Model"),
        (of_a_class, {}, "can't be described: return a Model"),
        (of_a_loose_end, {}, "can't be described: .*LooseEnd"),
        (by_ignoring, {}, "query must be a Model"),
        (plain, {"headers": {"X-Request-Id": ""}}, "in lower case: X-Request-Id"),
        (plain, {"headers": {"content-type": ""}}, "sets content-type itself"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_declaration_that_contradicts_its_handler_is_refused(
    handler: Callable[..., object], declared: dict[str, object], message: str
) -> None:
    with pytest.raises(ContractError, match=message) as refused:
        only(handler, **declared)
    assert str(refused.value).startswith(f"{declared.get('id', 'do')} ({handler.__qualname__}): ")


@pytest.mark.parametrize("status", [200, 201, 204, 207])
def test_success_status_is_accepted(status: int) -> None:
    assert only(nothing, other_statuses=(status,)).statuses == {200, status}


def test_status_not_modified_is_accepted_if_the_handler_may_return_it() -> None:
    assert only(perhaps, other_statuses=(304,)).statuses == {200, 304}


class Elsewhere(Problem):
    status, code, summary = 410, "not_found", "It was here once."


class AlsoClosed(Problem):
    status, code, summary = 423, "shut", "It is shut, too."


class OfTheWire(Problem):
    status, code, summary = 409, "head_timeout", "The head is late."


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Elsewhere, "Elsewhere has the status 410, but another .* not_found has 404"),
        (AlsoClosed, "AlsoClosed has the status 423, but another .* shut has 409"),
        (OfTheWire, "OfTheWire has the status 409, but another .* head_timeout has 408"),
    ],
)
def test_contract_with_two_statuses_of_one_code_is_refused(
    problem: type[Problem], message: str
) -> None:
    with pytest.raises(ContractError, match=rf"^do \(Group.do\): {message}"):
        contract_of([ShelfOperations, group(plain, problems=(problem,))])


def test_body_model_that_accepts_extra_members_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="Ignoring accepts undeclared members"):
        json_body(Ignoring, limit=10)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (group(plain, path="/api/other"), "the id do is declared twice"),
        (group(plain, id="other"), "GET /api/do is declared twice"),
    ],
)
def test_contract_with_a_duplicate_declaration_is_refused(second: type, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        contract_of([group(plain), second])


def test_contract_with_two_names_for_one_path_is_refused() -> None:
    async def by_thing(self: object, call: Call, path: ThingPath) -> NoteMade:
        raise NotImplementedError

    first = group(by_path, path="/api/{shelfId}")
    second = group(by_thing, path="/api/{thingId}", id="other", method="POST")
    with pytest.raises(ContractError, match="one path with two names"):
        contract_of([first, second])


def test_contract_of_a_class_without_operations_is_refused() -> None:
    with pytest.raises(ContractError, match="declares no operation"):
        contract_of([object])


def test_operations_are_those_of_the_class_in_its_order() -> None:
    found = [each.id for each in operations_of(ShelfOperations)]
    assert found == ["listShelves", "getShelf", "putNote", "removeShelf", "act", "stream"]


def test_handler_declared_twice_serves_two_operations() -> None:
    declare = operation(
        id="again", method="GET", path="/api/again", tag="t", summary="s", security=Security.NONE
    )
    twice = type("Twice", (), {"do": declare(group(plain).do)})  # type: ignore[attr-defined]
    assert [(each.id, each.handler) for each in operations_of(twice)] == [
        ("again", "do"),
        ("do", "do"),
    ]


@pytest.mark.parametrize(
    ("returned", "response_type", "empty", "not_modified", "streams", "page"),
    [
        (NoteMade, NoteMade, False, False, False, False),
        (None, None, True, False, False, False),
        (Reply[NoteMade], NoteMade, False, False, False, False),
        (Reply[None], None, True, False, False, False),
        (NoteMade | Reply[NoteMade], NoteMade, False, False, False, False),
        (NoteMade | None, NoteMade | None, False, False, False, False),
        (NoteMade | Reply[None], NoteMade, True, False, False, False),
        (Reply[NoteMade] | NotModified, NoteMade, False, True, False, False),
        (list[NoteMade], list[NoteMade], False, False, False, False),
        (Stream | NotModified, None, False, True, True, False),
        (Stream | None, None, True, False, True, False),
        (HtmlPage, None, False, False, False, True),
        (HtmlPage | NotModified, None, False, True, False, True),
    ],
)
def test_success_is_the_return_type_of_the_handler(
    returned: object,
    response_type: object,
    empty: bool,
    not_modified: bool,
    streams: bool,
    page: bool,
) -> None:
    async def handler(self: object, call: Call): ...  # type: ignore[no-untyped-def]  # noqa: ANN202

    handler.__annotations__["return"] = returned
    found = only(handler, media_types=("text/plain",) if streams else ())
    assert (found.response_type, found.empty) == (response_type, empty)
    assert (found.not_modified, found.streams, found.page) == (not_modified, streams, page)


@pytest.mark.parametrize(
    ("declared", "codes"),
    [
        ({}, ["invalid_request", "internal_error", "server_busy"]),
        (
            {"security": Security.SESSION_OR_KEY},
            [
                "invalid_request",
                "key_refused",
                "not_signed_in",
                "forbidden",
                "insufficient_scope",
                "consent_required",
                "account_locked",
                "internal_error",
                "server_busy",
                "storage_unavailable",
            ],
        ),
        (
            {"security": Security.SESSION_OR_KEY, "method": "POST", "locked": Locked.ALLOWED},
            [
                "invalid_request",
                "key_refused",
                "not_signed_in",
                "forbidden",
                "insufficient_scope",
                "wrong_origin",
                "internal_error",
                "server_busy",
                "storage_unavailable",
                "storage_full",
            ],
        ),
        (
            {"security": Security.OPERATOR},
            [
                "invalid_request",
                "credential_refused",
                "not_signed_in",
                "operator_off",
                "internal_error",
                "server_busy",
                "storage_unavailable",
            ],
        ),
        ({"rate": "any"}, ["invalid_request", "rate_limited", "internal_error", "server_busy"]),
    ],
    ids=str,
)
def test_derived_problems_are_implied_by_the_declaration(
    declared: dict[str, object], codes: list[str]
) -> None:
    assert [problem.code for problem in derived_problems(only(plain, **declared))] == codes


def test_derived_problems_of_a_body_are_those_of_reading_it() -> None:
    found = derived_problems(only(with_body, method="POST", body=BODY))
    assert [problem.status for problem in found] == [400, 408, 413, 415, 500, 503]


@pytest.mark.parametrize("each", operations_of(ShelfOperations), ids=lambda each: each.id)
def test_possible_problems_are_the_derived_and_its_own_by_status(each: Operation) -> None:
    found = possible_problems(each)
    assert set(found) == {*derived_problems(each), *each.problems}
    assert [problem.status for problem in found] == sorted(problem.status for problem in found)


def test_models_of_the_contract_refuse_undeclared_members() -> None:
    for document in ({"text": "x", "other": 1}, {"text": 1}, {}):
        with pytest.raises(ValueError, match="1 validation error"):
            NoteInput.model_validate(document)


def test_models_of_the_contract_are_read_by_their_json_names_only() -> None:
    read = ShelfPath.__pydantic_validator__.validate_json
    found = read(
        b'{"shelfId":"0190a0b0-0000-7000-8000-00000000000a"}', by_alias=True, by_name=False
    )
    assert isinstance(found, ShelfPath)
    with pytest.raises(ValueError, match="shelf_id"):
        read(b'{"shelf_id":"0190a0b0-0000-7000-8000-00000000000a"}', by_alias=True, by_name=False)


def test_headers_have_their_http_names() -> None:
    assert [field.alias for field in Headers.model_fields.values()] == ["if-match"]

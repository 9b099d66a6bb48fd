"""Responses to problems, failures and undeclared results, and how they are logged."""

import logging
from collections.abc import Callable
from typing import cast

import pytest
from octavo_rules.problems import NotFound

from octavo.http.contract.application import Application
from octavo.http.contract.bodies.body import ClientLeft
from octavo.http.contract.call import Call, HtmlPage, Reply, Stream, encoded_json
from octavo.http.contract.declared_responses import UndeclaredResponseError
from octavo.http.contract.operation import Security, operation
from octavo.http.contract.prepared_response import PAGE_HEADERS
from tests.fakes.asgi_client import ask, ask_json
from tests.fakes.example_contract import (
    KNOWN,
    NoteMade,
    Reader,
    Readers,
    Shelf,
    ShelfClosed,
    ShelfOperations,
    shelf_application,
)

SHELF = f"/api/shelves/{KNOWN}"
PAGE = f"{SHELF}/pages/one"
READER = (b"x-reader", b"ann")
IF_MATCH = (b"if-match", b'"1"')


def act(result: Callable[[Call], object], *, strict: bool = True) -> Application:
    return shelf_application(ShelfOperations(acted=result), strict=strict)


def raising(error: BaseException) -> Callable[[Call], object]:
    def act(_: Call) -> object:
        raise error

    return act


def a_shelf(_: Call) -> Shelf:
    return Shelf(shelf_id=KNOWN, note_count=1)


@pytest.mark.parametrize(
    "error",
    [ShelfClosed("Come back."), ExceptionGroup("nursery", [ShelfClosed("Come back.")])],
    ids=repr,
)
async def test_raised_problem_is_the_response(error: Exception) -> None:
    response = await ask(act(raising(error)), "POST", "/api/act")
    assert (response.status, response.code) == (409, "shut")
    assert response.json()["detail"] == "Come back."


@pytest.mark.parametrize("error", [ClientLeft(), ExceptionGroup("n", [ClientLeft()])], ids=repr)
async def test_client_that_left_a_handler_gets_no_response(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    response = await ask(act(raising(error)), "POST", "/api/act")
    assert (response.status, caplog.records) == (0, [])


def refused_by_pydantic(_: Call) -> object:
    return Shelf.model_validate({})


@pytest.mark.parametrize(
    "act_", [raising(RuntimeError("secret")), refused_by_pydantic], ids=["error", "validation"]
)
async def test_failure_of_a_handler_is_logged_once_and_not_revealed(
    act_: Callable[[Call], object], caplog: pytest.LogCaptureFixture
) -> None:
    response = await ask(act(act_), "POST", "/api/act")
    assert (response.status, response.code) == (500, "internal_error")
    assert "secret" not in response.body.decode()
    assert [record.getMessage() for record in caplog.records] == ["request made-here failed"]
    assert caplog.records[0].exc_info is not None


UNDECLARED = [
    (raising(NotFound()), "act .* the problem 404 not_found", 404),
    (lambda _: Reply(a_shelf(_), status=203), "the status 203", 203),
    (lambda _: Reply(a_shelf(_), ((b"x-other", b"1"),)), "the header x-other", 200),
]
# What can't be sent as declared: no model at all, one of another kind, one that was never
# validated; headers that are not bytes.
WRONG = [
    (lambda _: NoteMade(text="x", by="y"), "declares Shelf, and returned a NoteMade"),
    (lambda _: None, "declares Shelf, and returned a NoneType"),
    (lambda _: {"shelfId": str(KNOWN), "noteCount": 1}, "declares Shelf, and returned a dict"),
    (lambda _: Reply(None), "declares Shelf, and returned a NoneType"),
    (lambda _: Reply(a_shelf(_), (("x-known", "1"),)), "names and values are bytes"),  # type: ignore[arg-type]
    (lambda _: Reply(a_shelf(_), ((b"x-known", "1"),)), "names and values are bytes"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("result", "what", "_"), UNDECLARED, ids=[row[1] for row in UNDECLARED])
async def test_undeclared_response_fails_a_test(
    result: Callable[[Call], object], what: str, _: int
) -> None:
    with pytest.raises(UndeclaredResponseError, match=what):
        await ask(act(result), "POST", "/api/act")


@pytest.mark.parametrize(("result", "what", "status"), UNDECLARED, ids=[r[1] for r in UNDECLARED])
async def test_undeclared_response_in_production_is_sent_and_logged_once(
    result: Callable[[Call], object],
    what: str,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    application = act(result, strict=False)
    for _ in range(2):
        assert (await ask(application, "POST", "/api/act")).status == status
    [record] = caplog.records
    assert record.levelno == logging.ERROR


@pytest.mark.parametrize(("result", "what"), WRONG)
async def test_mistyped_response_fails_a_test(result: Callable[[Call], object], what: str) -> None:
    with pytest.raises(UndeclaredResponseError, match=what):
        await ask(act(result), "POST", "/api/act")


async def test_body_that_was_encoded_as_something_else_fails_a_test() -> None:
    wrong = act(lambda _: Reply(a_shelf(_), encoded=b"{}"))
    with pytest.raises(UndeclaredResponseError, match="It was encoded as something else"):
        await ask(wrong, "POST", "/api/act")


async def test_body_that_was_encoded_before_is_sent_as_it_is() -> None:
    shelf = Shelf(shelf_id=KNOWN, note_count=1)
    reply = Reply(shelf, ((b"x-known", b"1"),), encoded=encoded_json(shelf))
    plain = await ask(act(a_shelf), "POST", "/api/act")
    for strict in (True, False):
        response = await ask(act(lambda _: reply, strict=strict), "POST", "/api/act")
        assert (response.status, response.body) == (plain.status, plain.body)
        assert (response.header("x-known"), response.header("content-type")) == (
            "1",
            plain.header("content-type"),
        )
    known = Reply(shelf, encoded=b"[]")
    response = await ask(act(lambda _: known, strict=False), "POST", "/api/act")
    assert (response.body, response.header("content-length")) == (b"[]", "2")


class Pages:
    def __init__(self, response: object) -> None:
        self.response = response

    @operation(
        id="page",
        method="GET",
        path="/api/page",
        tag="things",
        summary="Show a page",
        security=Security.NONE,
        headers={"etag": "The version."},
    )
    async def page(self, call: Call) -> HtmlPage:
        return cast(HtmlPage, self.response)


def paged(response: object) -> Application:
    return Application(
        [Pages(response)], new_id=lambda: "an-id", log_request=lambda _: None, strict=True
    )


async def test_page_is_html_with_the_security_headers_of_pages() -> None:
    page = HtmlPage(b"<p>a</p>", ((b"etag", b'"a"'),))
    response = await ask(paged(page), "GET", "/api/page")
    assert (response.status, response.body) == (200, b"<p>a</p>")
    assert response.header("content-type") == "text/html; charset=utf-8"
    assert response.header("cache-control") == "no-store"
    assert set(PAGE_HEADERS) <= set(response.headers)


@pytest.mark.parametrize("returned", [None, Reply(None), "text", b"bytes"], ids=repr)
async def test_return_value_other_than_a_page_fails_a_test(returned: object) -> None:
    with pytest.raises(UndeclaredResponseError, match="declares an HtmlPage, and returned"):
        await ask(paged(returned), "GET", "/api/page")


async def test_page_that_is_not_declared_fails_a_test() -> None:
    application = act(lambda _: HtmlPage(b"a"))
    with pytest.raises(UndeclaredResponseError, match="and returned a HtmlPage"):
        await ask(application, "POST", "/api/act")
    undeclared = HtmlPage(b"a", ((b"x-other", b"a"),))
    with pytest.raises(UndeclaredResponseError, match="does not declare the header x-other"):
        await ask(paged(undeclared), "GET", "/api/page")


class Streams:
    def __init__(self, response: object) -> None:
        self.response = response

    @operation(
        id="stream",
        method="GET",
        path="/api/stream",
        tag="things",
        summary="Send a stream",
        security=Security.NONE,
        media_types=("text/plain",),
    )
    async def stream(self, call: Call) -> Stream:
        return cast(Stream, self.response)


@pytest.mark.parametrize("returned", [None, Reply(None), "text", b"bytes"], ids=repr)
async def test_return_value_other_than_a_stream_fails_a_test(returned: object) -> None:
    application = Application(
        [Streams(returned)], new_id=lambda: "an-id", log_request=lambda _: None, strict=True
    )
    with pytest.raises(UndeclaredResponseError, match="declares a Stream, and returned"):
        await ask(application, "GET", "/api/stream")


@pytest.mark.parametrize(("result", "what"), WRONG)
async def test_mistyped_response_is_a_failure_in_production_logged_once(
    result: Callable[[Call], object], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = await ask(act(result, strict=False), "POST", "/api/act")
    assert (response.status, response.code) == (500, "internal_error")
    [record] = caplog.records
    assert record.getMessage() == "request made-here failed"
    assert record.exc_info is not None
    assert what in str(record.exc_info[1])


class Loose:
    """Operations that don't return plain models, and whose handlers return ``result``."""

    def __init__(self, result: object) -> None:
        self.result = result

    @operation(
        id="list", method="GET", path="/api/list", tag="t", summary="s", security=Security.NONE
    )
    async def list_shelves(self, call: Call) -> tuple[Shelf, ...]:
        return self.result  # type: ignore[return-value]

    @operation(
        id="find", method="GET", path="/api/find", tag="t", summary="s", security=Security.NONE
    )
    async def find(self, call: Call) -> Shelf | None:
        return self.result  # type: ignore[return-value]

    @operation(
        id="none", method="GET", path="/api/none", tag="t", summary="s", security=Security.NONE
    )
    async def none(self, call: Call) -> None:
        return self.result  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("target", "result"),
    [
        ("/api/list", None),
        ("/api/list", ({"shelfId": str(KNOWN), "noteCount": 1},)),
        ("/api/find", {"shelfId": str(KNOWN), "noteCount": 1}),
        ("/api/none", {"x": 1}),
    ],
)
async def test_response_without_a_plain_model_is_also_checked(
    target: str, result: object, caplog: pytest.LogCaptureFixture
) -> None:
    application = Application([Loose(result)], new_id=lambda: "made", log_request=lambda _: None)
    response = await ask(application, "GET", target)
    assert (response.status, response.code) == (500, "internal_error")
    assert len(caplog.records) == 1


async def test_implied_problem_needs_no_declaration() -> None:
    response = await ask_json(
        shelf_application(), "PUT", PAGE, {"text": "x" * 101}, [READER, IF_MATCH]
    )
    assert (response.status, response.code) == (413, "body_too_large")


async def test_task_serves_the_client_until_the_caller_is_known() -> None:
    served: list[str | None] = []

    class Observing(Readers):
        async def authenticate(self, call: Call) -> Reader:
            # Of the connection's former request, or of nobody.
            served.append("authenticated")
            return await super().authenticate(call)

    application = shelf_application(readers=Observing(), serving=served.append)
    response = await ask(application, "GET", SHELF, headers=[READER])
    assert response.status == 200, response
    assert served == ["192.0.2.7", "authenticated", "ann"]
    served.clear()
    assert (await ask(application, "GET", SHELF)).status == 401
    assert served == ["192.0.2.7", "authenticated"]

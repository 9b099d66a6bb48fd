"""The path of a request through the application, from its id to its log record."""

from dataclasses import replace

import pytest
import trio
from octavo_rules.problems import InsufficientScope, NotFound

from octavo.http.contract.call import Reply
from octavo.http.contract.prepared_response import API_HEADERS, BrokenContent
from octavo.http.contract.request_context import RequestRecord
from tests.fakes.asgi_client import FakeExchange, Response, ask, ask_json, never, scope_of
from tests.fakes.example_contract import KNOWN, Reader, Shelf, ShelfOperations, shelf_application

SHELF = f"/api/shelves/{KNOWN}"
PAGE = f"{SHELF}/pages/one"
READER = (b"x-reader", b"ann")
IF_MATCH = (b"if-match", b'"1"')


# The id.


@pytest.mark.parametrize("target", ["/api/shelves", "/api/nowhere", SHELF, "/api/act"])
async def test_response_has_the_request_id_that_was_sent(target: str) -> None:
    response = await ask(shelf_application(), "GET", target, headers=[(b"x-request-id", b"theirs")])
    assert response.header("x-request-id") == "theirs"


async def test_response_without_a_client_id_has_that_of_the_server() -> None:
    response = await ask(shelf_application(), "GET", "/api/shelves", exchange=FakeExchange())
    assert response.header("x-request-id") == "from-the-wire"


async def test_response_without_a_server_has_a_generated_id() -> None:
    response = await ask(shelf_application(), "GET", "/api/shelves")
    assert response.header("x-request-id") == "made-here"


@pytest.mark.parametrize("values", [[b"no spaces"], [b"a", b"b"]])
@pytest.mark.parametrize("target", ["/api/shelves", "/api/nowhere", "/page"])
async def test_refused_id_is_replaced_in_the_response(target: str, values: list[bytes]) -> None:
    headers = [(b"x-request-id", value) for value in values]
    response = await ask(shelf_application(), "GET", target, headers=headers)
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.header("x-request-id") == "made-here"


# The route.


@pytest.mark.parametrize("target", ["/api/nowhere", "/api/shelves/", "/api", "/elsewhere", "/%FF"])
async def test_unknown_path_is_a_problem(target: str) -> None:
    response = await ask(shelf_application(), "GET", target)
    assert (response.status, response.code) == (404, "not_found")
    assert response.json()["type"] == "https://notes.example/problems/not_found"


@pytest.mark.parametrize("method", ["POST", "DELETE", "TRACE", "get"])
async def test_unknown_method_is_a_problem_that_lists_the_others(method: str) -> None:
    response = await ask(shelf_application(), method, "/api/shelves")
    assert (response.status, response.code) == (405, "method_not_allowed")
    assert response.header("allow") == "GET, HEAD, OPTIONS"


async def test_options_lists_the_methods_without_authentication() -> None:
    response = await ask(shelf_application(), "OPTIONS", SHELF)
    assert (response.status, response.body, response.ended) == (204, b"", True)
    assert response.header("allow") == "DELETE, GET, HEAD, OPTIONS"
    assert response.header("content-length") is None


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
@pytest.mark.parametrize("target", ["/api/shelves", "/api/nowhere", SHELF])
async def test_pages_of_other_origins_may_not_read_responses(method: str, target: str) -> None:
    asks = [
        (b"origin", b"https://evil.example"),
        (b"access-control-request-method", b"DELETE"),
        (b"access-control-request-headers", b"authorization"),
    ]
    response = await ask(shelf_application(), method, target, headers=asks)
    names = [name.lower() for name, _ in response.headers]
    assert [name for name in names if name.startswith(b"access-control-")] == []


@pytest.mark.parametrize("target", ["/api/shelves", "/api/shelves?limit=x", SHELF])
async def test_head_is_the_head_of_the_get(target: str) -> None:
    get = await ask(shelf_application(), "GET", target)
    head = await ask(shelf_application(), "HEAD", target)
    assert (head.status, head.headers) == (get.status, get.headers)
    assert get.header("content-length") == str(len(get.body))
    assert (head.body, head.ended) == (b"", True)


# Authentication.


async def test_operation_with_security_is_refused_without_a_caller_before_validation() -> None:
    response = await ask(shelf_application(), "GET", "/api/shelves/no-uuid?unknown=1")
    assert (response.status, response.code) == (401, "not_signed_in")


async def test_locked_account_is_refused_other_operations() -> None:
    headers = [(b"x-reader", b"locked-ann"), IF_MATCH]
    response = await ask_json(shelf_application(), "PUT", PAGE, {"text": "x"}, headers)
    assert (response.status, response.code) == (423, "account_locked")


async def test_locked_account_may_use_declared_operations() -> None:
    response = await ask(shelf_application(), "GET", SHELF, headers=[(b"x-reader", b"locked-ann")])
    assert response.status == 200


async def test_limited_credential_may_call_operations_of_its_scope() -> None:
    headers = [(b"x-reader", b"limited-ann")]
    response = await ask(shelf_application(), "GET", SHELF, headers=headers)
    assert response.status == 200


async def test_limited_credential_may_not_call_operations_that_need_full_access() -> None:
    headers = [(b"x-reader", b"limited-ann"), IF_MATCH]
    response = await ask_json(shelf_application(), "PUT", PAGE, {"text": "x"}, headers)
    assert (response.status, response.code) == (403, "insufficient_scope")
    assert response.json()["scope"] is None
    assert response.header("www-authenticate") == 'Bearer error="insufficient_scope"'


async def test_credential_limited_to_a_part_needs_an_operation_that_keeps_to_it() -> None:
    headers = [(b"x-reader", b"limited to novels")]
    response = await ask(shelf_application(), "GET", SHELF, headers=headers)
    assert (response.status, response.code) == (403, "insufficient_scope")


async def test_operation_is_performed_for_a_known_caller_within_its_limits() -> None:
    application = shelf_application()
    known = Reader("ann", scopes=frozenset({"shelves:read"}))
    assert isinstance(await application.perform(scope_of("GET", SHELF), never, "r", known), Reply)
    less = replace(known, scopes=frozenset())
    with pytest.raises(InsufficientScope, match="limited") as refused:
        await application.perform(scope_of("GET", SHELF), never, "r", less)
    assert refused.value.members == {"scope": "shelves:read"}


async def test_exceeded_rate_class_is_refused_with_a_retry_time() -> None:
    application = shelf_application()
    for _ in range(2):
        response = await ask_json(application, "PUT", PAGE, {"text": "x"}, [READER, IF_MATCH])
    assert (response.status, response.code) == (429, "rate_limited")
    assert response.header("retry-after") == "7"


# The response.


async def test_response_is_the_model_with_its_json_names() -> None:
    response = await ask(shelf_application(), "GET", SHELF, headers=[READER])
    assert response.json() == {"shelfId": str(KNOWN), "noteCount": 3}
    assert response.header("etag") == '"1"'


async def test_handler_gets_all_parts_of_the_request() -> None:
    application = shelf_application()
    response = await ask_json(
        application, "PUT", f"{SHELF}/pages/a%2Fb", {"text": "hello"}, [READER, IF_MATCH]
    )
    assert (response.status, response.json()) == (201, {"text": "a/b: hello", "by": "ann"})


async def test_response_without_a_model_is_json_too() -> None:
    response = await ask(shelf_application(), "GET", "/api/shelves?after=x")
    assert response.body == b'[100,"x"]'


@pytest.mark.parametrize("target", ["/api/shelves", "/api/nowhere", "/api/stream"])
async def test_response_is_not_stored_and_has_the_security_headers(target: str) -> None:
    response = await ask(shelf_application(), "GET", target)
    assert response.header("cache-control") == "no-store"
    assert set(API_HEADERS) <= set(response.headers)


async def test_response_with_its_own_cache_control_has_only_that() -> None:
    response = await ask(shelf_application(), "GET", SHELF, headers=[READER])
    assert response.header("cache-control") == "private"


async def test_not_modified_has_its_headers_and_no_content() -> None:
    headers = [READER, (b"if-none-match", b'"1"')]
    response = await ask(shelf_application(), "GET", SHELF, headers=headers)
    assert (response.status, response.body, response.ended) == (304, b"", True)
    assert response.header("etag") == '"1"'
    assert response.header("content-type") is None
    assert response.header("content-length") is None


async def test_no_content_has_no_length() -> None:
    response = await ask(shelf_application(), "DELETE", SHELF)
    assert (response.status, response.body, response.ended) == (204, b"", True)
    assert response.header("content-length") is None


async def test_reply_has_its_own_status_and_headers() -> None:
    reply = Reply(Shelf(shelf_id=KNOWN, note_count=1), ((b"x-known", b"1"),), status=202)
    application = shelf_application(ShelfOperations(acted=lambda _: reply))
    response = await ask(application, "POST", "/api/act")
    assert (response.status, response.header("x-known")) == (202, "1")


async def test_stream_is_sent_incrementally_with_its_length_and_closed() -> None:
    shelf = ShelfOperations(chunks=[b"one", b"two"])
    response = await ask(shelf_application(shelf), "GET", "/api/stream")
    assert (response.body, response.ended) == (b"onetwo", True)
    assert (response.header("content-type"), response.header("content-length")) == (
        "text/plain",
        "6",
    )
    assert shelf.closed


async def test_stream_of_a_head_is_not_started() -> None:
    shelf = ShelfOperations(chunks=[b"one"])
    response = await ask(shelf_application(shelf), "HEAD", "/api/stream")
    assert (response.body, response.header("content-length"), response.ended) == (b"", "3", True)
    assert not shelf.closed


async def test_failing_stream_raises_so_that_the_connection_is_cut() -> None:
    records: list[RequestRecord] = []
    fell = RuntimeError("the shelf fell")
    application = shelf_application(ShelfOperations(chunks=[b"one"], failure=fell), records)
    response = Response()
    with pytest.raises(BrokenContent) as raised:
        await application(scope_of("GET", "/api/stream"), never, response.take)
    assert str(raised.value.__cause__) == "the shelf fell"
    assert (response.status, response.body, response.ended) == (200, b"one", False)
    [record] = records
    assert (record.status, record.failure, record.complete) == (200, "internal_error", False)


async def test_stream_that_fails_before_its_first_chunk_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for failure, expected in (
        (NotFound(), (404, "not_found")),
        (ExceptionGroup("of one", [NotFound()]), (404, "not_found")),
        (RuntimeError("the shelf fell"), (500, "internal_error")),
    ):
        records: list[RequestRecord] = []
        shelf = ShelfOperations(failure=failure)
        response = await ask(shelf_application(shelf, records), "GET", "/api/stream")
        assert (response.status, response.json()["code"]) == expected
        assert response.ended
        assert shelf.closed
        assert (records[0].status, records[0].failure) == expected
    assert "the shelf fell" in caplog.text


async def test_stream_that_is_refused_later_is_not_complete() -> None:
    records: list[RequestRecord] = []
    application = shelf_application(ShelfOperations(chunks=[b"one"], failure=NotFound()), records)
    response = await ask(application, "GET", "/api/stream")
    assert (response.status, response.body, response.ended) == (200, b"one", False)
    assert (records[0].status, records[0].failure) == (200, "not_found")


# The server.


async def test_declared_time_is_requested_from_the_server() -> None:
    exchange = FakeExchange()
    headers = [READER, IF_MATCH, (b"content-type", b"application/json")]
    response = await ask(
        shelf_application(), "PUT", PAGE, headers=headers, body=[b'{"text":"x"}'], exchange=exchange
    )
    assert response.status == 201
    assert (exchange.allowed, exchange.ignores_disconnect) == ([9.0], True)


async def test_undeclared_times_keep_the_server_defaults() -> None:
    exchange = FakeExchange()
    await ask(shelf_application(), "GET", "/api/shelves", exchange=exchange)
    assert (exchange.allowed, exchange.ignores_disconnect) == ([], False)


async def test_refused_request_does_not_survive_a_disconnect() -> None:
    exchange = FakeExchange()
    response = await ask(shelf_application(), "PUT", PAGE, headers=[READER], exchange=exchange)
    assert (response.status, exchange.ignores_disconnect) == (400, False)


async def test_cancelled_handler_sends_nothing_and_is_logged() -> None:
    records: list[RequestRecord] = []
    response = Response()
    with trio.CancelScope() as scope:
        scope.cancel()
        await shelf_application(records=records)(scope_of("POST", "/api/act"), never, response.take)
    assert scope.cancelled_caught
    assert (response.status, records[0].status) == (0, 499)


async def test_client_that_disconnects_within_its_body_gets_no_response() -> None:
    records: list[RequestRecord] = []
    headers = [READER, IF_MATCH, (b"content-type", b"application/json")]
    response = await ask(
        shelf_application(records=records),
        "PUT",
        PAGE,
        headers=headers,
        body=[b'{"te', b'xt":"x"}'],
        leaves=True,
    )
    assert response.status == 0
    assert (records[0].status, records[0].request_bytes) == (499, 4)


# The log.


async def test_record_describes_the_outcome_of_the_request() -> None:
    records: list[RequestRecord] = []
    application = shelf_application(records=records)
    response = await ask_json(application, "PUT", PAGE, {"text": "hello"}, [READER, IF_MATCH])
    [record] = records
    assert record.duration >= 0
    assert record == RequestRecord(
        request_id="made-here",
        method="PUT",
        path=PAGE,
        operation="putNote",
        status=201,
        duration=record.duration,
        remote_address="192.0.2.7",
        request_bytes=17,
        response_bytes=len(response.body),
        principal="ann",
        failure=None,
    )


@pytest.mark.parametrize(
    ("method", "target", "operation", "status", "failure"),
    [
        ("GET", "/api/nowhere", None, 404, "not_found"),
        ("GET", SHELF, "getShelf", 401, "not_signed_in"),
        ("HEAD", "/api/shelves", "listShelves", 200, None),
        ("OPTIONS", SHELF, None, 204, None),
        ("GET", "/page", None, 404, "not_found"),
    ],
)
async def test_record_is_written_once_for_any_response(
    method: str, target: str, operation: str | None, status: int, failure: str | None
) -> None:
    records: list[RequestRecord] = []
    response = await ask(shelf_application(records=records), method, target)
    [record] = records
    assert (record.operation, record.status, record.failure) == (operation, status, failure)
    assert record.response_bytes == len(response.body)

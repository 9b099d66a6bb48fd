"""Reading one message, in either era."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from octavo.features.mcp.protocol import (
    ASSUMED_VERSION,
    MAX_BATCH,
    VERSIONS,
    McpRequest,
    ProtocolError,
    RoutingHeaders,
    batch_of,
    decoded_header,
    error_of,
    invalid_params,
    negotiated,
    no_resource,
    read_message,
    response_of,
)
from tests.fakes.mcp_client import LEGACY, MODERN, meta

Json = dict[str, Any]
SERVED = {"initialize", "ping", "server/discover", "tools/call", "tools/list", "resources/read"}
PARSED, MISMATCH, UNSUPPORTED, NO_METHOD, PARAMS, INVALID = (
    -32700,
    -32020,
    -32022,
    -32601,
    -32602,
    -32600,
)


def message(method: str = "tools/list", /, **params: object) -> Json:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def modern(method: str = "tools/list", /, **params: object) -> Json:
    return message(method, **{"_meta": meta(), **params})


def routed(method: str = "tools/list", *names: str) -> RoutingHeaders:
    return RoutingHeaders((MODERN,), (method,), names)


def refused(document: object, headers: RoutingHeaders) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        read_message(document, headers, SERVED)
    return caught.value


def test_modern_request_is_read() -> None:
    document = modern("tools/call", name="search", arguments={"query": "tide"})
    request = read_message(document, routed("tools/call", "search"), SERVED)
    assert request == McpRequest(7, "tools/call", document["params"], MODERN)
    assert request is not None
    assert request.modern


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_request_of_an_earlier_revision_is_read(version: str) -> None:
    request = read_message(message(), RoutingHeaders((version,)), SERVED)
    assert request == McpRequest(7, "tools/list", {}, version)
    assert request is not None
    assert not request.modern


def test_request_without_a_version_has_the_assumed_one() -> None:
    request = read_message(message(), RoutingHeaders(), SERVED)
    assert request is not None
    assert request.version == ASSUMED_VERSION


@pytest.mark.parametrize(
    ("requested", "offered"),
    [(each, each) for each in HANDSHAKE_PROTOCOL_VERSIONS]
    + [("2026-07-28", LEGACY), ("1999-01-01", LEGACY), ("", LEGACY)],
)
def test_negotiation_offers_the_revision_or_the_newest(requested: str, offered: str) -> None:
    assert negotiated(requested) == offered


@pytest.mark.parametrize("headers", [RoutingHeaders(), RoutingHeaders((LEGACY,)), routed()])
@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "any"])
def test_notification_expects_no_answer(method: str, headers: RoutingHeaders) -> None:
    assert read_message({"jsonrpc": "2.0", "method": method}, headers, SERVED) is None


def test_notification_of_an_unknown_revision_is_refused() -> None:
    document = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    error = refused(document, RoutingHeaders(("2031-01-01",)))
    assert (error.code, error.status, error.id) == (UNSUPPORTED, 400, None)


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": 1, "message": "m"}}])
def test_response_is_accepted_in_the_era_of_sessions_only(answer: Json) -> None:
    document = {"jsonrpc": "2.0", "id": 1, **answer}
    assert read_message(document, RoutingHeaders((LEGACY,)), SERVED) is None
    assert refused(document, routed()).code == INVALID


@pytest.mark.parametrize(
    "document",
    [
        None,
        1,
        "a",
        [],
        {},
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 2},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1e400, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "ping"},
    ],
    ids=str,
)
@pytest.mark.parametrize("headers", [RoutingHeaders((LEGACY,)), RoutingHeaders()])
def test_malformed_message_is_refused_as_a_whole(document: object, headers: RoutingHeaders) -> None:
    error = refused(document, headers)
    assert (error.code, error.status) == (INVALID, 400)


def test_unknown_method_is_answered_with_404_since_the_modern_era() -> None:
    error = refused(message("tools/mend"), RoutingHeaders((LEGACY,)))
    assert (error.code, error.status, error.id) == (NO_METHOD, 200, 7)
    error = refused(modern("tools/mend"), routed("tools/mend"))
    assert (error.code, error.status, error.id) == (NO_METHOD, 404, 7)


def test_id_may_be_written_with_a_point() -> None:
    read = read_message({**message("ping"), "id": 7.0}, RoutingHeaders((LEGACY,)), ["ping"])
    assert read is not None
    assert repr(read.id) == "7"


@pytest.mark.parametrize("method", ["initialize", "ping"])
def test_methods_of_sessions_are_gone_since_the_modern_era(method: str) -> None:
    assert refused(modern(method), routed(method)).code == NO_METHOD


def test_discovery_is_unknown_before_the_modern_era() -> None:
    assert refused(message("server/discover"), RoutingHeaders((LEGACY,))).code == NO_METHOD


def test_invalid_params_are_answered_with_400_since_the_modern_era() -> None:
    error = refused(message("tools/call", name=3), RoutingHeaders((LEGACY,)))
    assert (error.code, error.status) == (PARAMS, 200)
    assert error.message.startswith("params.name: ")
    error = refused(modern("tools/call", name=3), routed("tools/call"))
    assert (error.code, error.status) == (PARAMS, 400)


@pytest.mark.parametrize("key", [PROTOCOL_VERSION_META_KEY, None])
def test_modern_request_needs_its_metadata(key: str | None) -> None:
    document = message() if key is None else modern()
    if key is not None:
        del document["params"]["_meta"][key]
    error = refused(document, routed())
    assert (error.code, error.status, error.id) == (PARAMS, 400, 7)


def test_modern_request_needs_the_capabilities_of_its_client() -> None:
    document = modern()
    del document["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    error = refused(document, routed())
    assert (error.code, error.status) == (PARAMS, 400)
    assert "clientCapabilities" in error.message


@pytest.mark.parametrize(
    "headers",
    [
        RoutingHeaders((), ("tools/call",), ("search",)),
        RoutingHeaders((LEGACY,), ("tools/call",), ("search",)),
        RoutingHeaders((MODERN, MODERN), ("tools/call",), ("search",)),
        RoutingHeaders((MODERN,), (), ("search",)),
        RoutingHeaders((MODERN,), ("tools/list",), ("search",)),
        RoutingHeaders((MODERN,), ("tools/call", "tools/call"), ("search",)),
        RoutingHeaders((MODERN,), ("tools/call",), ()),
        RoutingHeaders((MODERN,), ("tools/call",), ("Search",)),
        RoutingHeaders((MODERN,), ("tools/call",), ("search", "search")),
        RoutingHeaders((MODERN,), ("tools/call",), ("=?base64?!?=",)),
    ],
    ids=str,
)
def test_header_that_differs_from_the_body_is_refused(headers: RoutingHeaders) -> None:
    error = refused(modern("tools/call", name="search"), headers)
    assert (error.code, error.status, error.id) == (MISMATCH, 400, 7)
    assert error.message.startswith("Header mismatch: the header mcp-")


def test_name_of_other_methods_is_not_compared() -> None:
    assert read_message(modern(), routed("tools/list", "anything"), SERVED) is not None


def test_unsupported_revision_is_refused_with_those_that_are_served() -> None:
    document = message("tools/list", _meta=meta("2031-01-01"))
    error = refused(document, RoutingHeaders(("2031-01-01",), ("tools/list",)))
    assert (error.code, error.status) == (UNSUPPORTED, 400)
    assert error.data == {"supported": list(VERSIONS), "requested": "2031-01-01"}
    error = refused(message(), RoutingHeaders(("2031-01-01",)))
    assert (error.code, error.status, error.id) == (UNSUPPORTED, 400, 7)


def test_revision_of_sessions_in_the_metadata_is_unsupported_there() -> None:
    document = message("tools/list", _meta=meta(LEGACY))
    error = refused(document, RoutingHeaders((LEGACY,), ("tools/list",)))
    assert error.code == UNSUPPORTED


@pytest.mark.parametrize("versions", [(), ("2025-03-26",), ("2024-11-05",)])
def test_batch_is_accepted_by_the_revisions_that_have_it(versions: tuple[str, ...]) -> None:
    assert batch_of([1, 2], RoutingHeaders(versions)) == [1, 2]


@pytest.mark.parametrize(
    ("batch", "version"),
    [
        ([{}], "2025-06-18"),
        ([{}], LEGACY),
        ([{}], MODERN),
        ([], "2025-03-26"),
        ([{}] * (MAX_BATCH + 1), "2025-03-26"),
    ],
)
def test_other_batch_is_refused(batch: list[object], version: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        batch_of(batch, RoutingHeaders((version,)))
    assert (caught.value.code, caught.value.status) == (INVALID, 400)


def test_single_message_is_no_batch() -> None:
    assert batch_of({}, RoutingHeaders((MODERN,))) is None


def test_errors_of_methods_follow_the_era() -> None:
    now, before = McpRequest(1, "m", {}, MODERN), McpRequest(1, "m", {}, LEGACY)
    assert (invalid_params(now, "a").status, invalid_params(before, "a").status) == (400, 200)
    missing = no_resource(now, "u"), no_resource(before, "u")
    assert [each.code for each in missing] == [PARAMS, -32002]
    assert [each.data for each in missing] == [{"uri": "u"}] * 2


def test_answers_have_the_form_of_json_rpc() -> None:
    assert response_of("a", {"b": 1}) == {"jsonrpc": "2.0", "id": "a", "result": {"b": 1}}
    error = ProtocolError(PARAMS, "Why.", id=3)
    assert error_of(error) == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {"code": PARAMS, "message": "Why."},
    }


@given(st.text())
def test_encoded_header_is_decoded(value: str) -> None:
    encoded = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
    try:
        expected: str | None = value.encode().decode()
    except UnicodeEncodeError:
        expected = None
    assert decoded_header(f"=?base64?{encoded}?=") == expected


@given(st.text().filter(lambda text: not text.startswith("=?base64?")))
def test_plain_header_is_kept(value: str) -> None:
    assert decoded_header(value) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": JSON,
        "method": st.sampled_from(sorted(SERVED)) | JSON,
        "params": st.fixed_dictionaries(
            {}, optional={"_meta": st.just(meta()) | JSON, "name": JSON, "uri": JSON}
        )
        | JSON,
    },
)
VALUES = st.lists(st.sampled_from([*VERSIONS, *SERVED, "search", "x"]), max_size=2).map(tuple)
HEADERS = st.builds(RoutingHeaders, VALUES, VALUES, VALUES)


def outcome(document: object, headers: RoutingHeaders) -> McpRequest | ProtocolError | None:
    try:
        return read_message(document, headers, SERVED)
    except ProtocolError as error:
        return error


@given(MESSAGES | JSON, HEADERS)
def test_any_message_is_read_or_refused(document: object, headers: RoutingHeaders) -> None:
    found = outcome(document, headers)
    if isinstance(found, ProtocolError):
        assert found.status in (200, 400, 404)
        assert found.id is None or type(found.id) in (str, int)
        assert found.message
    else:
        assert found is None or (found.method in SERVED and found.version in VERSIONS)


@given(MESSAGES, HEADERS)
def test_modern_request_is_read_only_if_its_headers_agree(
    document: Json, headers: RoutingHeaders
) -> None:
    try:
        request = read_message(document, headers, SERVED)
    except ProtocolError:
        return
    if request is not None and request.modern:
        assert headers.versions == (request.version,)
        assert headers.methods == (request.method,)

"""Parameters of a request, validated against the models of its operation."""

import re
from typing import Annotated
from urllib.parse import quote, unquote_plus, urlencode
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from octavo.http.contract.bodies.body import MAX_LISTED
from octavo.http.contract.contract_model import IN_PATH
from octavo.http.contract.parameters import read_query
from tests.fakes.asgi_client import ask
from tests.fakes.example_contract import KNOWN, shelf_application

READER = (b"x-reader", b"ann")
SHELVES = "/api/shelves"
PAGE = f"/api/shelves/{KNOWN}/pages/one"
TYPED = (b"content-type", b"application/json")


@pytest.mark.parametrize(
    ("query", "response"),
    [
        ("", [100, None]),
        ("limit=5", [5, None]),
        ("limit=5&after=a%26b+c", [5, "a&b c"]),
        ("&limit=5&", [5, None]),
        ("after=", [100, ""]),
        ("after", [100, ""]),
        ("after=%C3%A4", [100, "ä"]),
    ],
)
async def test_query_that_matches_is_read(query: str, response: list[object]) -> None:
    given = await ask(shelf_application(), "GET", f"{SHELVES}?{query}")
    assert given.json() == response


@pytest.mark.parametrize(
    ("query", "pointers"),
    [
        ("other=1", ["/query/other"]),
        ("limit=x", ["/query/limit"]),
        ("limit=", ["/query/limit"]),
        ("limit=5&limit=5", ["/query/limit"]),
        ("limit=x&a/b~c=1", ["/query/limit", "/query/a~1b~0c"]),
        ("after=%FF", ["/query"]),
        ("after=%2", ["/query"]),
        ("after=%zz&limit=x", ["/query", "/query/limit"]),
        ("LIMIT=1", ["/query/LIMIT"]),
    ],
)
async def test_mismatching_query_is_refused_with_every_location(
    query: str, pointers: list[str]
) -> None:
    response = await ask(shelf_application(), "GET", f"{SHELVES}?{query}")
    assert (response.status, response.code) == (400, "invalid_request")
    assert [error["pointer"] for error in response.json()["errors"]] == pointers
    assert all(error["message"] for error in response.json()["errors"])


async def test_query_with_many_faults_lists_some_of_them() -> None:
    query = "&".join(f"q{number}=1" for number in range(1000))
    response = await ask(shelf_application(), "GET", f"{SHELVES}?{query}")
    assert len(response.json()["errors"]) == MAX_LISTED


@pytest.mark.parametrize("query", ["x=1", "shelf_id=1"])
async def test_query_of_an_operation_without_one_is_refused(query: str) -> None:
    response = await ask(shelf_application(), "DELETE", f"/api/shelves/{KNOWN}?{query}")
    assert (response.status, response.code) == (400, "invalid_request")


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), max_size=5
    )
)
def test_read_query_returns_what_was_encoded(parameters: dict[str, str]) -> None:
    errors: list[tuple[str, str]] = []
    assert read_query(urlencode(parameters).encode(), errors) == parameters
    assert read_query(urlencode(parameters, quote_via=quote).encode(), errors) == parameters
    assert errors == []


@given(st.binary())
def test_read_query_of_any_bytes_succeeds_or_is_refused(query: bytes) -> None:
    errors: list[tuple[str, str]] = []
    names = read_query(query, errors)
    assert len(names) + len(errors) == len([pair for pair in query.split(b"&") if pair])


@given(st.binary())
def test_read_query_leaves_out_what_is_not_asked_for(query: bytes) -> None:
    names = [pair.partition("=")[0] for pair in query.decode("latin-1").split("&")]
    assume("n" not in map(unquote_plus, names))
    errors: list[tuple[str, str]] = []
    given = b"&".join([query, b"n=1", query])
    assert read_query(given, errors, frozenset({"n"})) == {"n": "1"}
    assert errors == []


def test_read_query_knows_what_is_asked_for_however_it_is_encoded() -> None:
    assert read_query(b"%6e=1&n%6e=2&m=%", [], frozenset({"n", "nn"})) == {"n": "1", "nn": "2"}


@pytest.mark.parametrize("given", [str(KNOWN), str(KNOWN).upper()])
async def test_identifier_in_either_case_is_accepted(given: str) -> None:
    response = await ask(shelf_application(), "GET", f"/api/shelves/{given}", headers=[READER])
    assert response.json()["shelfId"] == str(KNOWN)


@pytest.mark.parametrize(
    "given",
    [
        "x",
        KNOWN.hex,
        f"%7B{KNOWN}%7D",
        f"urn:uuid:{KNOWN}",
        f"{KNOWN}0",
        f"{KNOWN}%0A",
        "%D9%A0",
        "g" * 36,
    ],
)
async def test_identifier_that_is_not_a_uuid_is_refused(given: str) -> None:
    response = await ask(shelf_application(), "GET", f"/api/shelves/{given}", headers=[READER])
    assert (response.status, response.code) == (400, "invalid_request")
    [error] = response.json()["errors"]
    assert error["pointer"] == "/path/shelfId"
    assert "8-4-4-4-12" in error["message"]


UUID_ALIKE = st.text("0123456789abcdefABCDEFgG-{}ü٣ ", min_size=36, max_size=36) | st.builds(
    lambda at, put: str(KNOWN)[:at] + put + str(KNOWN)[at + 1 :],
    st.integers(0, 35),
    st.sampled_from("-0fFg{} ü٣\n"),
)


@given(UUID_ALIKE)
def test_text_of_the_length_of_a_uuid_must_have_its_notation(text: str) -> None:
    notation = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
    try:
        found = TypeAdapter(Annotated[str, IN_PATH]).validate_strings(text)
        taken = True
        assert found == str(UUID(text))
    except ValidationError:
        taken = False
    assert taken == (notation.fullmatch(text) is not None)


async def test_all_mismatching_parts_are_reported_together() -> None:
    response = await ask(
        shelf_application(), "PUT", "/api/shelves/x/pages/one?y=1", headers=[READER, TYPED]
    )
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert pointers == ["/path/shelfId", "/query/y", "/headers/if-match"]


async def test_repeated_header_is_one_list() -> None:
    headers = [READER, (b"if-none-match", b'"0"'), (b"if-none-match", b'"1"')]
    response = await ask(shelf_application(), "GET", f"/api/shelves/{KNOWN}", headers=headers)
    assert response.status == 200


async def test_undeclared_headers_are_ignored() -> None:
    headers = [READER, (b"x-whatever", b"\xff"), (b"if-match", b"x")]
    response = await ask(shelf_application(), "GET", f"/api/shelves/{KNOWN}", headers=headers)
    assert response.status == 200

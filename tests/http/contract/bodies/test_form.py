"""Forms without files: fields as browsers send them."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import BodyTooLarge, InvalidRequest, UnsupportedMediaType
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from octavo.http.contract.bodies.body import Headers
from octavo.http.contract.bodies.form import form_body, parse_form
from tests.fakes.arriving_bodies import PLACES, chunks, cut, nothing_read

FORM: Headers = [(b"content-type", b"application/x-www-form-urlencoded")]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


class Password(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        strict=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    password: str = Field(max_length=1000)
    remember_me: bool = False
    attempt: int = 0
    reasons: list[str] = []


class Open(BaseModel):
    password: str


PASSWORD = form_body(Password, limit=10_000, fields=5)


def faults(body: bytes) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as refusal:
        PASSWORD.parse(body)
    errors = refusal.value.members["errors"]
    assert isinstance(errors, list)
    return {error["pointer"]: error["message"] for error in errors}


async def test_form_is_read_into_the_declared_types() -> None:
    body = b"password=a+b%2Bc&rememberMe=true&attempt=3&reasons=x&reasons=y"
    form = await PASSWORD.read(FORM, chunks(body))
    assert form == Password(password="a b+c", remember_me=True, attempt=3, reasons=["x", "y"])


def test_form_with_one_value_of_several_is_a_list() -> None:
    assert PASSWORD.parse(b"password=&reasons=x").reasons == ["x"]


@given(password=TEXTS.filter(lambda text: len(text) <= 200), reasons=st.lists(TEXTS, max_size=3))
def test_form_round_trips(password: str, reasons: list[str]) -> None:
    fields = [("password", password), *(("reasons", reason) for reason in reasons)]
    kind = form_body(Password, limit=1)
    form = kind.parse(urlencode(fields).encode())
    assert (form.password, form.reasons) == (password, reasons)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_fields_are_returned_in_order(fields: list[tuple[str, str]]) -> None:
    assert parse_form(urlencode(fields).encode(), 6) == fields


@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_refused(body: bytes) -> None:
    try:
        fields = parse_form(body, 100)
    except InvalidRequest:
        return
    assert parse_form(urlencode(fields).encode(), 100) == fields


@given(body=st.just(b"password=%C3%A4%26b&attempt=12"), places=PLACES)
async def test_form_is_the_same_in_any_chunks(body: bytes, places: list[int]) -> None:
    form = await PASSWORD.read(FORM, chunks(*cut(body, places)))
    assert form == Password(password="ä&b", attempt=12)


@pytest.mark.parametrize(
    ("body", "where", "says"),
    [
        (b"", "/password", "is required"),
        (b"password=a&password=b", "/password", "more than once"),
        (b"password=a&pass%77ord=a", "/password", "more than once"),
        (b"password=a&other=b", "/other", "Unknown member"),
        (b"password=a&remember_me=true", "/remember_me", "Unknown member"),
        (b"password=a&attempt=x", "/attempt", "valid integer"),
        (b"password=a&rememberMe=perhaps", "/rememberMe", "valid boolean"),
        (b"password=" + b"a" * 1001, "/password", "at most 1000"),
    ],
)
def test_mismatching_form_is_refused_with_path_and_reason(
    body: bytes, where: str, says: str
) -> None:
    reported = faults(body)
    assert list(reported) == [where]
    assert says in reported[where]


@pytest.mark.parametrize("body", [b"password=%FF", b"password=\xff", b"%C3=1", b"a=%ED%A0%80"])
def test_form_that_is_not_utf8_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest, match="UTF-8"):
        PASSWORD.parse(body)


def test_form_with_the_maximum_of_fields_is_read_and_one_more_is_refused() -> None:
    fields = b"password=a" + b"&reasons=x" * 4
    assert PASSWORD.parse(fields).reasons == ["x"] * 4
    with pytest.raises(InvalidRequest, match="at most 5 fields"):
        PASSWORD.parse(fields + b"&reasons=x")


async def test_form_too_large_is_refused() -> None:
    with pytest.raises(BodyTooLarge):
        await PASSWORD.read(FORM, chunks(b"password=", b"x" * 9992))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"multipart/form-data; boundary=x",
        b"application/json",
        b"application/x-www-form-urlencoded; charset=latin-1",
    ],
)
async def test_form_of_another_type_is_refused_unread(value: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="x-www-form-urlencoded"):
        await PASSWORD.read([(b"content-type", value)], nothing_read())


def test_a_model_that_ignores_fields_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="Open"):
        form_body(Open, limit=1)

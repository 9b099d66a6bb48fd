"""JSON bodies: which are accepted, and the errors of those that are not."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import BodyTooLarge, InvalidRequest, UnsupportedMediaType
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
    create_model,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from octavo.http.contract.bodies.body import MAX_FAULTS, MAX_LISTED, ClientLeft
from octavo.http.contract.bodies.json_body import json_body
from octavo.http.contract.slices import SLICE_SIZE
from tests.fakes.arriving_bodies import JSON, PLACES, broken_off, chunks, cut, nothing_read

T = TypeVar("T")
OpenT = TypeVar("OpenT", bound="Open")


class Contract(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_by_alias=True, validate_by_name=True
    )


class Create(Contract):
    op: Literal["create"]
    file_id: UUID = Field(alias="fileId")
    text: str = Field(default="", max_length=8)


class Delete(Contract):
    op: Literal["delete"]
    text: int = 0


class Changeset(Contract):
    title: str
    operations: list[Annotated[Create | Delete, Field(discriminator="op")]] = []
    either: int | list[int] | None = None
    names: dict[str, int] = {}
    anything: JsonValue = None
    low: int = 0
    high: int = 9

    @model_validator(mode="after")
    def in_order(self) -> "Changeset":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Flat(Contract):
    text: str
    number: int = 0
    anything: JsonValue = None


class Listing(RootModel[list[Flat]]):
    pass


class Open(BaseModel):
    text: str


class Around(Contract):
    inner: list[Open]


CHANGESET = json_body(Changeset, limit=100_000)
FLAT = json_body(Flat, limit=1_000_000)


def faults(body: bytes, kind: object = CHANGESET) -> dict[str, str]:
    """The pointers and messages of the refusal of ``body``."""
    parse = kind.parse  # type: ignore[attr-defined]
    with pytest.raises(InvalidRequest) as refusal:
        parse(body)
    errors = refusal.value.members["errors"]
    assert isinstance(errors, list)
    return {error["pointer"]: error["message"] for error in errors}


async def test_document_is_read_into_its_model() -> None:
    body = b'{"title":"t","operations":[{"op":"delete"}],"either":[1]}'
    document = await CHANGESET.read(JSON, chunks(body))
    assert document == Changeset(title="t", operations=[Delete(op="delete")], either=[1])


@given(
    title=st.text(), names=st.dictionaries(st.text(), st.integers(-(2**53), 2**53)), places=PLACES
)
async def test_document_is_the_same_in_any_chunks(
    title: str, names: dict[str, int], places: list[int]
) -> None:
    body = json.dumps({"title": title, "names": names}, ensure_ascii=False).encode()
    document = await CHANGESET.read(JSON, chunks(*cut(body, places)))
    assert (document.title, document.names) == (title, names)


@pytest.mark.parametrize(
    "value",
    [
        b"application/json",
        b"Application/JSON",
        b"application/json; charset=UTF-8",
        b'application/json;charset="utf-8"',
        b"application/merge-patch+json",
    ],
)
async def test_document_of_a_json_type_is_read(value: bytes) -> None:
    document = await FLAT.read([(b"content-type", value)], chunks(b'{"text":""}'))
    assert document.text == ""


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"text/json",
        b"text/plain",
        b"image/svg+json",
        b"application/jsonp",
        b"application/json; charset=latin-1",
        b"application/x-www-form-urlencoded",
        b"json",
    ],
)
async def test_document_of_another_type_is_refused_unread(value: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="application/json"):
        await FLAT.read([(b"content-type", value)], nothing_read())


async def test_document_without_a_type_is_refused_unread() -> None:
    with pytest.raises(UnsupportedMediaType, match="application/json"):
        await FLAT.read([], nothing_read())


async def test_document_at_the_limit_is_read_and_one_byte_more_is_not() -> None:
    body = b'{"text":"abc"}'
    assert (await json_body(Flat, limit=len(body)).read(JSON, chunks(body))).text == "abc"
    with pytest.raises(BodyTooLarge):
        await json_body(Flat, limit=len(body) - 1).read(JSON, chunks(body))


async def test_document_declared_too_large_is_refused_unread() -> None:
    with pytest.raises(BodyTooLarge):
        await FLAT.read([*JSON, (b"content-length", b"1000001")], nothing_read())


async def test_document_of_a_disconnected_client_is_discarded() -> None:
    with pytest.raises(ClientLeft):
        await FLAT.read(JSON, broken_off(b'{"text":'))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"text":"\xff"}', "not UTF-8: byte 9 "),
        (b'{"text":"\xed\xa0\x80"}', "not UTF-8"),
        ('{"text":""}'.encode("utf-16"), "not UTF-8"),
        (b'{"text":"\\ud800"}', "not JSON"),
        (b'{"text":"a\x00"}', "control character"),
        (b'{"text":"a"', "not JSON: EOF"),
        (b'{"text":"a",}', "trailing comma"),
        (b'{"text":"a"}{}', "trailing characters"),
        (b'{"anything":' + b"[" * 100_000, "nested too deeply"),
        (b'{"anything":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"unknown":' + b'{"a":' * 300 + b"1" + b"}" * 301, "nested too deeply"),
        (b'{"number":' + b"9" * 5000 + b"}", "out of range"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_text_that_is_not_json_is_refused_as_a_whole(body: bytes, says: str) -> None:
    reported = faults(body, FLAT)
    assert list(reported) == [""]
    assert says in reported[""]


def test_document_of_the_maximum_depth_is_read() -> None:
    body = b'{"text":"","anything":' + b"[" * 190 + b"]" * 190 + b"}"
    assert FLAT.parse(body).anything is not None


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b'{"text":"a","text":"b"}', "/text"),
        (b'{"text":"a","number":1,"number":1}', "/number"),
        (b'{"text":"a","anything":{"x":1,"x":1}}', "/anything/x"),
        (b'{"text":"a","anything":NaN}', "/anything"),
        (b'{"text":"a","anything":[1e999]}', "/anything/0"),
    ],
)
def test_ambiguous_document_is_refused_with_the_path(body: bytes, where: str) -> None:
    assert list(faults(body, FLAT)) == [where]


@given(st.text(), st.text())
def test_a_duplicate_member_is_refused_whatever_the_text(first: str, second: str) -> None:
    body = f'{{"text":{json.dumps(first)},"text":{json.dumps(second)}}}'.encode()
    assert list(faults(body, FLAT)) == ["/text"]


@given(st.text(), st.integers(-(2**63), 2**63))
def test_a_flat_document_is_read_whatever_the_text(text: str, number: int) -> None:
    document = FLAT.parse(json.dumps({"text": text, "number": number}).encode())
    assert (document.text, document.number) == (text, number)


@pytest.mark.parametrize(
    ("document", "where", "says"),
    [
        ({}, "/title", "is required"),
        ({"title": 1}, "/title", "valid string"),
        ({"title": "", "low": "1"}, "/low", "valid integer"),
        ({"title": "", "a/b~": 1}, "/a~1b~0", "Unknown member"),
        ({"title": "", "names": {"x/y": "1"}}, "/names/x~1y", "valid integer"),
        ({"title": "", "operations": {}}, "/operations", "valid"),
        ({"title": "", "operations": [3]}, "/operations/0", "object"),
        ({"title": "", "operations": [{}]}, "/operations/0/op", "is required"),
        ({"title": "", "operations": [{"op": "x"}]}, "/operations/0/op", "'create', 'delete'"),
        ({"title": "", "operations": [{"op": "create"}]}, "/operations/0/fileId", "is required"),
        (
            {"title": "", "operations": [{"op": "delete"}, {"op": "delete", "text": "no"}]},
            "/operations/1/text",
            "valid integer",
        ),
        (
            {"title": "", "operations": [{"op": "delete", "file_id": 1}]},
            "/operations/0/file_id",
            "Unknown member",
        ),
        (
            {"title": "", "either": "x"},
            "/either",
            "valid integer. Or: Input should be a valid array",
        ),
        ({"title": "", "low": 3, "high": 2}, "", "low is above high"),
        ([], "", "object"),
        ("text", "", "object"),
    ],
    ids=repr,
)
def test_mismatching_document_is_refused_with_path_and_reason(
    document: object, where: str, says: str
) -> None:
    reported = faults(json.dumps(document).encode())
    assert list(reported) == [where]
    assert says in reported[where]


def test_python_names_are_not_accepted_in_json() -> None:
    create = {"op": "create", "file_id": "00000000-0000-0000-0000-000000000001"}
    reported = faults(json.dumps({"title": "", "operations": [create]}).encode())
    assert set(reported) == {"/operations/0/fileId", "/operations/0/file_id"}


def test_all_faults_are_reported_together() -> None:
    reported = faults(b'{"low":"1","high":"2","more":3}')
    assert set(reported) == {"/title", "/low", "/high", "/more"}


def test_no_message_echoes_long_input() -> None:
    long = "x" * 10_000
    reported = faults(json.dumps({"title": "", "operations": [{"op": long}], long: 1}).encode())
    assert set(reported) == {"/operations/0/op", ""}
    assert max(map(len, reported.values())) <= 241


def test_many_faults_are_listed_up_to_a_limit_and_the_rest_counted() -> None:
    names = {str(number): "x" for number in range(MAX_LISTED + 1)}
    with pytest.raises(InvalidRequest, match=r"Faults that are not listed: 1\.") as refusal:
        CHANGESET.parse(json.dumps({"title": "", "names": names}).encode())
    errors = refusal.value.members["errors"]
    assert isinstance(errors, list)
    assert len(errors) == MAX_LISTED


def test_a_flood_of_faults_is_only_counted() -> None:
    names = {str(number): "x" for number in range(MAX_FAULTS + 1)}
    reported = faults(json.dumps({"title": "", "names": names}).encode())
    assert reported == {"": "It has 1001 faults, too many to list."}


@pytest.mark.parametrize("model", [Open, Around, RootModel[Open]])
def test_a_model_that_ignores_members_cannot_be_declared(model: type[BaseModel]) -> None:
    with pytest.raises(ValueError, match="Open accepts undeclared members"):
        json_body(model, limit=1)


class Dictionary(TypedDict):
    text: str


@dataclass
class Plain:
    text: str


class Derived(Plain):
    """Has no members of its own."""


@dataclass
class Boxed(Generic[T]):
    item: T


class Box(Contract, Generic[OpenT]):
    item: OpenT


class Early(Contract):
    items: list["Late"]


class Late(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Dictionary, "Dictionary may accept undeclared members"),
        (Plain, "Plain may accept undeclared members"),
        (Derived, "Derived may accept undeclared members"),
        (Boxed[int], "Boxed may accept undeclared members"),
        (Box[Open], "Open accepts undeclared members"),
        (Box, "~OpenT can't be followed"),
        (TypeAliasType("Alias", list[Open]), "Alias can't be followed"),
        (Early, "Late accepts undeclared members"),
        (Annotated[Literal["a"] | Open, Field(description="either")], "Open accepts undeclared"),
    ],
)
def test_a_model_around_what_may_be_open_cannot_be_declared(kind: Any, complaint: str) -> None:  # noqa: ANN401
    around = create_model("Around", __base__=Flat, inner=(list[kind | None], ...))
    with pytest.raises(ValueError, match=complaint):
        json_body(around, limit=1)


def test_a_document_that_is_an_array_is_read() -> None:
    kind = json_body(Listing, limit=100)
    assert kind.parse(b'[{"text":"a"}]').root == [Flat(text="a")]
    assert list(faults(b'[{"text":"a"},{"text":1}]', kind)) == ["/1/text"]
    assert list(faults(b'[{"text":"a","text":"b"}]', kind)) == ["/0/text"]


async def test_large_documents_are_parsed_one_after_the_other_and_others_run_between(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[float] = []

    class Note(Contract):
        text: str

        @model_validator(mode="after")
        def note(self) -> "Note":
            parsed.append(trio.current_time())
            return self

    kind = json_body(Note, limit=2 * SLICE_SIZE)
    body = json.dumps({"text": '"' * (SLICE_SIZE // 2)}).encode()

    async def read() -> None:
        receive = chunks(body)
        assert len((await kind.read(JSON, receive)).text) == SLICE_SIZE // 2

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(read)
    # The time between them is that for which others could have run.
    assert parsed == sorted(set(parsed))
    assert len(parsed) == 3
    assert trio.current_time() > parsed[-1]


class Defaulted(Contract):
    text: str = "x"
    note: str = ""
    number: int = 0


STRINGS = st.text(st.sampled_from('a:"\\{},é'), max_size=6)


@pytest.mark.parametrize(
    "body",
    [
        b'{"number":5,"number":9}',
        b'{"text":null,"text":"b"}',
        b'{"text":NaN,"text":"b"}',
        b'{"text":"a:b","note":1,"note":"c"}',
        rb'{"text":"a\\","text":"b"}',
        rb'{"text":"\"","number":1,"number":2}',
    ],
)
def test_defaults_leave_no_room_for_duplicate_keys(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        json_body(Defaulted, limit=1000).parse(body)


@given(st.dictionaries(st.sampled_from(["text", "note"]), STRINGS), STRINGS, st.booleans())
def test_strict_documents_are_accepted_and_others_refused_whatever_their_texts(
    given: dict[str, str], other: str, twice: bool
) -> None:
    members = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in given.items()]
    if twice and members:
        members.insert(0, f'"{next(iter(given))}":{json.dumps(other)}')
    body = ("{" + ",".join(members) + "}").encode()
    if twice and members:
        with pytest.raises(InvalidRequest):
            json_body(Defaulted, limit=1000).parse(body)
    else:
        found = json_body(Defaulted, limit=1000).parse(body)
        assert {name: getattr(found, name) for name in given} == given

"""Forms with files: part by part, in any chunks, within every limit."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from antechamber.asgi import Receive
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import (
    BodyTooLarge,
    InvalidRequest,
    Problem,
    UnsupportedMediaType,
)

from octavo.http.contract.bodies.body import ClientLeft, Headers
from octavo.http.contract.bodies.multipart import (
    MultipartBody,
    MultipartStream,
    PartBounds,
    multipart_body,
)
from tests.fakes.arriving_bodies import PLACES, Arriving, broken_off, chunks, cut, nothing_read

BOUNDARY = b"--x"
FORM: Headers = [(b"content-type", b'multipart/form-data; boundary="--x"')]
SMALL = multipart_body(limit=5000, bounds=PartBounds(parts=3, head=200, field=20))
LARGE = multipart_body(limit=100_000)


class Sent(NamedTuple):
    name: str
    filename: str | None
    data: bytes


# Similar to a boundary, but not one.
NEAR = [b"\r", b"\n", b"\r\n", b"-", b"--", b"\r\n--", b"\r\n----", b"\r\n----y", b"\r\n---x", b"x"]
DATA = st.lists(st.sampled_from(NEAR) | st.binary(max_size=5), max_size=12).map(b"".join)
NAMES = st.text("abcäö ;=", max_size=6)
SENT = st.builds(
    Sent, NAMES, st.none() | NAMES, DATA.filter(lambda data: b"\r\n----x" not in b"\r\n" + data)
)


def part(sent: Sent, *more: bytes) -> bytes:
    head = f'Content-Disposition: form-data; name="{sent.name}"'.encode()
    if sent.filename is not None:
        head += f'; filename="{sent.filename}"'.encode()
    return b"\r\n".join([head, *more, b"", sent.data])


def form(*parts: bytes) -> bytes:
    opened = b"".join(b"--" + BOUNDARY + b"\r\n" + one + b"\r\n" for one in parts)
    return opened + b"--" + BOUNDARY + b"--\r\n"


async def received(arriving: Receive, kind: MultipartBody = LARGE) -> list[Sent]:
    """Every part as received."""
    return [
        Sent(one.name, one.filename, await one.read(100_000))
        async for one in await kind.read(FORM, arriving)
    ]


async def stream(arriving: Receive, kind: MultipartBody = LARGE) -> MultipartStream:
    return await kind.read(FORM, arriving)


@given(parts=st.lists(SENT, min_size=1, max_size=5), places=PLACES)
async def test_form_in_any_chunks_round_trips(parts: list[Sent], places: list[int]) -> None:
    body = form(*map(part, parts))
    assert await received(chunks(*cut(body, places))) == parts


@given(parts=st.lists(SENT, min_size=1, max_size=3))
async def test_form_byte_by_byte_round_trips(parts: list[Sent]) -> None:
    body = form(*map(part, parts))
    assert await received(chunks(*(body[at : at + 1] for at in range(len(body))))) == parts


@given(parts=st.lists(SENT, min_size=1, max_size=2), data=st.data())
async def test_form_truncated_anywhere_is_refused(parts: list[Sent], data: st.DataObject) -> None:
    body = form(*map(part, parts))
    end = data.draw(st.integers(0, len(body) - len(b"-\r\n") - 1))
    with pytest.raises(InvalidRequest):
        await received(chunks(body[:end]))


@given(body=st.binary(max_size=200), places=PLACES)
async def test_any_bytes_are_a_form_or_refused(body: bytes, places: list[int]) -> None:
    with pytest.raises(InvalidRequest):
        await received(chunks(*cut(b"--" + BOUNDARY + b"\r\n" + body, places)))


async def test_form_without_parts_is_empty() -> None:
    assert await received(chunks(form())) == []


async def test_form_with_surrounding_text_is_read_without_it() -> None:
    body = b"\r\n" + form(part(Sent("a", None, b"1"))) + b"epilogue"
    assert await received(chunks(body)) == [Sent("a", None, b"1")]


async def test_part_has_its_headers_and_media_type() -> None:
    body = form(part(Sent("a", "b.png", b""), b"Content-Type: Image/PNG; q=1", b"X-Y:  z "))
    one = await anext(await stream(chunks(body)))
    assert one.media_type == "image/png"
    assert one.headers == (
        (b"content-disposition", b'form-data; name="a"; filename="b.png"'),
        (b"content-type", b"Image/PNG; q=1"),
        (b"x-y", b"z"),
    )


@pytest.mark.parametrize("more", [(), (b"Content-Type: nonsense",)])
async def test_part_without_a_valid_media_type_has_none(more: Sequence[bytes]) -> None:
    one = await anext(await stream(chunks(form(part(Sent("a", None, b""), *more)))))
    assert one.media_type is None


async def test_part_is_yielded_before_its_end_arrived() -> None:
    body = form(part(Sent("a", "f", b"first second")))
    middle = body.index(b"second")
    arriving = chunks(body[:middle], body[middle:])
    one = await anext(await stream(arriving))
    assert await anext(one) == b"first "
    assert arriving.asked == 1


async def test_unread_parts_are_skipped() -> None:
    sent = [Sent(name, "f", b"x" * 50) for name in "abc"]
    body = form(*map(part, sent))
    arriving = chunks(*cut(body, range(0, len(body), 10)))
    assert [one.name async for one in await stream(arriving)] == ["a", "b", "c"]


async def test_part_read_to_its_end_stays_there() -> None:
    parts = await stream(chunks(form(part(Sent("a", None, b"1")), part(Sent("b", None, b"2")))))
    one = await anext(parts)
    assert await one.read(10) == b"1"
    assert await one.read(10) == b""
    assert (await anext(parts)).name == "b"


async def test_part_that_the_form_has_passed_cannot_be_read() -> None:
    parts = await stream(chunks(form(part(Sent("a", None, b"1")), part(Sent("b", None, b"2")))))
    one = await anext(parts)
    await anext(parts)
    with pytest.raises(RuntimeError, match="'a'"):
        await one.read(10)


async def test_part_is_read_up_to_a_limit() -> None:
    body = form(part(Sent("a", "f", b"12345")))
    assert await (await anext(await stream(chunks(body)))).read(5) == b"12345"
    one = await anext(await stream(chunks(body)))
    with pytest.raises(BodyTooLarge):
        await one.read(4)


@pytest.mark.parametrize(
    ("within", "beyond", "problem"),
    [
        (
            form(*[part(Sent("a", None, b""))] * 3),
            form(*[part(Sent("a", None, b""))] * 4),
            InvalidRequest,
        ),
        (
            form(part(Sent("a", None, b"x" * 20))),
            form(part(Sent("a", None, b"x" * 21))),
            BodyTooLarge,
        ),
        (
            # The first header has 38 bytes, the name of the second 1.
            form(part(Sent("a", None, b""), b"X:" + b"x" * 161)),
            form(part(Sent("a", None, b""), b"X:" + b"x" * 162)),
            InvalidRequest,
        ),
        (
            form(part(Sent("a", "f", b"x" * 4900))),
            form(part(Sent("a", "f", b"x" * 5000))),
            BodyTooLarge,
        ),
    ],
    ids=["parts", "field", "head", "whole"],
)
@pytest.mark.parametrize("places", [(), range(0, 5000, 7)], ids=["at once", "in pieces"])
async def test_form_is_accepted_up_to_each_limit(
    within: bytes, beyond: bytes, problem: type[Problem], places: Sequence[int]
) -> None:
    assert await received(chunks(*cut(within, places)), SMALL) != []
    with pytest.raises(problem):
        await received(chunks(*cut(beyond, places)), SMALL)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no form",
        b"--y\r\n\r\n--y--",
        form(b"\r\n1"),
        form(b"Content-Disposition: form-data\r\n\r\n1"),
        form(b'Content-Disposition: attachment; name="a"\r\n\r\n1'),
        form(part(Sent("a", None, b""), b'Content-Disposition: form-data; name="b"')),
        form(part(Sent("a", None, b""), b"no header")),
        form(part(Sent("a", None, b""), b"X: a\x00b")),
        form(part(Sent("a", None, b""), b"X: a\nY: b")),
        form(part(Sent("a", None, b""), b" folded")),
        form(part(Sent("a", None, b""), *[b"X: y"] * 20)),
    ],
)
async def test_malformed_form_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        await received(chunks(body))


@pytest.mark.parametrize(
    "value",
    [
        b"multipart/form-data",
        b'multipart/form-data; boundary=""',
        b'multipart/form-data; boundary="a "',
        b'multipart/form-data; boundary="a\xe4"',
        b"multipart/form-data; boundary=" + b"a" * 71,
    ],
)
async def test_form_without_a_valid_boundary_is_refused_unread(value: bytes) -> None:
    with pytest.raises(InvalidRequest, match="boundary"):
        await LARGE.read([(b"content-type", value)], nothing_read())


@pytest.mark.parametrize(
    "value", [b"", b"multipart/mixed; boundary=x", b"application/x-www-form-urlencoded"]
)
async def test_form_of_another_type_is_refused_unread(value: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="multipart/form-data"):
        await LARGE.read([(b"content-type", value)], nothing_read())


async def test_form_declared_too_large_is_refused_unread() -> None:
    with pytest.raises(BodyTooLarge):
        await SMALL.read([*FORM, (b"content-length", b"5001")], nothing_read())


async def test_form_of_a_disconnected_client_ends_there() -> None:
    one = await anext(await stream(broken_off(form(part(Sent("a", "f", b"12")))[:-9])))
    with pytest.raises(ClientLeft):
        await one.read(100)


async def test_form_does_not_read_ahead() -> None:
    arriving = Arriving([{"type": "http.request", "body": b"", "more_body": True}])
    await stream(arriving)
    assert arriving.asked == 0

"""Forms are bounded before they are parsed, and counted as they arrive."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
import trio
from antechamber.asgi import Event, Scope
from hypothesis import example, given
from hypothesis import strategies as st
from octavo_rules.problems import (
    BodyTooLarge,
    InvalidRequest,
    Problem,
    ServerBusy,
    UnsupportedMediaType,
)

from octavo.http.contract.memory_budget import MemoryBudget, Reservation
from octavo.http.pages.forms import (
    LONGEST_FORM,
    LONGEST_SMALL,
    LONGEST_TEXT,
    MOST_FIELDS,
    Form,
    SentForm,
)
from tests.fakes.page_reader import BOUNDARY, FIELDS, MULTIPART, multipart, multipart_fields

PART = b'--%b\r\ncontent-disposition: form-data; name="' % BOUNDARY.encode()
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=9)
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)


class Arriving:
    """A body of a form that arrives in chunks; ``left`` are those that nobody asked for."""

    def __init__(
        self, body: bytes, content_type: str, *, announced: bool, size: int = 65536
    ) -> None:
        self.left = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        headers = [(b"content-type", content_type.encode())]
        if announced:
            headers.append((b"content-length", b"%d" % len(body)))
        self.scope: Scope = {"headers": headers, "octavo.body": self.receive}
        self.budget = MemoryBudget()
        self.reservation = Reservation(self.budget, "192.0.2.7")

    async def receive(self) -> Event:
        await trio.lowlevel.checkpoint()
        chunk = self.left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(self.left)}

    async def read(self, *, large: bool) -> Form:
        return await SentForm(self.scope).read(self.reservation, large=large)


def text_part(size: int) -> bytes:
    return multipart_fields({"text": "x" * size})


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize(
    ("make", "content_type", "problem"),
    [
        (lambda _: b"a&" * (LONGEST_SMALL // 2) + b"a", FIELDS, BodyTooLarge),
        (lambda _: b"&" * MOST_FIELDS, FIELDS, InvalidRequest),
        (lambda most: text_part(most + 1), MULTIPART, BodyTooLarge),
        (lambda _: PART + b"x" * 9000, MULTIPART, InvalidRequest),
        (
            lambda _: multipart_fields({str(name): "" for name in range(MOST_FIELDS + 1)}),
            MULTIPART,
            InvalidRequest,
        ),
        (lambda _: PART + b'a"\r\n' + b"a: b\r\n" * 17, MULTIPART, InvalidRequest),
        (lambda _: b"--x" * 9, MULTIPART, InvalidRequest),
        (lambda _: b"text=%ff", FIELDS, InvalidRequest),
        (lambda _: b"{}", "application/json", UnsupportedMediaType),
        (lambda _: b"text=a", "multipart/form-data", InvalidRequest),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_form_beyond_its_bounds_is_refused(
    make: Callable[[int], bytes],
    content_type: str,
    problem: type[Problem],
    announced: bool,
    large: bool,
) -> None:
    body = make(LONGEST_TEXT if large else LONGEST_SMALL)
    arriving = Arriving(body, content_type, announced=announced)
    with pytest.raises(problem):
        await arriving.read(large=large)
    arriving.reservation.release()
    assert arriving.budget.held == 0


@pytest.mark.parametrize(("large", "limit"), [(False, LONGEST_SMALL), (True, LONGEST_FORM)])
async def test_form_that_announces_too_much_is_refused_before_a_byte_is_read(
    large: bool, limit: int
) -> None:
    arriving = Arriving(b"x", MULTIPART, announced=False)
    arriving.scope["headers"].append((b"content-length", b"%d" % (limit + 1)))
    with pytest.raises(BodyTooLarge):
        await arriving.read(large=large)
    assert arriving.left == [b"x"]


async def test_several_fields_share_the_limit_of_the_text() -> None:
    half = "x" * (LONGEST_TEXT // 2)
    arriving = Arriving(
        multipart_fields({"a": half, "b": half, "c": "x"}), MULTIPART, announced=True
    )
    with pytest.raises(BodyTooLarge):
        await arriving.read(large=True)


async def test_large_form_is_counted_until_the_response_was_sent() -> None:
    text = "ä" * (LONGEST_TEXT // 2)
    body = multipart({"text": text}, "image", "a.png", b"PNG")
    arriving = Arriving(body, MULTIPART, announced=True)
    form = await arriving.read(large=True)
    assert form.fields == {"text": text}
    assert form.files["image"].content.read() == b"PNG"
    assert (form.files["image"].name, form.files["image"].media_type) == ("a.png", "image/png")
    assert arriving.budget.held >= LONGEST_TEXT
    arriving.reservation.release()
    assert arriving.budget.held == 0


async def test_large_form_without_memory_is_refused() -> None:
    arriving = Arriving(text_part(LONGEST_TEXT // 2), MULTIPART, announced=True)
    with arriving.budget.hold("192.0.2.7", 64 * 1024 * 1024), pytest.raises(ServerBusy):
        await arriving.read(large=True)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=20), st.booleans(), st.integers(1, 50))
@example([("a", "first"), ("b", "x"), ("a", "second")], False, 50)
@example([("a", "first"), ("b", "x"), ("a", "second")], True, 50)
def test_form_has_the_first_field_of_each_name(
    fields: list[tuple[str, str]], is_multipart: bool, size: int
) -> None:
    expected: dict[str, str] = {}
    for name, value in fields:
        expected.setdefault(name, value)
    if is_multipart:
        body = (
            b"".join(PART + f'{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields)
            + f"--{BOUNDARY}--\r\n".encode()
        )
    else:
        body = urlencode(fields).encode()

    async def read() -> Form:
        content_type = MULTIPART if is_multipart else FIELDS
        return await Arriving(body, content_type, announced=False, size=size).read(large=False)

    assert trio.run(read).fields == expected

"""Forms with a file are read as they arrive: the fields first, then the file in slices."""

from collections.abc import AsyncIterator, Sequence

import pytest
from antechamber.asgi import Event, Scope
from hypothesis import given
from hypothesis import strategies as st
from octavo_rules.problems import InvalidRequest

from octavo.http.contract.bodies.body import ClientLeft
from octavo.http.pages import forms
from octavo.http.pages.forms import SentForm
from octavo.http.pages.uploads import Slices, open_upload
from tests.fakes.page_reader import BOUNDARY, multipart

TYPE = f"multipart/form-data; boundary={BOUNDARY}".encode()


class Connection:
    """The events of a request, and how many were taken."""

    def __init__(self, chunks: Sequence[bytes], *, leaves: bool = False) -> None:
        self._events: list[Event] = [
            {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
        ]
        if leaves:
            self._events.append({"type": "http.disconnect"})
        else:
            self._events[-1]["more_body"] = False
        self.taken = 0

    async def receive(self) -> Event:
        self.taken += 1
        return self._events[self.taken - 1]

    @property
    def scope(self) -> Scope:
        return {"headers": [(b"content-type", TYPE)], "octavo.body": self.receive}


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


async def test_fields_are_known_before_the_file_is_read() -> None:
    connection = Connection(cut(multipart({"token": "t"}, "archive", "a.zip", b"PK" * 500), 100))
    form = await open_upload(SentForm(connection.scope), 2**36)
    assert form.fields == {"token": "t"}
    assert form.file is not None
    assert (form.file.name, form.file.filename) == ("archive", "a.zip")
    assert connection.taken <= 3
    assert b"".join([chunk async for chunk in form.file]) == b"PK" * 500


async def test_form_without_a_file_has_its_fields() -> None:
    whole = multipart({"token": "t"}, "archive", "a.zip", b"")
    body = whole.replace(b'; filename="a.zip"', b"")
    form = await open_upload(SentForm(Connection([body]).scope), 2**36)
    assert (form.fields, form.file) == ({"token": "t", "archive": ""}, None)


async def test_field_that_is_no_text_is_refused() -> None:
    body = multipart({"token": "xx"}, "archive", "a.zip", b"").replace(b"xx", b"\xff")
    with pytest.raises(InvalidRequest):
        await open_upload(SentForm(Connection([body]).scope), 2**36)


async def test_client_that_leaves_is_noticed_in_the_file() -> None:
    body = multipart({}, "archive", "a.zip", b"PK" * 500)[:-20]
    form = await open_upload(SentForm(Connection(cut(body, 100), leaves=True).scope), 2**36)
    assert form.file is not None
    with pytest.raises(ClientLeft):
        [chunk async for chunk in form.file]


async def test_rest_of_a_form_is_discarded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = cut(multipart({}, "archive", "a.zip", bytes(5000)), 100)
    for limit, taken in ((10_000, len(chunks)), (1000, 12)):
        monkeypatch.setattr(forms, "MOST_DISCARDED", limit)
        connection = Connection(chunks)
        body = SentForm(connection.scope)
        await open_upload(body, 2**36)
        await body.discard()
        assert connection.taken == taken
        await body.discard()
        if taken == len(chunks):
            assert connection.taken == taken


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 12))
def test_slices_have_the_size_and_all_bytes(chunks: list[bytes], size: int) -> None:
    async def arriving() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[bytes]:
        slices, found = Slices(arriving(), size), []
        while await slices.more():
            found.append(b"".join([each async for each in slices]))
        return found

    steps = collect().__await__()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == cut(b"".join(chunks), size)

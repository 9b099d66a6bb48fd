"""The deadline of a request while it progresses."""

from collections.abc import AsyncIterator

from antechamber.asgi import Event

from octavo.http.contract.renewed_time import STEP_SIZE, RenewedTime
from tests.fakes.asgi_client import FakeExchange


async def test_body_that_progresses_has_more_time() -> None:
    exchange = FakeExchange()
    sizes = iter([STEP_SIZE - 1, 1, STEP_SIZE * 3, 0])

    async def receive() -> Event:
        return {"type": "http.request", "body": bytes(next(sizes)), "more_body": True}

    counted = RenewedTime(exchange, 7).receive(receive)  # type: ignore[arg-type]
    found: list[int] = []
    for _ in range(4):
        await counted()
        found.append(len(exchange.allowed))
    assert found == [0, 1, 2, 2]
    assert set(exchange.allowed) == {7}


async def test_response_that_progresses_has_more_time() -> None:
    exchange = FakeExchange()
    closed: list[bool] = []

    async def chunks() -> AsyncIterator[bytes]:
        try:
            for _ in range(4):
                yield bytes(STEP_SIZE // 2)
        finally:
            closed.append(True)

    counted = RenewedTime(exchange, 7).chunks(chunks())  # type: ignore[arg-type]
    found: list[int] = []
    async for chunk in counted:
        assert len(chunk) == STEP_SIZE // 2
        found.append(len(exchange.allowed))
    # Bytes count when the next ones are requested: they were sent then.
    assert found == [0, 0, 1, 1]
    assert closed == [True]


async def test_chunks_are_closed_with_the_response() -> None:
    closed: list[bool] = []

    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield b"a"
            yield b"b"
        finally:
            closed.append(True)

    counted = RenewedTime(FakeExchange(), 7).chunks(chunks())  # type: ignore[arg-type]
    assert await anext(counted) == b"a"
    await counted.aclose()  # type: ignore[attr-defined]
    assert closed == [True]


async def test_iterators_that_cannot_be_closed_are_accepted() -> None:
    class Plain:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            raise StopAsyncIteration

    counted = RenewedTime(FakeExchange(), 7).chunks(Plain())  # type: ignore[arg-type]
    await counted.aclose()  # type: ignore[attr-defined]
    assert [chunk async for chunk in counted] == []

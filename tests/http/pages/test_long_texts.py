"""The memory of a page is that of its request, from the shared budget."""

from typing import cast

import pytest
import trio
from antechamber.asgi import Application as ASGIApplication
from antechamber.asgi import Event
from quart_trio import QuartTrio

from octavo.http.contract.application import Application
from octavo.http.contract.memory_budget import COUNTED, MemoryBudget
from octavo.http.pages.long_texts import reservation
from tests.fakes.asgi_client import Response, scope_of

MIB = 1024 * 1024


async def get(application: Application, path: str) -> Response:
    response = Response()
    events: list[Event] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Event:
        if not events:
            await trio.sleep_forever()
        return events.pop()

    scope = {**scope_of("GET", path), "http_version": "1.1", "scheme": "http"}
    await application(scope, receive, response.take)
    return response


def beside(budget: MemoryBudget) -> Application:
    """An application with a page that takes the memory that its path names."""
    app = QuartTrio(__name__)

    @app.get("/<int:size>")
    async def page(size: int) -> str:
        await reservation().reserve(size)
        return f"{reservation().size} {budget.held}"

    return Application(
        [],
        new_id=lambda: "id",
        log_request=lambda record: None,
        memory=budget,
        fallback=cast("ASGIApplication", app),
    )


@pytest.mark.parametrize(("size", "counted"), [(COUNTED - 1, 0), (MIB, MIB), (2 * MIB, 2 * MIB)])
async def test_memory_of_a_page_is_counted_until_it_was_sent(size: int, counted: int) -> None:
    budget = MemoryBudget(4 * MIB, 2 * MIB)
    application = beside(budget)
    assert (await get(application, f"/{size}")).body == b"%d %d" % (counted, counted)
    assert budget.held == 0


async def test_page_without_room_for_it_is_refused(autojump_clock: object) -> None:
    budget = MemoryBudget(4 * MIB, 2 * MIB)
    application = beside(budget)
    with budget.reserve_unchecked("somebody else", 4 * MIB):
        assert (await get(application, f"/{MIB}")).status == 500
    assert (await get(application, f"/{MIB}")).status == 200

"""What a request costs: the calls of functions, counted."""

import sys
from dataclasses import replace
from types import FrameType

import trio

from octavo.http.contract.application import Application
from octavo.http.contract.call import Call
from octavo.http.contract.contract_model import ContractModel
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.http.contract.operation import Security, operation
from tests.fakes.http_server import QUICK, Client, serving

REQUESTS = 40
REQUEST = b"GET /api/well HTTP/1.1\r\nhost: a\r\nuser-agent: tests\r\naccept: */*\r\n\r\n"


class Well(ContractModel):
    status: str


class Wells:
    """A small operation."""

    @operation(
        id="well", method="GET", path="/api/well", tag="t", summary="Well", security=Security.NONE
    )
    async def well(self, call: Call) -> Well:
        return Well(status="well")


def application() -> Application:
    return Application(
        [Wells()], new_id=lambda: "made", log_request=lambda _: None, memory=MemoryBudget()
    )


async def ask(client: Client) -> None:
    response = await client.ask(REQUEST)
    assert response.status == 200


async def calls(client: Client) -> int:
    """The calls of Python functions in all requests, without those of the client."""
    asking = trio.lowlevel.current_task()
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        if event == "call" and not is_client():
            counted += 1

    def is_client() -> bool:
        try:
            return trio.lowlevel.current_task() is asking
        except RuntimeError:
            # Between two tasks.
            return False

    for _ in range(REQUESTS):
        sys.setprofile(count)
        try:
            await ask(client)
        finally:
            sys.setprofile(None)
    return counted


async def test_small_request_takes_few_calls() -> None:
    # Nothing else happens meanwhile: the watchdog sleeps.
    limits = replace(QUICK, tick=20)
    async with serving(application(), limits) as server, server.client() as client:
        await ask(client)
        assert 40 < await calls(client) / REQUESTS < 125

"""The work of HTTP/2: bounded for each network and for all, and shared in turns."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import h2.errors
import h2.events
import pytest
import trio
import trio.testing

from octavo.http.server.asgi import Receive, Scope, Send
from octavo.http.server.http2.pacing import Pacer, Share
from octavo.http.server.limits import Limits
from tests.fakes.http_server import QUICK, Client, Rounds, Server, routed, serving
from tests.http.server.conftest import Authority
from tests.http.server.test_error_boundary import http2_client, read_responses, request

LIMITS = replace(
    Limits(),
    http2_connections_per_client=3,
    http2_streams=6,
    http2_streams_per_client=4,
    http2_requests_per_second=100,
    http2_requests_per_second_per_client=20,
)
SECONDS = 10
BURST = 2


@asynccontextmanager
async def pacing(limits: Limits = LIMITS) -> AsyncIterator[Pacer]:
    async with trio.open_nursery() as nursery:
        pacer = Pacer(limits)
        nursery.start_soon(pacer.run)
        yield pacer
        nursery.cancel_scope.cancel()


def entered(pacer: Pacer, client: str | None, *, trusted: bool = False) -> Share:
    share = pacer.enter(client, trusted=trusted)
    assert share is not None
    return share


async def work_done(pacer: Pacer, shares: list[Share]) -> "Counter[str | None]":
    """The requests of connections that have one after the other, in `SECONDS`."""
    done: Counter[str | None] = Counter()

    async def connection(share: Share) -> None:
        while True:
            await pacer.turn(share)
            pacer.charge(share, 1, trio.current_time())
            done[share.network] += 1

    with trio.move_on_after(SECONDS):
        async with trio.open_nursery() as nursery:
            for share in shares:
                nursery.start_soon(connection, share)
    return done


async def test_network_has_its_rate_whatever_its_connections(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        shares = [entered(pacer, "192.0.2.1") for _ in range(3)]
        done = await work_done(pacer, shares)
        most = 20 * (SECONDS + BURST)
        assert 0.7 * most < done["192.0.2.1"] <= most


async def test_networks_share_the_rate_of_all_equally(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        shares = [entered(pacer, f"192.0.2.{number % 8}") for number in range(17)]
        done = await work_done(pacer, shares)
        assert 0.7 * 100 * SECONDS < sum(done.values()) <= 100 * (SECONDS + BURST)
        assert max(done.values()) - min(done.values()) <= 3


async def test_debt_of_a_network_outlives_its_connections(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        done: Counter[str | None] = Counter()
        begun = trio.current_time()
        for _ in range(60):
            share = entered(pacer, "192.0.2.1")
            await pacer.turn(share)
            done[share.network] += 1
            pacer.leave(share)
        # A connection costs four requests.
        assert trio.current_time() - begun > 60 * 4 / 20 - BURST - 1


async def test_connections_of_a_network_are_limited_and_those_of_a_proxy_are_not() -> None:
    async with pacing() as pacer:
        shares = [entered(pacer, f"2001:db8::{number}") for number in range(3)]
        assert pacer.enter("2001:db8::9", trusted=False) is None
        entered(pacer, "2001:db8:1::1")
        for _ in range(10):
            entered(pacer, "192.0.2.1", trusted=True)
            entered(pacer, None)
        pacer.leave(shares[0])
        entered(pacer, "2001:db8::9")


async def test_requests_in_progress_are_limited_for_a_network_and_for_all() -> None:
    async with pacing() as pacer:
        one, other = entered(pacer, "192.0.2.1"), entered(pacer, "192.0.2.2")
        for _ in range(4):
            assert pacer.has_room(one)
            pacer.open_stream(one)
        assert not pacer.has_room(one)
        for _ in range(2):
            assert pacer.has_room(other)
            pacer.open_stream(other)
        assert not pacer.has_room(other)
        pacer.close_stream(one)
        assert pacer.has_room(other)


async def test_networks_are_forgotten_when_nothing_is_left_to_pay(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        for number in range(100):
            pacer.leave(entered(pacer, f"192.0.2.{number}"))
        await trio.sleep(SECONDS)
        entered(pacer, "192.0.2.200")
        assert pacer.networks == 1


async def test_turn_is_immediate_while_nobody_else_has_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        one, other = entered(pacer, "192.0.2.1"), entered(pacer, "192.0.2.2")
        await trio.sleep(1)
        with trio.testing.assert_no_checkpoints():
            await pacer.turn(one)
        pacer.charge(one, 1, trio.current_time())
        for share in (one, other):
            with trio.testing.assert_checkpoints():
                await pacer.turn(share)
        await trio.sleep(1)
        with trio.testing.assert_no_checkpoints():
            await pacer.turn(other)


async def test_turns_of_many_are_given_one_in_a_round(
    autojump_clock: trio.testing.MockClock,
) -> None:
    rounds = Rounds()
    taken: Counter[int] = Counter()

    async def connection(pacer: Pacer, share: Share) -> None:
        await pacer.turn(share)
        pacer.charge(share, 0.1, trio.current_time())
        taken[rounds.count] += 1

    async with pacing() as pacer:
        shares = [entered(pacer, f"192.0.2.{number}") for number in range(30)]
        await trio.sleep(5)
        trio.lowlevel.add_instrument(rounds)
        async with trio.open_nursery() as nursery:
            for share in shares:
                nursery.start_soon(connection, pacer, share)
        trio.lowlevel.remove_instrument(rounds)
    assert taken.total() == 30
    # The first beside the rotation, and one of it.
    assert max(taken.values()) <= 2


async def test_cancelled_connection_takes_no_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with pacing() as pacer:
        share = entered(pacer, "192.0.2.1")
        pacer.charge(share, 1_000, trio.current_time())
        with trio.move_on_after(0.1) as waiting:
            await pacer.turn(share)
        assert waiting.cancelled_caught
        with trio.fail_after(10):
            await pacer.turn(share)


async def other_client(server: Server) -> Client:
    """A client at another address of this machine."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port, local_address="127.0.0.2")
    return Client(stream)


async def test_connection_over_the_limit_gets_goaway_and_another_address_is_served() -> None:
    limits = replace(QUICK, http2_connections_per_client=1)
    async with (
        serving(limits=limits) as server,
        server.client() as first,
        server.client() as second,
    ):
        held = await http2_client(server, first)
        refused = await http2_client(server, second)
        events = refused.receive_data(await second.rest())
        [end] = [each for each in events if isinstance(each, h2.events.ConnectionTerminated)]
        assert end.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        other = await other_client(server)
        for connection, client in ((held, first), (await http2_client(server, other), other)):
            number = request(connection, "/well")
            await client.send(connection.data_to_send())
            assert (await read_responses(connection, client, 1))[number][0] == "200"
        await other.stream.aclose()


async def test_connection_over_the_limit_gets_goaway_under_tls(authority: Authority) -> None:
    limits = replace(QUICK, http2_connections_per_client=1)
    tls = authority.context("h2")
    async with (
        serving(limits=limits, certificate=authority.certificate, tls=tls) as server,
        server.client() as first,
        server.client() as second,
    ):
        held = await http2_client(server, first)
        number = request(held, "/well")
        await first.send(held.data_to_send())
        assert (await read_responses(held, first, 1))[number][0] == "200"
        refused = await http2_client(server, second)
        events = refused.receive_data(await second.rest())
        [end] = [each for each in events if isinstance(each, h2.events.ConnectionTerminated)]
        assert end.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("connections", [1, 4])
async def test_requests_over_the_limit_of_a_network_are_refused_on_all_its_connections(
    connections: int,
) -> None:
    async def sleepy(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep_forever()

    limits = replace(QUICK, http2_streams_per_client=8, tick=20)
    async with serving(routed({"/sleepy": sleepy}), limits) as server:
        refused = 0
        held = []
        for _ in range(connections):
            stream = await trio.open_tcp_stream("127.0.0.1", server.port)
            client = Client(stream)
            connection = await http2_client(server, client)
            for _ in range(12 // connections):
                request(connection, "/sleepy")
            await client.send(connection.data_to_send())
            await trio.testing.wait_all_tasks_blocked(0.05)
            held.append((connection, client))
        for connection, client in held:
            events = connection.receive_data(await client.stream.receive_some(65_536))
            refused += sum(isinstance(each, h2.events.StreamReset) for each in events)
            await client.stream.aclose()
        assert refused == 4

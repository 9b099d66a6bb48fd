"""Clients that connect while the service is busy are still accepted, and soon."""

import socket
import struct
from contextlib import ExitStack
from dataclasses import replace

import trio
from antechamber.limits import BACKLOG

from .conftest import Authority
from .http_server import QUICK, Rounds, serving

MANY = 300
LIMITS = replace(QUICK, header_timeout=20.0, connections_per_client=2 * MANY)
REQUEST = b"GET /well HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"


def connect_many(port: int, stack: ExitStack) -> list[socket.socket]:
    # No await between them: they all wait at the socket when the service accepts.
    return [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(MANY)]


async def test_waiting_clients_are_accepted_many_per_round() -> None:
    async with serving(limits=LIMITS) as server:
        with ExitStack() as stack:
            clients = connect_many(server.port, stack)
            for client in clients:
                client.sendall(REQUEST)
            rounds = Rounds()
            trio.lowlevel.add_instrument(rounds)
            with trio.fail_after(20):
                await trio.lowlevel.wait_readable(clients[-1])
            trio.lowlevel.remove_instrument(rounds)
            for client in clients:
                with trio.fail_after(20):
                    await trio.lowlevel.wait_readable(client)
                assert client.recv(12) == b"HTTP/1.1 200"
            # As many rounds as clients, if each round accepted one.
            assert rounds.count < MANY // 10


async def test_waiting_clients_are_accepted_under_tls(authority: Authority) -> None:
    context = authority.context()
    async with serving(limits=LIMITS, certificate=authority.certificate, tls=context) as server:
        with ExitStack() as stack:
            connect_many(server.port, stack)
            assert await server.is_well()


async def test_stopping_service_accepts_nobody() -> None:
    async with serving(limits=LIMITS) as server:
        with ExitStack() as stack:
            server.shutdown.set()
            connect_many(server.port, stack)
            with trio.fail_after(20):
                await server.ended.wait()


async def test_listen_queue_keeps_its_configured_length() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    async with serving(listener=listener):
        information = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
        # For a listening socket, tcpi_sacked is the limit of its queue (tcp_get_info in Linux).
        [bound] = struct.unpack_from("I", information, 28)
        assert bound == BACKLOG

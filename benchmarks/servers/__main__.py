"""Run one workload on one server, until killed: ``python -m benchmarks.servers NAME PORT``."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import hypercorn.trio
import trio
import uvicorn
from antechamber import Limits, ServerOptions, raise_file_limit, serve
from hypercorn.config import Config

from benchmarks.servers import workloads
from octavo.http.contract.request_context import request_log

BACKLOG = 2048
LIMITS = Limits(
    header_timeout=10,
    head_size=16_384,
    header_count=100,
    target_length=8_192,
    body_timeout=20,
    request_timeout=60,
    idle_timeout=600,
    write_timeout=20,
    connections=20_000,
    connections_per_client=20_000,
    requests_per_connection=1_000_000_000,
)


def on_octavo(application: Any, port: int) -> None:  # noqa: ANN401  # ASGI in several words
    raise_file_limit(15_000)
    options = ServerOptions(
        now=lambda: 1_790_000_000.0,
        new_id=lambda: "0190a0b0-0000-7000-8000-00000000000a",
        limits=LIMITS,
    )
    listener = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    listener.setblocking(False)
    trio.run(
        partial(
            serve,
            application,
            [listener],
            options,
            shutdown=trio.sleep_forever,
            shutdown_timeout=1.0,
        )
    )


def on_hypercorn(application: Any, port: int) -> None:  # noqa: ANN401
    raise_file_limit(15_000)
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.backlog = BACKLOG
    config.errorlog = None
    config.keep_alive_timeout = 600
    config.keep_alive_max_requests = 1_000_000_000
    trio.run(partial(hypercorn.trio.serve, application, config, mode="asgi"))


def on_uvicorn(application: Any, port: int) -> None:  # noqa: ANN401
    raise_file_limit(15_000)
    uvicorn.run(
        application,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        backlog=BACKLOG,
        timeout_keep_alive=600,
    )


SERVERS: dict[str, Callable[[int], None]] = {
    "wire": partial(on_octavo, workloads.bare),
    "octavo": lambda port: on_octavo(
        workloads.contract(request_log(workloads.line_log().write)), port
    ),
    "wire-quart": lambda port: on_octavo(workloads.quart_pages(), port),
    "hypercorn": partial(on_hypercorn, workloads.bare),
    "hypercorn-quart": lambda port: on_hypercorn(workloads.quart_pages(), port),
    "uvicorn": partial(on_uvicorn, workloads.bare),
    "uvicorn-quart": lambda port: on_uvicorn(workloads.quart_on_asyncio(), port),
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]))

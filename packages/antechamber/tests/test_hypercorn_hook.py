"""The hook into hypercorn: still needed, and inactive unless requested."""

import inspect

import hypercorn.trio.run
import trio
from antechamber.serve import HypercornConfig
from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.trio.tcp_server import TCPServer

from .http_server import Client, echo


def test_hypercorn_has_no_way_to_supply_a_connection_handler() -> None:
    # When one of these fails, check whether hypercorn has an extension point, and drop the hook.
    assert list(inspect.signature(serve).parameters) == [
        "app",
        "config",
        "shutdown_trigger",
        "task_status",
        "mode",
    ]
    assert "TCPServer" in inspect.getsource(hypercorn.trio.run.worker_serve)
    assert list(inspect.signature(TCPServer).parameters) == [
        "app",
        "config",
        "context",
        "state",
        "stream",
    ]


async def test_configuration_without_the_hook_gets_the_server_of_hypercorn() -> None:
    assert hypercorn.trio.run.TCPServer is not TCPServer  # type: ignore[attr-defined]
    config = Config()
    assert not isinstance(config, HypercornConfig)
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    async with trio.open_nursery() as nursery:
        [url] = await nursery.start(serve, echo, config)
        stream = await trio.open_tcp_stream("127.0.0.1", int(url.rpartition(":")[2]))
        async with stream:
            found = await Client(stream).ask(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            assert found["server"] == "hypercorn-h11"
        nursery.cancel_scope.cancel()

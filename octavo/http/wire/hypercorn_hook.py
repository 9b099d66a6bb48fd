"""The one place where the wire takes the part of hypercorn's own TCP server.

hypercorn has no seam for it: `hypercorn.trio.run.worker_serve` names the class TCPServer of its
own module. That name is bound anew here, once, and the choice is made by the configuration: one
that carries no wire gets hypercorn's own server, so nobody else in the process notices.
"""

from collections.abc import Awaitable

import hypercorn.trio.run
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, LifespanState

from octavo.http.wire.wire import Stream, Wire


class WireConfig(Config):
    """A configuration of hypercorn whose connections are served by ``wire``."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.wire = wire


def _open_connection(
    app: AppWrapper,
    config: Config,
    context: WorkerContext,
    state: LifespanState,
    stream: Stream,
) -> Awaitable[None]:
    if isinstance(config, WireConfig):
        config.wire.state = state
        return config.wire.serve(stream, config)
    return TCPServer(app, config, context, state, stream)  # type: ignore[arg-type]


hypercorn.trio.run.TCPServer = _open_connection  # type: ignore[assignment, attr-defined]

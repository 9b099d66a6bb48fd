"""Serve notice streams: every accepted WebSocket listens to the notice hub."""

import trio
from antechamber.websocket import Frame, ServerWebSocket, WebSockets
from antechamber.websocket.shared_timer import SharedTimer

from octavo.actors.notice_hub import NoticeHub
from octavo.features.sync.api.notices import StreamCaller
from octavo.ws.notice_stream import MAX_MESSAGE, NoticeStream

CHECKED_EVERY = 10.0
"""Seconds between two checks of a stream's authorization, besides the immediate notifications."""


class NoticeStreams:
    """The notice streams of all callers.

    Args:
        hub: announces the positions of workspaces.
        check_every: seconds between two checks of a stream's authorization, besides the immediate
            notifications.
        close_time: seconds for the closing handshake.
        ping_interval: seconds between pings; None sends none.
    """

    def __init__(
        self,
        hub: NoticeHub[Frame],
        *,
        check_every: float = CHECKED_EVERY,
        close_time: float = 5.0,
        ping_interval: float | None = 30.0,
    ) -> None:
        self._hub = hub
        self._checks = SharedTimer(check_every, NoticeStream.recheck_access)
        self._sockets = WebSockets(
            max_message_size=MAX_MESSAGE, close_time=close_time, ping_interval=ping_interval
        )

    async def run(self) -> None:
        """Deliver notices, keep the streams alive and check them, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hub.run)
            nursery.start_soon(self._sockets.run)
            nursery.start_soon(self._checks.run)

    async def serve(
        self,
        stream: trio.abc.HalfCloseableStream,
        caller_state: StreamCaller,
        *,
        stopping: trio.Event,
    ) -> None:
        """Serve one stream until the client leaves, loses its access, or the server stops.

        Args:
            stream: begins with the first frame; it is closed in any case.
            caller_state: the caller, and the checks of what the caller may still receive.
            stopping: closes the stream with 1001; the same for all streams.

        When cancelled, the socket is closed immediately, without a close frame.
        """

        async def listen(connection: ServerWebSocket) -> None:
            await NoticeStream(
                connection,
                self._hub,
                account_id=caller_state.caller.account_id,
                workspace_access=caller_state.workspace_access,
                still_valid=caller_state.still_valid,
                checks=self._checks,
            ).run()

        await self._sockets.serve(stream, listen, stopping=stopping)

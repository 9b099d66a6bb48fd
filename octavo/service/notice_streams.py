"""Serve notice streams: every accepted WebSocket listens to the notice hub."""

from dataclasses import dataclass

import trio

from octavo.actors.notice_hub import NoticeHub
from octavo.http.api.notices import StreamCaller
from octavo.ws import Frame, ServerWebSocket, serve_websocket
from octavo.ws.notice_stream import MAX_MESSAGE, SUBPROTOCOL, NoticeStream


@dataclass(frozen=True, slots=True)
class NoticeStreams:
    """The notice streams of all callers.

    Attributes:
        hub: announces the positions of workspaces.
        check_every: seconds between two checks of a stream's authorization, besides the immediate
            notifications.
        close_time: seconds for the closing handshake.
        ping_interval: seconds between pings; None sends none.
    """

    hub: NoticeHub[Frame]
    check_every: float = 10.0
    close_time: float = 5.0
    ping_interval: float | None = 30.0

    async def serve(
        self,
        stream: trio.abc.HalfCloseableStream,
        caller_state: StreamCaller,
        *,
        stopping: trio.Event,
        request_id: str,
    ) -> None:
        """Serve one stream until the client leaves, loses its access, or the server stops.

        Args:
            stream: begins with the request for the WebSocket; it is closed in any case.
            caller_state: the caller, and the checks of what the caller may still receive.
            stopping: closes the stream with 1001.
            request_id: repeated in the response to the request.

        When cancelled, the socket is closed immediately, without a close frame.
        """

        async def listen(connection: ServerWebSocket) -> None:
            await NoticeStream(
                connection,
                self.hub,
                account_id=caller_state.caller.account_id,
                workspace_access=caller_state.workspace_access,
                still_valid=caller_state.still_valid,
                check_every=self.check_every,
            ).run()

        await serve_websocket(
            stream,
            listen,
            subprotocol=SUBPROTOCOL,
            stopping=stopping,
            max_message_size=MAX_MESSAGE,
            close_time=self.close_time,
            ping_interval=self.ping_interval,
            headers=[(b"x-request-id", request_id.encode())],
        )

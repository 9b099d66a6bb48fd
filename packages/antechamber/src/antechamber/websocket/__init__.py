"""WebSockets (RFC 6455) on streams that the HTTP server has upgraded.

`WebSockets` serves those of a server; each handler gets a `ServerWebSocket`, whose methods raise
`ConnectionGone` at its end. `message_frame` encodes a message once for many connections.
"""

from antechamber.websocket.connection import ConnectionGone, ServerWebSocket
from antechamber.websocket.frames import Frame, message_frame
from antechamber.websocket.serving import Handler, WebSockets

__all__ = [
    "ConnectionGone",
    "Frame",
    "Handler",
    "ServerWebSocket",
    "WebSockets",
    "message_frame",
]

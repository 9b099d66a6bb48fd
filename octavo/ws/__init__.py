"""WebSockets (RFC 6455) on streams that the HTTP server has upgraded.

`serve_websocket` serves one; its handler gets a `ServerWebSocket`, whose methods raise
`ConnectionGone` at its end. `message_frame` encodes a message once for many connections.
"""

from octavo.ws.connection import ConnectionGone, ServerWebSocket
from octavo.ws.frames import Frame, message_frame
from octavo.ws.serving import Handler, serve_websocket

__all__ = [
    "ConnectionGone",
    "Frame",
    "Handler",
    "ServerWebSocket",
    "message_frame",
    "serve_websocket",
]

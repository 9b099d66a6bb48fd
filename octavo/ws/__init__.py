"""WebSockets (RFC 6455) on streams that the HTTP server hands over.

`serve_websocket` serves one; its handler gets a `ServerWebSocket`, and learns of the end of it by
`ConnectionGone`. What many connections are sent is encoded once, by `message_frame`.
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

"""WebSockets (RFC 6455) on streams that the HTTP server hands over.

`serve_websocket` serves one; its handler gets a `Connection`, and learns of the end of it by
`ConnectionGone`. What many connections are sent is encoded once, by `message_frame`.
"""

from .connection import Connection, ConnectionGone
from .frames import Frame, message_frame
from .serving import Handler, serve_websocket

__all__ = ["Connection", "ConnectionGone", "Frame", "Handler", "message_frame", "serve_websocket"]

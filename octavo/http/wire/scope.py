"""A request in the words of ASGI."""

from collections.abc import Mapping

from octavo.http.wire.asgi import Scope
from octavo.http.wire.head import Head

Address = tuple[str, int]


def asgi_scope(
    head: Head,
    client: Address | None,
    server: Address | None,
    scheme: str,
    state: Mapping[str, object],
    exchange: object,
) -> Scope:
    """Answer the scope of a request over HTTP/1: of ``http``, or of ``websocket``.

    ``scheme`` is http or https; ``state`` is that of the lifespan, which the scope gets a copy
    of; ``exchange`` is what the application finds as the extension ``octavo``.
    """
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": head.version,
        "method": head.method,
        "scheme": scheme,
        "path": head.path,
        "raw_path": head.raw_path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers,
        "client": client,
        "server": server,
        "state": dict(state),
        "extensions": {"octavo": exchange},
    }
    if head.websocket:
        scope["type"] = "websocket"
        scope["scheme"] = "wss" if scheme == "https" else "ws"
        del scope["method"]
        scope["subprotocols"] = [
            token.strip()
            for name, value in head.headers
            if name == b"sec-websocket-protocol"
            for token in value.decode("latin-1").split(",")
        ]
        scope["extensions"]["websocket.http.response"] = {}
    return scope

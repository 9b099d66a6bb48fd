"""The wire: HTTP/1.1 on the socket, in the place of hypercorn's own TCP server.

`serve` runs any ASGI application on it. It knows nothing of what the application serves; the
application finds what ASGI has no word for as `Extension` in ``scope["extensions"]["octavo"]``.
"""

from octavo.http.server.asgi import (
    Application,
    Event,
    Extension,
    Receive,
    Scope,
    Send,
    extension_of,
)
from octavo.http.server.certificate import Certificate, CertificateError, check_certificate
from octavo.http.server.connection_handler import ServerOptions
from octavo.http.server.limits import Limits, make_room
from octavo.http.server.proxies import ForwardedHeader, Network, parse_networks
from octavo.http.server.rejection import SERVER_PROBLEMS, ClientGone, ServerProblem
from octavo.http.server.rejection_writer import RejectedRequest
from octavo.http.server.response import BadAnswer
from octavo.http.server.serve import serve

__all__ = [
    "SERVER_PROBLEMS",
    "Application",
    "BadAnswer",
    "Certificate",
    "CertificateError",
    "ClientGone",
    "Event",
    "Extension",
    "ForwardedHeader",
    "Limits",
    "Network",
    "Receive",
    "RejectedRequest",
    "Scope",
    "Send",
    "ServerOptions",
    "ServerProblem",
    "check_certificate",
    "extension_of",
    "make_room",
    "parse_networks",
    "serve",
]

"""The wire: HTTP/1.1 on the socket, in the place of hypercorn's own TCP server.

`serve` runs any ASGI application on it. It knows nothing of what the application serves; the
application finds what ASGI has no word for as `Extension` in ``scope["extensions"]["octavo"]``.
"""

from octavo.http.wire.asgi import Application, Event, Receive, Scope, Send
from octavo.http.wire.certificate import Certificate, CertificateError, check_certificate
from octavo.http.wire.extension import Extension, extension_of
from octavo.http.wire.forwarded import ForwardedHeader, Network, parse_networks
from octavo.http.wire.limits import Limits
from octavo.http.wire.open_files import make_room
from octavo.http.wire.refusal import WIRE_PROBLEMS, ClientGone, WireProblem
from octavo.http.wire.refusals import Refused
from octavo.http.wire.response import BadAnswer
from octavo.http.wire.server import serve
from octavo.http.wire.wire import WireOptions

__all__ = [
    "WIRE_PROBLEMS",
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
    "Refused",
    "Scope",
    "Send",
    "WireOptions",
    "WireProblem",
    "check_certificate",
    "extension_of",
    "make_room",
    "parse_networks",
    "serve",
]

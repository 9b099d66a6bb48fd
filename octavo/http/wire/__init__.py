"""The wire: HTTP/1.1 on the socket, in the place of hypercorn's own TCP server.

`serve` runs any ASGI application on it. It knows nothing of what the application serves; the
application finds what ASGI has no word for in ``scope["extensions"]["octavo"]``.
"""

from octavo.http.wire.certificate import Certificate, CertificateError, check_certificate
from octavo.http.wire.limits import Limits
from octavo.http.wire.open_files import make_room
from octavo.http.wire.refusal import WIRE_PROBLEMS
from octavo.http.wire.server import serve
from octavo.http.wire.wire import Refused, WireOptions

__all__ = [
    "WIRE_PROBLEMS",
    "Certificate",
    "CertificateError",
    "Limits",
    "Refused",
    "WireOptions",
    "check_certificate",
    "make_room",
    "serve",
]

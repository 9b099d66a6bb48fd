"""Serve ASGI applications over HTTP/1.1, replacing hypercorn's TCP server.

`serve` runs any ASGI application and does not depend on what the application does. What ASGI does
not define is passed as `Extension` in ``scope["extensions"]["octavo"]``.
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
from octavo.http.server.limits import Limits, raise_file_limit
from octavo.http.server.proxies import ForwardedHeader, Network, parse_networks
from octavo.http.server.rejection import SERVER_PROBLEMS, ClientGone, ServerProblem
from octavo.http.server.rejection_writer import RejectedRequest
from octavo.http.server.response import InvalidResponse
from octavo.http.server.serve import serve

__all__ = [
    "SERVER_PROBLEMS",
    "Application",
    "Certificate",
    "CertificateError",
    "ClientGone",
    "Event",
    "Extension",
    "ForwardedHeader",
    "InvalidResponse",
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
    "parse_networks",
    "raise_file_limit",
    "serve",
]

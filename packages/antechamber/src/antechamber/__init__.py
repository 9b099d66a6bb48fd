"""Serve ASGI applications over HTTP/1.1, replacing hypercorn's TCP server.

`serve` runs any ASGI application and does not depend on what the application does. What ASGI does
not define is passed as `Extension` in ``scope["extensions"]["antechamber"]``.
"""

from antechamber.asgi import Application, Event, Extension, Receive, Scope, Send, extension_of
from antechamber.connection_handler import ServerOptions
from antechamber.limits import Limits, raise_file_limit
from antechamber.listener import Certificate, CertificateError, check_certificate
from antechamber.proxies import ForwardedHeader, Network, parse_networks
from antechamber.rejection import SERVER_PROBLEMS, ClientGone, ServerProblem
from antechamber.rejection_writer import RejectedRequest
from antechamber.response import InvalidResponse
from antechamber.serve import serve

__version__ = "0.1.0"

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

"""What an operation reads: the kinds of body, each bounded while it arrives, and its problems.

A kind is declared with an operation; the pipeline asks it to `BodyKind.read` the body.
"""

from octavo.http.bodies.arrival import BodyStream, declared_size
from octavo.http.bodies.client_left import ClientLeft
from octavo.http.bodies.form import FormBody, form_body
from octavo.http.bodies.json_body import JsonBody, json_body
from octavo.http.bodies.kind import BodyKind
from octavo.http.bodies.multipart import MultipartBody, MultipartStream, Part, multipart_body
from octavo.http.bodies.parts import PartBounds
from octavo.http.bodies.raw import RawBody, raw_body

__all__ = [
    "BodyKind",
    "BodyStream",
    "ClientLeft",
    "FormBody",
    "JsonBody",
    "MultipartBody",
    "MultipartStream",
    "Part",
    "PartBounds",
    "RawBody",
    "declared_size",
    "form_body",
    "json_body",
    "multipart_body",
    "raw_body",
]

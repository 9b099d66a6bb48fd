"""The kinds of request bodies, limited as they arrive, and their problems.

An operation declares a kind; the pipeline calls its `BodyKind.read`.
"""

from octavo.http.contract.bodies.body_kind import BodyKind
from octavo.http.contract.bodies.body_reader import BodyStream, ClientLeft, declared_size
from octavo.http.contract.bodies.form import FormBody, form_body
from octavo.http.contract.bodies.json_body import JsonBody, json_body
from octavo.http.contract.bodies.multipart import (
    MultipartBody,
    MultipartStream,
    Part,
    multipart_body,
)
from octavo.http.contract.bodies.part_cutter import PartBounds
from octavo.http.contract.bodies.raw_body import RawBody, raw_body

"""The kinds of request bodies, limited as they arrive, and their problems.

An operation declares a kind; the pipeline calls its `BodyKind.read`.
"""

from octavo.http.contract.bodies.body import (
    BodyKind,
    BodyStream,
    ClientLeft,
    RawBody,
    declared_size,
    raw_body,
)
from octavo.http.contract.bodies.form import FormBody, form_body
from octavo.http.contract.bodies.json_body import JsonBody, json_body
from octavo.http.contract.bodies.multipart import (
    MultipartBody,
    MultipartStream,
    Part,
    PartBounds,
    multipart_body,
)

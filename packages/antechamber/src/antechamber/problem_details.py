"""Problem details (RFC 9457), the format of every error response."""

import json
from collections.abc import Mapping
from http import HTTPStatus

MEDIA_TYPE = "application/problem+json"
# The page of a code is at this path followed by the code.
PAGES = "/problems/"
_TITLES = {status.value: status.phrase for status in HTTPStatus}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def problem_document(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    members: Mapping[str, object] | None = None,
    base: str = "",
) -> bytes:
    """Return problem details as compact JSON in UTF-8.

    ``code`` is stable and for programs; ``detail`` is for people and says what to do; ``members``
    are extension members (RFC 9457 section 3.2). ``base`` is the public address of the
    installation, without a trailing slash; if empty, ``type`` is a relative reference (RFC 9457
    section 3.1.1).
    """
    document = {
        "type": f"{base}{PAGES}{code}",
        "title": _TITLES[status],
        "status": status,
        "detail": detail,
        "code": code,
        "requestId": request_id,
        **(members or {}),
    }
    return _encode(document).encode()

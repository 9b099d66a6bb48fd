"""A whole answer as a value: status, headers and body; and problem details (RFC 9457)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer that is known before its first byte is sent.

    ``headers`` holds what this answer adds; length and media type follow from the body.
    """

    status: int
    body: bytes
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def wire_headers(self) -> list[tuple[bytes, bytes]]:
        """Answer all headers as bytes, names in lower case, as ASGI wants them."""
        of_the_body = (("content-type", self.media_type), ("content-length", str(len(self.body))))
        return [(name.encode(), value.encode()) for name, value in (*of_the_body, *self.headers)]


def json_answer(status: int, members: Mapping[str, object], media_type: str = JSON) -> Answer:
    """Answer ``members`` as compact JSON in UTF-8."""
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    return Answer(status, text.encode(), media_type)


def problem(status: int, code: str, detail: str, request_id: str, **members: object) -> Answer:
    """Answer a refusal as problem details.

    ``code`` is stable and for programs, ``detail`` is for people and says what to do;
    ``members`` are added as they are. The type is ``about:blank``, so the title is the status
    phrase (RFC 9457 section 4.2.1).
    """
    return json_answer(
        status,
        {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "code": code,
            "requestId": request_id,
            **members,
        },
        PROBLEM,
    )

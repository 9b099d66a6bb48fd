"""Examples for the operations on published links and on reports of them."""

from octavo.http.api.examples.shared import ACCOUNT, REMOVED, WORKSPACE
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_LINK = "019cfc02-91e4-7b6d-a3c8-60f2d95b17e4"
_TOKEN = "qT3ZrE0kL9dVYw5mXcB7uHs2PaJfGn8o"
_LINK_DOCUMENT: Json = {
    "id": _LINK,
    "target": {"kind": "folder", "fileId": None, "path": "recipes/bread"},
    "label": "Ada's kitchen notes",
    "expiresAt": "2026-12-31T23:00:00.000Z",
    "hasPassword": True,
    "openings": None,
    "state": "live",
    "obstacle": None,
    "createdAt": "2026-03-17T10:02:44.196Z",
    "createdBy": ACCOUNT,
}

PUBLISHING: dict[str, Example] = {
    "createPublishedLink": Example(
        request={
            "target": {"kind": "folder", "path": "recipes/bread"},
            "expiresAt": "2026-12-31T23:00:00Z",
            "password": "sourdough",
            "label": "Ada's kitchen notes",
        },
        response={
            **_LINK_DOCUMENT,
            "token": _TOKEN,
            "address": f"https://notes.example.org/published/{_TOKEN}",
        },
    ),
    "listPublishedLinks": Example(response={"items": [_LINK_DOCUMENT], "next": None}),
    "revokePublishedLink": REMOVED,
    "openPublishedPage": Example(request={"password": "sourdough"}),
    "reportPublishedLink": Example(
        request={"reason": "copyright", "note": "The pictures are mine."}
    ),
    "listReports": Example(
        response={
            "items": [
                {
                    "id": "019cfd10-5a2b-7e90-8c14-b7d3f6a02e59",
                    "publicationId": _LINK,
                    "workspaceId": WORKSPACE,
                    "reason": "copyright",
                    "note": "The pictures are mine.",
                    "address": "https://notes.example.org/published/"
                    "Zk1vC8yQmR4tNw7hLp0sXbD6uJaEfG3o",
                    "reportedAt": "2026-03-19T18:41:07.330Z",
                }
            ],
            "next": None,
        }
    ),
    "dismissReport": REMOVED,
    "takeDownReportedLink": REMOVED,
}
"""The examples, by operation id."""

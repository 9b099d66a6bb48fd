"""Examples for the operations on images."""

from octavo.http.api.examples.shared import ACCOUNT
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_LOAF = "019cfb10-3d51-7a1c-9b42-0c7de5f1a836"
_PATH = "attachments/Loaf.jpg"
_MUTATION = "019cfb10-3d52-7f08-8c65-d1b3907ae4f2"
_DIGEST = "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab"
_REVISION: Json = {
    "id": "019cfb10-3d5c-7c27-a1b4-96f20e8d7c53",
    "fileId": _LOAF,
    "position": 13,
    "kind": "attachment",
    "path": _PATH,
    "digest": _DIGEST,
    "size": 482_133,
    "mediaType": "image/jpeg",
    "author": ACCOUNT,
    "createdAt": "2026-03-17T09:12:30.684Z",
    "mutationId": _MUTATION,
    "origin": "device",
}

ATTACHMENTS: dict[str, Example] = {
    "uploadAttachment": Example(
        response={
            "objectId": "019cfb0f-f2a0-7e44-b0d8-5a2f6c91e307",
            "digest": _DIGEST,
            "size": 482_133,
            "mediaType": "image/jpeg",
            "width": 2400,
            "height": 1800,
            "frames": 1,
            "expiresAt": "2026-03-18T09:12:11.552Z",
        }
    ),
    "finalizeAttachment": Example(
        request={"path": _PATH, "fileId": _LOAF, "mutationId": _MUTATION},
        response={
            "fileId": _LOAF,
            "outcome": "created",
            "revision": _REVISION,
            "position": 13,
            "path": _PATH,
        },
    ),
}
"""The examples, by operation id."""

"""Examples for the operations on images and archives."""

from octavo.http.api.examples.shared import ACCOUNT, REMOVED
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
_IMPORT = "019cfb21-77b0-7d35-8e19-4f60c2ab9d15"
_RESULT: Json = {
    "notes": 312,
    "attachments": 48,
    "leftOut": {"settings": 9, "history": 0, "other": 3},
    "cleaned": 0,
    "position": 17,
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
    "startWorkspaceImport": Example(
        request={"size": 41_889_024},
        response={"importId": _IMPORT, "partSize": 33_554_432, "maxParts": 2048},
    ),
    "putImportPart": Example(
        response={
            "number": 2,
            "size": 8_334_592,
            "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        }
    ),
    "getWorkspaceImport": Example(
        response={
            "importId": _IMPORT,
            "state": "running",
            "parts": [1, 2],
            "received": [],
            "read": 20_115_331,
            "total": 52_428_112,
            "result": None,
            "failure": None,
        }
    ),
    "completeWorkspaceImport": Example(response=_RESULT),
    "abortWorkspaceImport": REMOVED,
}
"""The examples, by operation id."""

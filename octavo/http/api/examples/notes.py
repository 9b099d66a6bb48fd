"""Examples for the operations on workspaces, files and the service."""

from hashlib import sha256

from octavo.http.api.examples.shared import ACCOUNT, REMOVED, WORKSPACE, WORKSPACE_DOCUMENT
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_BREAD = "019cebab-8995-74d1-8c57-e2a9614bf038"
_BREAD_PATH = "Recipes/Bread.md"
_BREAD_TEXT = "# Bread\n\nUses [[Sourdough]].\n"
_BAKED_TEXT = "# Bread\n\nUses [[Sourdough]].\n\nBake for 40 minutes.\n"
_ASSISTANT = "019cfd21-77d0-7c3e-9a41-5e2b8f60c4d1"
_SOURDOUGH = "019ce338-62de-7a85-95e3-37b0c8f1d264"
_SOURDOUGH_PATH = "Recipes/Sourdough.md"
_SOURDOUGH_TEXT = "# Sourdough\n\nMade with [[Rye]].\n"
_CREATE = "019cebab-8996-711c-8f3e-6ad2095b7e84"
_UPDATE = "019cebce-9f62-77b2-97d4-8e13f6c0a259"
_RESTORE = "019cf072-d1f9-7c64-8a91-b7250ed3f81c"
_PURGE = "019cf846-a4c2-708e-9c7b-52f46a1d03be"
# A Yjs document with the text of the note, the update that adds its last line, and their vectors.
_EPOCH = "019cebab-899b-762a-8d1b-f3074ec98a56"
_STATE = "AQFlAAQBBHRleHQdIyBCcmVhZAoKVXNlcyBbW1NvdXJkb3VnaF1dLgoA"
_STATE_VECTOR = "AWUd"
_LINE_UPDATE = "AQFmAIRlHBYKQmFrZSBmb3IgNDAgbWludXRlcy4KAA=="
_SAVED_VECTOR = "AmUdZhY="
_EMPTY_UPDATE = "AAA="


def _revision(
    revision: str,
    position: int,
    created: str,
    mutation: str,
    *,
    file: tuple[str, str] = (_BREAD, _BREAD_PATH),
    text: str | None,
) -> Json:
    return {
        "id": revision,
        "fileId": file[0],
        "position": position,
        "kind": "note",
        "path": None if text is None else file[1],
        "digest": None if text is None else sha256(text.encode()).hexdigest(),
        "size": 0 if text is None else len(text.encode()),
        "mediaType": None,
        "author": ACCOUNT,
        "createdAt": created,
        "mutationId": mutation,
        "origin": "device",
    }


_SOURDOUGH_HEAD = _revision(
    "019ce338-62e6-760f-8b1c-a94e27d5c083",
    6,
    "2026-03-12T18:04:09.318Z",
    "019ce338-62d4-7d50-a3e8-0b9c6174f2d5",
    file=(_SOURDOUGH, _SOURDOUGH_PATH),
    text=_SOURDOUGH_TEXT,
)
_CREATED = _revision(
    "019cebab-89a1-7b3e-9d28-704cf5a1e69b", 7, "2026-03-14T09:26:53.601Z", _CREATE, text=_BREAD_TEXT
)
_UPDATED = _revision(
    "019cebce-9f70-78d7-8e46-c1529fb03a7d", 8, "2026-03-14T10:05:12.944Z", _UPDATE, text=_BAKED_TEXT
)
_DELETED = _revision(
    "019cf071-410f-727c-a1f5-9e630b8d54c2",
    9,
    "2026-03-15T07:41:20.015Z",
    "019cf071-4102-73f9-b05a-1cd7e48296f0",
    text=_BAKED_TEXT,
)
_RESTORED = _revision(
    "019cf072-d204-75ea-b870-4d1f92c6a83e",
    10,
    "2026-03-15T07:43:02.660Z",
    _RESTORE,
    text=_BAKED_TEXT,
)
_PURGED = _revision(
    "019cf846-a4ce-7e19-8265-f80a3b7cd941", 12, "2026-03-16T20:11:45.230Z", _PURGE, text=None
)


def _change(outcome: str, revision: Json) -> Json:
    return {
        "fileId": revision["fileId"],
        "outcome": outcome,
        "revision": revision,
        "position": revision["position"],
        "path": revision["path"],
    }


def _file(head: Json, text: str) -> Json:
    return {**_listed(head), "text": text, "document": None}


def _listed(head: Json) -> Json:
    return {
        "id": head["fileId"],
        "workspaceId": WORKSPACE,
        "path": head["path"],
        "kind": "note",
        "state": "live",
        "head": head,
    }


def _entry(head: Json, text: str) -> Json:
    return {
        "position": head["position"],
        "fileId": head["fileId"],
        "path": head["path"],
        "kind": "note",
        "state": "live",
        "revisionId": head["id"],
        "digest": head["digest"],
        "size": head["size"],
        "mutationId": head["mutationId"],
        "changedAt": head["createdAt"],
        "text": text,
    }


_RECEIPT: Json = {
    "mutationId": _UPDATE,
    "position": 8,
    "mark": _UPDATED["id"],
    "changes": [_change("updated", _UPDATED)],
}
_HEALTH = Example(response={"status": "alive"})
_READINESS = Example(
    response={
        "status": "ready",
        "requirements": [
            {
                "name": "configuration",
                "met": True,
                "detail": "The settings were read and checked.",
            },
            {"name": "database", "met": True, "detail": "The database responds."},
        ],
    }
)
_SEARCH = Example(
    response={
        "items": [
            {
                "workspaceId": WORKSPACE,
                "fileId": _BREAD,
                "path": _BREAD_PATH,
                "title": "Bread",
                "revisionId": _UPDATED["id"],
                "score": 1.73,
                "snippets": [
                    {"text": "Bake for 40 minutes.", "marks": [{"start": 0, "end": 4}]},
                ],
            }
        ],
        "more": False,
        "complete": True,
    }
)

_RESTORATION: Json = {
    "restorationId": _RESTORE,
    "state": "done",
    "accountId": ACCOUNT,
    "continuedBy": None,
    "moment": "2026-03-14T10:00:00.000Z",
    "position": 7,
    "folder": "Recipes",
    "positionBefore": 9,
    "positionAfter": 10,
    "total": 1,
    "done": 1,
    "left": [{"fileId": _SOURDOUGH, "path": _SOURDOUGH_PATH, "reason": "changed_since"}],
    "leftCount": 1,
    "failure": None,
    "startedAt": "2026-03-15T07:43:02.655Z",
    "endedAt": "2026-03-15T07:43:02.664Z",
}
NOTES: dict[str, Example] = {
    "getHealth": _HEALTH,
    "getRootHealth": _HEALTH,
    "getReadiness": _READINESS,
    "getRootReadiness": _READINESS,
    "listWorkspaces": Example(response={"items": [WORKSPACE_DOCUMENT], "next": None}),
    "createWorkspace": Example(request={"name": "Kitchen"}, response=WORKSPACE_DOCUMENT),
    "getWorkspace": Example(response=WORKSPACE_DOCUMENT),
    "updateWorkspace": Example(
        request={"name": "Kitchen and garden"},
        response={**WORKSPACE_DOCUMENT, "name": "Kitchen and garden"},
    ),
    "deleteWorkspace": REMOVED,
    "createFile": Example(
        request={
            "fileId": _BREAD,
            "path": _BREAD_PATH,
            "text": _BREAD_TEXT,
            "mutationId": _CREATE,
        },
        response=_change("created", _CREATED),
    ),
    "updateFile": Example(
        request={"text": _BAKED_TEXT, "mutationId": _UPDATE},
        response=_change("updated", _UPDATED),
    ),
    "deleteFile": Example(response=_change("deleted", _DELETED)),
    "restoreFile": Example(
        request={"mutationId": _RESTORE}, response=_change("restored", _RESTORED)
    ),
    "purgeFile": Example(request={"mutationId": _PURGE}, response=_change("purged", _PURGED)),
    "saveNote": Example(
        request={
            "mutationId": _UPDATE,
            "epoch": _EPOCH,
            "update": _LINE_UPDATE,
            "stateVector": _SAVED_VECTOR,
        },
        response={
            **_change("merged", _UPDATED),
            "epoch": _EPOCH,
            "update": _EMPTY_UPDATE,
            "stateVector": _SAVED_VECTOR,
        },
    ),
    "pushChangeset": Example(
        request={
            "mutationId": _UPDATE,
            "operations": [
                {
                    "op": "update",
                    "fileId": _BREAD,
                    "ifMatch": _CREATED["id"],
                    "text": _BAKED_TEXT,
                }
            ],
        },
        response=_RECEIPT,
    ),
    "getReceipt": Example(response=_RECEIPT),
    "getFile": Example(
        response={
            **_file(_CREATED, _BREAD_TEXT),
            "document": {"epoch": _EPOCH, "state": _STATE, "stateVector": _STATE_VECTOR},
        }
    ),
    "listFiles": Example(
        response={"items": [_listed(_UPDATED), _listed(_SOURDOUGH_HEAD)], "next": None}
    ),
    "listRevisions": Example(
        response={
            "items": [
                {**each, "authorName": "Ada", "client": None} for each in (_UPDATED, _CREATED)
            ],
            "next": None,
        }
    ),
    "getRevision": Example(response=_file(_CREATED, _BREAD_TEXT)),
    "readFiles": Example(
        request={
            "fileIds": [_SOURDOUGH],
            "revisionIds": [_CREATED["id"]],
            "content": "text",
        },
        response={
            "items": [_file(_SOURDOUGH_HEAD, _SOURDOUGH_TEXT), _file(_CREATED, _BREAD_TEXT)],
            "missing": [],
        },
    ),
    "listClientChanges": Example(
        response={
            "items": [
                {
                    "client": _ASSISTANT,
                    "name": "An assistant",
                    "accountId": ACCOUNT,
                    "accountName": "Ada",
                    "revisions": 2,
                    "undone": False,
                    "firstAt": "2026-03-14T10:05:12.944Z",
                    "lastAt": "2026-03-15T07:41:20.015Z",
                }
            ],
            "undoableSince": "2026-02-13T09:12:30.000Z",
        }
    ),
    "getUndo": Example(
        response={
            "changes": [
                {
                    "fileId": _BREAD,
                    "path": _BREAD_PATH,
                    "action": "restored",
                    "pathAfter": _BREAD_PATH,
                }
            ],
            "kept": [{"fileId": _SOURDOUGH, "path": _SOURDOUGH_PATH, "reason": "changed_since"}],
        }
    ),
    "undoClientChanges": Example(
        request={
            "client": _ASSISTANT,
            "since": "2026-03-14T10:00:00Z",
            "mutationId": _RESTORED["mutationId"],
        },
        response={
            "mutationId": _RESTORED["mutationId"],
            "position": _RESTORED["position"],
            "mark": _RESTORED["id"],
            "changes": [_change("restored", _RESTORED)],
            "kept": [{"fileId": _SOURDOUGH, "path": _SOURDOUGH_PATH, "reason": "changed_since"}],
        },
    ),
    "previewRestoration": Example(
        response={
            "items": [
                {
                    "fileId": _BREAD,
                    "path": _BREAD_PATH,
                    "action": "restored",
                    "pathAfter": _BREAD_PATH,
                }
            ],
            "next": None,
            "position": 7,
            "deleted": 0,
            "restored": 1,
            "reverted": 0,
            "left": [],
            "leftCount": 0,
        }
    ),
    "restoreWorkspace": Example(
        request={"moment": "2026-03-14T10:00:00Z", "folder": "Recipes", "mutationId": _RESTORE},
        response=_RESTORATION,
    ),
    "listRestorations": Example(
        response={
            "items": [{name: value for name, value in _RESTORATION.items() if name != "left"}],
            "next": None,
        }
    ),
    "getRestoration": Example(response=_RESTORATION),
    "diffRevisions": Example(
        response={
            "old": _CREATED,
            "new": _UPDATED,
            "unified": "--- Recipes/Bread.md\n+++ Recipes/Bread.md\n@@ -1,3 +1,5 @@\n # Bread\n \n"
            " Uses [[Sourdough]].\n+\n+Bake for 40 minutes.\n",
            "hunks": [
                {
                    "oldStart": 1,
                    "oldLines": 3,
                    "newStart": 1,
                    "newLines": 5,
                    "lines": [
                        {"kind": "context", "text": "# Bread\n"},
                        {"kind": "context", "text": "\n"},
                        {"kind": "context", "text": "Uses [[Sourdough]].\n"},
                        {"kind": "added", "text": "\n"},
                        {"kind": "added", "text": "Bake for 40 minutes.\n"},
                    ],
                }
            ],
            "words": None,
            "cut": False,
        }
    ),
    "getLinks": Example(
        response={
            "outgoing": [
                {
                    "kind": "wiki",
                    "embed": False,
                    "target": "Sourdough",
                    "heading": None,
                    "fileId": _SOURDOUGH,
                    "path": _SOURDOUGH_PATH,
                    "headingFound": None,
                }
            ],
            "incoming": [],
            "next": None,
        }
    ),
    "listUnresolvedLinks": Example(
        response={
            "items": [
                {
                    "fileId": _SOURDOUGH,
                    "path": _SOURDOUGH_PATH,
                    "title": "Sourdough",
                    "kind": "wiki",
                    "embed": False,
                    "target": "Rye",
                    "heading": None,
                }
            ],
            "next": None,
        }
    ),
    "searchWorkspace": _SEARCH,
    "search": _SEARCH,
    "getSyncProtocol": Example(response={"versions": [1]}),
    "getFeed": Example(
        response={
            "entries": [
                _entry(_SOURDOUGH_HEAD, _SOURDOUGH_TEXT),
                _entry(_UPDATED, _BAKED_TEXT),
            ],
            "next": 8,
            "nextMark": _UPDATED["id"],
            "position": 8,
            "mark": _UPDATED["id"],
            "more": False,
        }
    ),
}

"""Example requests and responses of every operation, for the API document.

They form one story: Ada signs in, creates a note, saves, deletes, restores and purges it.
"""

from hashlib import sha256

from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_ACCOUNT = "019cad9d-6818-7c3a-9f41-6b1d0e8a2f57"
_FRIEND = "019caf07-2b11-7d42-8e6f-35c9a0d1b784"
_WORKSPACE = "019cada2-2858-71e8-8a02-d47c93b5e610"
_SESSION = "019ceb95-5f6f-7f06-b3d9-51ae7c204b98"
_KEY = "019cd8da-978a-792b-a6c4-0fd83e715ba2"

_BREAD = "019cebab-8995-74d1-8c57-e2a9614bf038"
_BREAD_PATH = "Recipes/Bread.md"
_BREAD_TEXT = "# Bread\n\nUses [[Sourdough]].\n"
_BAKED_TEXT = "# Bread\n\nUses [[Sourdough]].\n\nBake for 40 minutes.\n"
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

_CONTROLS: Json = {"revision": 1, "locked": False, "lockReason": None, "storageBytes": None}
_VERSIONS: Json = {"termsVersion": "2026-01", "privacyVersion": "8c1f0a9b3d57"}
_CONSENT: Json = {**_VERSIONS, "acceptedAt": "2026-03-02T08:15:00.120Z"}
_ACCOUNT_DOCUMENT: Json = {
    "id": _ACCOUNT,
    "address": "ada@example.org",
    "displayName": "Ada",
    "role": "member",
    "state": "enabled",
    "lockReason": None,
    "preferences": {"themeFamily": "paper", "appearance": "system", "spellCheck": True},
    "usage": {"storageBytes": 184_320},
    "limit": {"storageBytes": None},
    "controls": _CONTROLS,
    "consent": {"accepted": _CONSENT, "required": None},
    "createdAt": "2026-03-02T08:15:00.120Z",
}
_INSTALLATION: Json = {
    "registrationPolicy": "invitation",
    "lockedBy": None,
    "mailTransport": True,
    "legalDocuments": True,
}
_PORTAL_TOKEN = "w8Jq3ZtYb1VnKc5mRx7LdPg2HsT9fUaE0oCiQyNk4Bv"
_SUMMARY: Json = {
    "id": _FRIEND,
    "address": "bo@example.org",
    "displayName": "Bo",
    "role": "member",
    "state": "enabled",
    "effectiveState": "enabled",
    "lockReason": None,
    "usage": {"storageBytes": 0},
    "limit": {"storageBytes": 1_073_741_824},
    "controls": _CONTROLS,
    "createdAt": "2026-03-05T10:02:41.007Z",
    "lastActiveAt": "2026-03-14T09:26:00.000Z",
}
_OPERATOR_ACCOUNT: Json = {
    "id": _FRIEND,
    "address": "bo@example.org",
    "effectiveState": "enabled",
    "controls": _CONTROLS,
    "usage": {"storageBytes": 0},
    "limit": {"storageBytes": None},
}
_USER: Json = {
    "id": _ACCOUNT,
    "name": "Ada",
    "email": "ada@example.org",
    "emailVerified": False,
    "createdAt": "2026-03-02T08:15:00.120Z",
    "updatedAt": "2026-03-02T08:15:00.120Z",
}
_DEVICE = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
_API_KEY: Json = {
    "id": _KEY,
    "name": "Backup script",
    "createdAt": "2026-03-10T17:45:30.250Z",
    "expiresAt": "2027-03-10T00:00:00.000Z",
    "lastUsedAt": None,
}
_MEMBER: Json = {
    "accountId": _ACCOUNT,
    "displayName": "Ada",
    "address": "ada@example.org",
    "role": "owner",
    "joinedAt": "2026-03-02T08:20:11.480Z",
}
_INVITATION: Json = {
    "id": "019caf02-91d4-7b83-9c15-20e7f84a6d39",
    "address": "bo@example.org",
    "role": "member",
    "workspaceId": None,
    "workspaceRole": None,
    "state": "open",
    "createdAt": "2026-03-05T09:58:03.412Z",
    "expiresAt": "2026-03-12T09:58:03.412Z",
    "createdBy": _ACCOUNT,
}
_WORKSPACE_INVITATION: Json = {
    **_INVITATION,
    "address": None,
    "workspaceId": _WORKSPACE,
    "workspaceRole": "editor",
}
_NEW_TOKEN: Json = {
    "token": "pX3s0vQyTn8kLr5Wd2Zb7Hf9Jc4Mg1Ea6Uo0Ii3Yx8w",
    "link": "https://notes.example.org/register"
    "?invitation=pX3s0vQyTn8kLr5Wd2Zb7Hf9Jc4Mg1Ea6Uo0Ii3Yx8w",
}
_WORKSPACE_DOCUMENT: Json = {
    "id": _WORKSPACE,
    "name": "Kitchen",
    "role": "owner",
    "createdAt": "2026-03-02T08:20:11.480Z",
}


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
        "author": _ACCOUNT,
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
        "workspaceId": _WORKSPACE,
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
    "changes": [_change("updated", _UPDATED)],
}
_REMOVED = Example(response={"removed": True})
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
                "workspaceId": _WORKSPACE,
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

EXAMPLES: dict[str, Example] = {
    "getHealth": _HEALTH,
    "getRootHealth": _HEALTH,
    "getReadiness": _READINESS,
    "getRootReadiness": _READINESS,
    "registerAccount": Example(
        request={
            "invitation": "octi_Vb7mQ2xT9sLk4RfWd8ZpN3cHy6JgUa",
            "address": "ada@example.org",
            "password": "correct horse battery staple",
            "displayName": "Ada",
            "consent": _VERSIONS,
        },
        response=_ACCOUNT_DOCUMENT,
    ),
    "signInWithPassword": Example(
        request={
            "email": "ada@example.org",
            "password": "correct horse battery staple",
            "callbackURL": "/notes",
            "rememberMe": True,
        },
        response={"redirect": True, "url": "/notes", "user": _USER},
    ),
    "getAuthSession": Example(
        response={
            "session": {
                "id": _SESSION,
                "userId": _ACCOUNT,
                "expiresAt": "2026-03-21T09:02:41.007Z",
                "createdAt": "2026-03-14T09:02:41.007Z",
                "updatedAt": "2026-03-14T10:05:00.000Z",
                "ipAddress": "203.0.113.7",
                "userAgent": _DEVICE,
            },
            "user": _USER,
        }
    ),
    "changePassword": Example(
        request={
            "currentPassword": "a sealed jar of rye",
            "newPassword": "an open jar of rye",
            "revokeOtherSessions": True,
        },
        response={"token": None, "user": _USER},
    ),
    "requestPasswordReset": Example(
        request={"email": "ada@example.org", "redirectTo": "/reset-password"},
        response={
            "status": True,
            "message": "If an account has this address, a message with a link is on its way to it.",
        },
    ),
    "resetPassword": Example(
        request={
            "newPassword": "an open jar of rye",
            "token": "q3Zt8yLwXvB1nM5sKd7RfHj2PgT9cQa4UeWoIxVmNzY",
        },
        response={"status": True},
    ),
    "signOut": Example(request={}, response={"success": True}),
    "getAccount": Example(response=_ACCOUNT_DOCUMENT),
    "updateOwnAccount": Example(request={"displayName": "Ada"}, response=_ACCOUNT_DOCUMENT),
    "acceptLegalDocuments": Example(request=_VERSIONS, response=_CONSENT),
    "openAccountPortal": Example(
        request={"path": "billing"},
        response={"address": f"https://billing.example.org/start?token={_PORTAL_TOKEN}"},
    ),
    "updatePreferences": Example(
        request={"appearance": "dark"},
        response={"themeFamily": "paper", "appearance": "dark", "spellCheck": True},
    ),
    "listSessions": Example(
        response={
            "items": [
                {
                    "id": _SESSION,
                    "device": _DEVICE,
                    "client": "203.0.113.7",
                    "createdAt": "2026-03-14T09:02:41.007Z",
                    "lastActiveAt": "2026-03-14T10:05:00.000Z",
                    "expiresAt": "2026-03-21T10:05:00.000Z",
                    "current": True,
                }
            ],
            "next": None,
        }
    ),
    "revokeSession": _REMOVED,
    "revokeOtherSessions": Example(response={"ended": 2}),
    "listApiKeys": Example(response={"items": [_API_KEY]}),
    "createApiKey": Example(
        request={"name": "Backup script", "expiresAt": "2027-03-10T00:00:00Z"},
        response={**_API_KEY, "secret": "octk_3nWq8VtYbK5zRfLd2XpJm7HcGs9TaE1iUo6D"},
    ),
    "revokeApiKey": _REMOVED,
    "removeOwnAccount": Example(
        request={"password": "a sealed jar of rye"}, response={"removed": True}
    ),
    "listAccounts": Example(response={"items": [_SUMMARY], "next": None}),
    "readAccount": Example(response=_SUMMARY),
    "updateAccount": Example(
        request={"controls": {"revision": 1, "locked": True, "lockReason": "The bill is open."}},
        response={
            **_SUMMARY,
            "effectiveState": "locked",
            "controls": {
                **_CONTROLS,
                "revision": 2,
                "locked": True,
                "lockReason": "The bill is open.",
            },
        },
    ),
    "removeAccount": _REMOVED,
    "listAuditEntries": Example(
        response={
            "items": [
                {
                    "id": "0195937a-8f21-7d06-9a6b-3f8c52d4e710",
                    "at": "2026-03-14T10:05:12.480Z",
                    "kind": "account_changed",
                    "actor": _ACCOUNT,
                    "subject": _FRIEND,
                    "client": "203.0.113.7",
                    "outcome": "done",
                    "detail": {"role": "administrator"},
                }
            ],
            "next": None,
        }
    ),
    "createInvitation": Example(
        request={"address": "bo@example.org", "role": "member"},
        response={**_INVITATION, **_NEW_TOKEN},
    ),
    "listInvitations": Example(response={"items": [_INVITATION], "next": None}),
    "revokeInvitation": _REMOVED,
    "acceptInvitation": Example(
        request={"token": _NEW_TOKEN["token"]},
        response={**_WORKSPACE_DOCUMENT, "role": "editor"},
    ),
    "createWorkspaceInvitation": Example(
        request={"role": "editor"}, response={**_WORKSPACE_INVITATION, **_NEW_TOKEN}
    ),
    "listWorkspaceInvitations": Example(response={"items": [_WORKSPACE_INVITATION], "next": None}),
    "revokeWorkspaceInvitation": _REMOVED,
    "getInstallation": Example(response=_INSTALLATION),
    "updateInstallation": Example(
        request={"registrationPolicy": "open"},
        response={**_INSTALLATION, "registrationPolicy": "open"},
    ),
    "redeemPortalToken": Example(request={"token": _PORTAL_TOKEN}, response=_OPERATOR_ACCOUNT),
    "findOperatorAccount": Example(response=_OPERATOR_ACCOUNT),
    "readOperatorAccount": Example(response=_OPERATOR_ACCOUNT),
    "setOperatorAccountControls": Example(
        request={"revision": 1, "storageBytes": 1_073_741_824},
        response={
            **_OPERATOR_ACCOUNT,
            "controls": {**_CONTROLS, "revision": 2, "storageBytes": 1_073_741_824},
        },
    ),
    "removeOperatorAccount": _REMOVED,
    "listWorkspaces": Example(response={"items": [_WORKSPACE_DOCUMENT], "next": None}),
    "createWorkspace": Example(request={"name": "Kitchen"}, response=_WORKSPACE_DOCUMENT),
    "getWorkspace": Example(response=_WORKSPACE_DOCUMENT),
    "updateWorkspace": Example(
        request={"name": "Kitchen and garden"},
        response={**_WORKSPACE_DOCUMENT, "name": "Kitchen and garden"},
    ),
    "deleteWorkspace": _REMOVED,
    "listMembers": Example(response={"items": [_MEMBER], "next": None}),
    "updateMember": Example(
        request={"role": "reader"},
        response={**_MEMBER, "accountId": _FRIEND, "displayName": "Bo", "role": "reader"},
    ),
    "removeMember": _REMOVED,
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
    "listRevisions": Example(response={"items": [_UPDATED, _CREATED], "next": None}),
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
            "position": 8,
            "more": False,
        }
    ),
}
"""The examples, by operation id."""

"""Examples for the operations on accounts, members and the installation."""

from octavo.http.api.examples.shared import ACCOUNT, REMOVED, WORKSPACE, WORKSPACE_DOCUMENT
from octavo.http.contract.openapi import Example
from octavo.http.contract.schemas import Json

_FRIEND = "019caf07-2b11-7d42-8e6f-35c9a0d1b784"
_SESSION = "019ceb95-5f6f-7f06-b3d9-51ae7c204b98"
_KEY = "019cd8da-978a-792b-a6c4-0fd83e715ba2"
_CONTROLS: Json = {
    "revision": 1,
    "locked": False,
    "lockReason": None,
    "storageBytes": None,
    "downloadBytesPerMonth": None,
    "downloadObjectsPerMonth": None,
    "publishing": True,
}
_UNUSED: Json = {
    "storageBytes": 0,
    "downloadBytes": 0,
    "downloadObjects": 0,
    "month": "2026-11",
}
_VERSIONS: Json = {"termsVersion": "2026-01", "privacyVersion": "8c1f0a9b3d57"}
_CONSENT: Json = {**_VERSIONS, "acceptedAt": "2026-03-02T08:15:00.120Z"}
_ACCOUNT_DOCUMENT: Json = {
    "id": ACCOUNT,
    "address": "ada@example.org",
    "displayName": "Ada",
    "role": "member",
    "state": "enabled",
    "lockReason": None,
    "preferences": {"themeFamily": "paper", "appearance": "system", "spellCheck": True},
    "usage": {
        **_UNUSED,
        "storageBytes": 184_320,
        "downloadBytes": 2_406_118,
        "downloadObjects": 731,
    },
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
    "usage": _UNUSED,
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
    "usage": _UNUSED,
    "limit": {"storageBytes": None},
}
_USER: Json = {
    "id": ACCOUNT,
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
    "scopes": ["notes:read"],
    "workspaceIds": [WORKSPACE],
    "folder": "recipes",
}
_MEMBER: Json = {
    "accountId": ACCOUNT,
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
    "createdBy": ACCOUNT,
}
_WORKSPACE_INVITATION: Json = {
    **_INVITATION,
    "address": None,
    "workspaceId": WORKSPACE,
    "workspaceRole": "editor",
}
_NEW_TOKEN: Json = {
    "token": "pX3s0vQyTn8kLr5Wd2Zb7Hf9Jc4Mg1Ea6Uo0Ii3Yx8w",
    "link": "https://notes.example.org/register"
    "?invitation=pX3s0vQyTn8kLr5Wd2Zb7Hf9Jc4Mg1Ea6Uo0Ii3Yx8w",
}

IDENTITY: dict[str, Example] = {
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
                "userId": ACCOUNT,
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
    "revokeSession": REMOVED,
    "revokeOtherSessions": Example(response={"ended": 2}),
    "listApiKeys": Example(response={"items": [_API_KEY]}),
    "createApiKey": Example(
        request={
            "name": "Backup script",
            "expiresAt": "2027-03-10T00:00:00Z",
            "scopes": ["notes:read"],
            "workspaceIds": [WORKSPACE],
            "folder": "recipes",
        },
        response={**_API_KEY, "secret": "octk_3nWq8VtYbK5zRfLd2XpJm7HcGs9TaE1iUo6D"},
    ),
    "revokeApiKey": REMOVED,
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
    "removeAccount": REMOVED,
    "listAuditEntries": Example(
        response={
            "items": [
                {
                    "id": "0195937a-8f21-7d06-9a6b-3f8c52d4e710",
                    "at": "2026-03-14T10:05:12.480Z",
                    "kind": "account_changed",
                    "actor": ACCOUNT,
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
    "revokeInvitation": REMOVED,
    "acceptInvitation": Example(
        request={"token": _NEW_TOKEN["token"]},
        response={**WORKSPACE_DOCUMENT, "role": "editor"},
    ),
    "createWorkspaceInvitation": Example(
        request={"role": "editor"}, response={**_WORKSPACE_INVITATION, **_NEW_TOKEN}
    ),
    "listWorkspaceInvitations": Example(response={"items": [_WORKSPACE_INVITATION], "next": None}),
    "revokeWorkspaceInvitation": REMOVED,
    "getInstallation": Example(response=_INSTALLATION),
    "updateInstallation": Example(
        request={"registrationPolicy": "open"},
        response={**_INSTALLATION, "registrationPolicy": "open"},
    ),
    "redeemPortalToken": Example(request={"token": _PORTAL_TOKEN}, response=_OPERATOR_ACCOUNT),
    "findOperatorAccount": Example(response=_OPERATOR_ACCOUNT),
    "readOperatorAccount": Example(response=_OPERATOR_ACCOUNT),
    "setOperatorAccountControls": Example(
        request={
            "revision": 1,
            "storageBytes": 1_073_741_824,
            "downloadBytesPerMonth": 10_737_418_240,
        },
        response={
            **_OPERATOR_ACCOUNT,
            "controls": {
                **_CONTROLS,
                "revision": 2,
                "storageBytes": 1_073_741_824,
                "downloadBytesPerMonth": 10_737_418_240,
            },
        },
    ),
    "removeOperatorAccount": REMOVED,
    "listMembers": Example(response={"items": [_MEMBER], "next": None}),
    "updateMember": Example(
        request={"role": "reader"},
        response={**_MEMBER, "accountId": _FRIEND, "displayName": "Bo", "role": "reader"},
    ),
    "removeMember": REMOVED,
}

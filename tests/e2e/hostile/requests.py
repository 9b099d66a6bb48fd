"""Well-formed requests to every operation, and mutations that keep them requests."""

import json
import random
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from tests.e2e.hostile.documents import queries, save
from tests.e2e.hostile.values import JUNK, TAGS, VALUES, cursor, document
from tests.e2e.octavo_process import PUBLIC

Json = dict[str, Any]
# These would end the session or the workspace that other cases need, so they only use foreign ids.
ENDING = frozenset({"deleteWorkspace", "revokeApiKey", "revokeSession"})
# Without a session of one's own, there is none to end.
UNSIGNED = frozenset({"revokeOtherSessions", "signOut"})


@dataclass(frozen=True)
class Surroundings:
    """The ids that requests can use.

    Attributes:
        signed: ways to authenticate, each as headers.
        own: ids of the attacker: workspace, file, revision, mutation.
        foreign: the same of another account, and ids of that account, its session and its key.
    """

    signed: list[dict[str, str]]
    own: list[str]
    foreign: list[str]

    def ids(self) -> list[str]:
        return [*self.own, *self.foreign]


@dataclass(frozen=True)
class Request:
    """A request in parts."""

    method: str
    segments: tuple[str, ...]
    query: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    body: object = None
    content: bytes | None = None

    def encoded(self) -> bytes:
        """The request as bytes, with the length of its body."""
        path = "/" + "/".join(self.segments)
        query = "&".join(f"{name}={value}" for name, value in self.query)
        content = self.content
        if content is None and self.body is not None:
            content = json.dumps(self.body).encode()
        lines = [f"{self.method} {path}{'?' * bool(query)}{query} HTTP/1.1", "host: a"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if content is not None:
            lines += ["content-type: application/json", f"content-length: {len(content)}"]
        head = "\r\n".join([*lines, "", ""])
        return head.encode("utf-8", "replace") + (content or b"")


def request_to(received: Json, around: Surroundings, rng: random.Random) -> Request:
    """A documented request to an operation, with ids of any account."""
    name = received["operationId"]
    ids = around.foreign if name in ENDING else around.own
    if rng.random() < 0.3:
        ids = around.foreign
    signed = rng.choice(around.signed)
    if name in UNSIGNED:
        signed = {"origin": PUBLIC}
    place = {"workspaceId": 0, "fileId": 1, "revisionId": 2, "mutationId": 3}
    segments = []
    for segment in received["path"].strip("/").split("/"):
        if segment.startswith("{"):
            at = place.get(segment.strip("{}"))
            segments.append(rng.choice(around.foreign) if at is None else ids[at])
        else:
            segments.append(segment)
    headers = {**signed, "sync-protocol": "1", "if-match": f'"{ids[2]}"'}
    if rng.random() < 0.3:
        headers["if-none-match"] = headers["if-match"]
    if rng.random() < 0.05:
        del headers["if-match"]
    return Request(
        received["method"],
        tuple(segments),
        tuple((key, quote(value)) for key, value in queries(name, ids, rng)),
        tuple(headers.items()),
        body_of(name, ids, rng) if "requestBody" in received else None,
    )


def body_of(name: str, ids: list[str], rng: random.Random) -> Json:
    """The body of an operation."""
    workspace, file_id, revision_id, mutation_id, *_ = ids
    fresh = f"30000000-0000-7000-8000-{rng.randrange(16**12):012x}"
    create: Json = {"op": "create", "fileId": fresh, "path": f"{fresh}.md", "text": "a"}
    guarded: Json = {"op": "update", "fileId": file_id, "ifMatch": revision_id, "text": "b"}
    # The document of a note whose text was never replaced belongs to its first revision.
    saved = save(revision_id, rng)
    bodies: dict[str, Json] = {
        "registerAccount": {
            "invitation": workspace,
            "address": "a@example.org",
            "password": "a password of some length",
            "displayName": "A",
        },
        "signInWithPassword": {"email": "a@example.org", "password": "some password"},
        "requestPasswordReset": {"email": "a@example.org", "redirectTo": "/reset-password"},
        "resetPassword": {"newPassword": "a password of mine", "token": "x" * 43},
        "createApiKey": {"name": "a", "expiresAt": "2099-01-01T00:00:00.000Z"},
        "updateOwnAccount": {"displayName": "B"},
        "updatePreferences": {"appearance": "dark", "spellCheck": False},
        "changePassword": {"currentPassword": "a guess", "newPassword": "a password of mine"},
        "removeOwnAccount": {"password": "a guess"},
        "updateAccount": {"role": "administrator", "controls": {"revision": 1}},
        "createInvitation": {"workspaceId": workspace, "workspaceRole": "owner"},
        "acceptInvitation": {"token": "x" * 43},
        "acceptLegalDocuments": {"termsVersion": "1", "privacyVersion": None},
        "openAccountPortal": {"path": "billing"},
        "updateInstallation": {"registrationPolicy": "open"},
        "redeemPortalToken": {"token": "x" * 43},
        "updateMember": {"role": "owner"},
        "createWorkspaceInvitation": {"role": "owner", "address": "b@example.org"},
        "setOperatorAccountControls": {
            "revision": 1,
            "storageBytes": 1 << 60,
            "downloadBytesPerMonth": rng.choice((None, 0, 1 << 52, 1 << 60)),
        },
        "createWorkspace": {"name": "a"},
        "updateWorkspace": {"name": "b"},
        "createFile": {"path": f"{fresh}.md", "text": "a", "mutationId": fresh},
        "updateFile": {"text": "b", "mutationId": mutation_id},
        "restoreFile": rng.choice(
            ({"path": "c.md", "mutationId": fresh}, {"revisionId": revision_id})
        ),
        "saveNote": {**saved, "mutationId": rng.choice((fresh, mutation_id))},
        "purgeFile": {"mutationId": fresh},
        "startWorkspaceImport": {"size": rng.choice((0, 100, 1 << 40))},
        "finalizeAttachment": {
            "path": f"attachments/{fresh}.png",
            "fileId": rng.choice((fresh, file_id)),
            "mutationId": rng.choice((fresh, mutation_id)),
        },
        "pushChangeset": {
            "mutationId": rng.choice((fresh, mutation_id)),
            "operations": rng.choice(
                (
                    [create],
                    [guarded],
                    [create, guarded],
                    [{**guarded, "op": "delete"}],
                    [{"op": "purge", "fileId": file_id}],
                    [{**saved, "op": "save", "fileId": file_id}],
                    [{**guarded, "path": f"{fresh}.md", "rewriteLinks": True}],
                    [{"op": "restore", "fileId": file_id, "ifMatch": revision_id}],
                )
            ),
        },
        "readFiles": {"fileIds": [file_id, fresh], "revisionIds": [revision_id]},
    }
    return bodies.get(name, {})


def mutated(request: Request, around: Surroundings, rng: random.Random) -> Request:
    """The request with one to four misplaced parts."""
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        match rng.randrange(6):
            case 0:
                request = _other_segment(request, around, rng)
            case 1:
                request = _other_query(request, around, rng)
            case 2 | 3:
                request = _other_header(request, around, rng)
            case 4 if rng.random() < 0.2:
                request = replace(request, content=document(rng))
            case _ if request.body is not None:
                request = replace(request, body=_other_value(request.body, around, rng))
            case _:
                method = rng.choice(("GET", "POST", "PUT", "PATCH", "OPTIONS"))
                request = replace(request, method=method)
    return request


def _other_segment(request: Request, around: Surroundings, rng: random.Random) -> Request:
    segments = list(request.segments)
    junk = quote(rng.choice(JUNK), safe="%")
    upper = rng.choice(around.ids()).upper()
    segments[rng.randrange(len(segments))] = rng.choice(
        (junk, upper, rng.choice(around.ids()), rng.choice(around.foreign))
    )
    if request.method == "DELETE":
        # The attacker's own objects must stay.
        own = set(around.own)
        segments = [each for each in segments if each.lower() not in own] or ["a"]
    return replace(request, segments=tuple(segments))


def _other_query(request: Request, around: Surroundings, rng: random.Random) -> Request:
    name = rng.choice(
        (
            *("limit", "after", "prefix", "state", "content", "include", "detail", "x"),
            *("disableRefresh", "q", "path", "workspaceId", "old", "new", "by", "context"),
        )
    )
    values = ("1", "500", "text", "deleted", "full", rng.choice(JUNK))
    value = rng.choice((*values, cursor(rng, around.ids()), rng.choice(around.foreign)))
    return replace(request, query=(*request.query, (name, quote(value, safe="%"))))


def _other_header(request: Request, around: Surroundings, rng: random.Random) -> Request:
    junk = rng.choice(JUNK).strip()
    headers = dict(request.headers)
    name, values = rng.choice(
        (
            ("if-match", (*TAGS, f'"{rng.choice(around.foreign)}"')),
            ("if-none-match", (*TAGS, "*", f'"{rng.choice(around.foreign)}"')),
            ("sync-protocol", ("2", junk)),
            ("x-request-id", ("a" * 129, "a", junk)),
            ("authorization", ("Bearer ", "Basic YTph", "Bearer octk_" + "0" * 36, junk)),
            ("cookie", ("__Host-octavo=", f"__Host-octavo={around.foreign[0]}; a=b", junk)),
            ("origin", ("null", PUBLIC, "https://elsewhere.example", junk)),
            ("accept", ("text/html", "*/*;q=0", junk)),
            ("range", ("bytes=0-1", "bytes=-", junk)),
            ("transfer-encoding", ("gzip, chunked", "identity")),
            ("expect", ("100-continue", "200-ok")),
            ("x-forwarded-for", ("127.0.0.1", junk)),
            ("x-http-method-override", ("DELETE",)),
        )
    )
    if rng.random() < 0.2:
        return replace(request, headers=(*request.headers, (name, rng.choice(values))))
    headers[name] = rng.choice(values)
    return replace(request, headers=tuple(headers.items()))


def _other_value(value: object, around: Surroundings, rng: random.Random) -> object:
    """``value`` with a part removed, replaced or added."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(sorted(value))
        match rng.randrange(4):
            case 0:
                return {key: each for key, each in value.items() if key != name}
            case 1:
                return {
                    **value,
                    rng.choice(("x", "op", "text", "fileId")): _wrong(around, rng),
                }
            case _:
                return {**value, name: _other_value(value[name], around, rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        if rng.random() < 0.2:
            return value * rng.choice((2, 600))
        at = rng.randrange(len(value))
        return [*value[:at], _other_value(value[at], around, rng), *value[at + 1 :]]
    return _wrong(around, rng)


def _wrong(around: Surroundings, rng: random.Random) -> object:
    return rng.choice((*VALUES, rng.choice(around.foreign), rng.choice(around.own)))

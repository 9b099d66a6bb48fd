"""The run: every operation, by every caller, naming every object; and what came of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from octavo.service.registry import api_document
from tests.access_matrix import world as marks
from tests.access_matrix.callers import COLUMNS, Caller, callers
from tests.access_matrix.house import inhabited
from tests.access_matrix.installation import running
from tests.access_matrix.pages import NOTE, PAGES, Forms, routes, target_of
from tests.access_matrix.requests import DELETED, UNKNOWN, Request, request_of
from tests.access_matrix.world import SETTINGS, Ids, World
from tests.e2e.operations.common import Documented, operations
from tests.fakes.asgi_client import Response

MARKS = (
    marks.OF_NAME,
    marks.OF_NOTES,
    marks.OF_FOLDER,
    marks.OF_LINKS,
    marks.OF_INVITED,
    marks.OF_ACCOUNT,
    marks.OF_PROGRAM,
    marks.OF_PUBLISHED,
)
UNLOGGED = (*MARKS, marks.OF_CALLER)
"""What is in no line of the log."""
REFUSED = {401: "no", 403: "no", 404: "hidden", 423: "locked"}
NOT_ASKED = "none"
DELETED_PAGES = {f"{NOTE}/restore", f"{NOTE}/purge"}
NAMES_FILES = {"createFile", "pushChangeset", "readFiles"}
"""The operations that name a file or its path in the body."""
NAMES_OBJECTS = {"createPublishedLink", "pushChangeset", "readFiles"}
"""The operations that name an object of a workspace in the body."""
BY_SECRET = {
    "acceptInvitation",
    "decideAccessRequest",
    "describeAccessRequest",
    "issueToken",
    "redeemPortalToken",
    "registerAccount",
    "resetPassword",
    "revokeToken",
}
"""The operations that name something by a secret in the body or the query."""
NEW = re.compile(
    r'name="(?:once|mutation|change|head)" value="[^"]*"|stamp=[\w-]+|content-length: \d+'
)
"""What differs between two responses to the same request; a new note has a head that is new."""
OWN_IDS = {"workspaceId", "path"}
"""What a request for something that does not exist leaves as it is."""

HOUSE = "the workspace"
FOLDER = "its folder"
FOREIGN = "its objects, by another workspace"
OWNERS = "the owner's"
OWN = "the caller's"
ACCOUNT = "another account"
NOTHING = "nothing"
SECRET = "a token"
NAMED = (HOUSE, FOLDER, FOREIGN, OWNERS, OWN, ACCOUNT, SECRET, NOTHING)
WORDS = {"yes", "no", "hidden", "locked", NOT_ASKED}
TOLD = {
    # The right to join tells the name.
    "acceptInvitation": {marks.OF_NAME},
    # Programs tell their names to everybody whom they ask for access.
    "describeAccessRequest": {marks.OF_PROGRAM},
    "getClient": {marks.OF_PROGRAM},
    "updateClient": {marks.OF_PROGRAM},
    "GET /oauth/authorize": {marks.OF_PROGRAM},
    "GET /register": {marks.OF_NAME},
    "POST /register": {marks.OF_NAME},
    "GET /administration/invitations": {marks.OF_INVITED},
    # Administrators see who is invited.
    "listInvitations": {marks.OF_INVITED},
}
"""The marks that an operation tells to everybody who may call it."""


class Asked(NamedTuple):
    """What is asked for: an operation or page, and what it names."""

    named: str
    what: str


@dataclass
class Matrix:
    """What came of all calls.

    Attributes:
        cells: the outcome for each caller.
        faults: what no table can say: marks that were seen, and refusals that changed something.
    """

    cells: dict[Asked, dict[str, str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    calls: int = 0


def namings(described: Documented) -> Iterator[str]:
    """What an operation can name."""
    name, path = described["operationId"], described["path"]
    parameters = set(re.findall(r"\{(\w+)\}", path))
    if name == "serveMcp":
        yield HOUSE
        yield FOREIGN
    elif "workspaceId" in parameters:
        yield HOUSE
        if name in NAMES_FILES or ("fileId" in parameters and described["tags"] != PAGES):
            yield FOLDER
        if parameters - {"workspaceId"} or name in NAMES_OBJECTS:
            yield FOREIGN
    elif parameters & {"keyId", "sessionId", "connectionId"}:
        yield OWNERS
        if "connectionId" not in parameters:
            yield OWN
    elif parameters & {"accountId", "invitationId", "reportId"}:
        yield ACCOUNT
    elif parameters & {"token", "client"} or name in BY_SECRET:
        yield SECRET
    else:
        yield NOTHING


def ids_of(world: World, caller: Caller, described: Documented, named: str) -> Ids | None:
    """The ids that the caller names; None if it has nothing of the kind."""
    at = int(named == FOLDER)
    ids = {**world.house, **(world.folder if at else {})}
    path = described["path"]
    if described["operationId"] in DELETED or path in DELETED_PAGES:
        ids |= world.deleted[at]
    if "/images/" in path:
        ids["fileId"] = ids["imageId"]
    if described["operationId"] == "getPublishedAttachment":
        ids |= {"fileId": ids["shownId"], "revisionId": ids["shownRevision"]}
    if named == FOREIGN:
        own = caller.own.get("workspaceId")
        return None if own is None else {**ids, "workspaceId": own}
    if named == OWN:
        return {**ids, **caller.own} if caller.own else None
    if named == OWNERS:
        return {**world.people["owner"].ids, "connectionId": world.house["connectionId"]}
    return ids


def outcome_of(response: Response, *, changed: bool) -> str:
    """A response in a word; the code of a problem that is no question of rights."""
    status = response.status
    if status in REFUSED:
        return REFUSED[status]
    if status < 400:
        location = response.header("location") or ""
        if location.startswith("/sign-in") and not changed:
            return "no"
        return "hidden" if b'"isError":true' in response.body else "yes"
    kind = response.header("content-type")
    code = response.json().get("code", "") if kind == "application/problem+json" else ""
    return code or str(status)


async def called(
    world: World, matrix: Matrix, caller: Caller, asked: Asked, request: Request, named: list[str]
) -> str:
    """Send a request that names something, put the database back, and return the outcome."""
    installation = world.installation
    first = len(installation.lines)
    response, changed = await sent(world, caller, request, asked)
    matrix.calls += 1
    outcome = outcome_of(response, changed=changed)
    if not changed and named and outcome not in ("no", "locked"):
        other, _ = await sent(world, caller, without(request, named), asked)
        matrix.calls += 1
        if normal(other, named) == normal(response, named):
            outcome = "hidden"
        elif outcome == "hidden":
            matrix.faults.append(f"{caller.name}: {asked}: differs from what does not exist")
    place = f"{caller.name}: {asked.what} ({asked.named}) {outcome}"
    if changed and outcome in REFUSED.values():
        matrix.faults.append(f"{place}: changed something")
    shown = everything(response)
    may_see = caller.sees | TOLD.get(asked.what, set())
    matrix.faults += [
        f"{place}: shows {mark}" for mark in MARKS if mark in shown and mark not in may_see
    ]
    lines = "".join(installation.lines[first:])
    matrix.faults += [f"{place}: the log has {mark}" for mark in UNLOGGED if mark in lines]
    return outcome


async def sent(
    world: World, caller: Caller, request: Request, asked: Asked
) -> tuple[Response, bool]:
    """The response to a request, and whether it changed something, which is put back."""
    installation = world.installation
    before = installation.store.changes
    method, target, headers, body = request[:4]
    given = [*caller.headers, *(each for each in headers if each[0] not in dict(caller.headers))]
    given.append((b"x-request-id", b"same"))
    if asked.what == "openSyncNotices":
        response = await installation.connect(target, given)
    else:
        response = await installation.ask(method, target, given, body)
    changed = installation.store.changes != before
    if changed:
        installation.store.put_back()
    return response, changed


def named_in(request: Request, ids: Ids) -> list[str]:
    """The ids of others in a request, but for that of the workspace."""
    sent_text = request.target + request.body.decode("latin-1")
    names = ids.keys() - OWN_IDS
    return [ids[name] for name in sorted(names) if ids[name] in sent_text]


def without(request: Request, named: list[str]) -> Request:
    """The same request for what does not exist."""
    target, body = request.target, request.body
    for each in named:
        target, body = target.replace(each, UNKNOWN), body.replace(each.encode(), UNKNOWN.encode())
    return request._replace(target=target, body=body)


def normal(response: Response, named: list[str]) -> str:
    """A response without what the request named, and without what is new in each page."""
    shown = f"{response.status}\n{everything(response)}"
    for each in named:
        shown = shown.replace(each.casefold(), UNKNOWN)
    return NEW.sub("", shown)


def everything(response: Response) -> str:
    headers = b"\n".join(name + b": " + value for name, value in response.headers)
    return (headers + b"\n\n" + response.body).decode("utf-8", "replace").casefold()


async def made(folder: Path) -> Matrix:
    """Make every call in an installation of its own."""
    async with running(folder, **SETTINGS) as installation:
        return await run(await inhabited(installation))


async def forms_of(world: World, everybody: list[Caller]) -> Forms:
    """The forms of the pages that a stranger, the owner and the administrator see."""
    forms = Forms()
    await world.installation.ask("GET", "/")
    by_name = {caller.name: caller for caller in everybody}
    for caller in (by_name["owner"], by_name["administrator"], by_name["stranger"]):
        for described in routes(world.installation.pages[0]):
            for named in namings(described) if described["method"] == "GET" else ():
                ids = ids_of(world, caller, described, named)
                if ids is not None:
                    target = target_of(world, described, ids)
                    page = await world.installation.ask("GET", target, caller.headers)
                    if page.status == 200 and b"<form" in page.body:
                        forms.look_at(target, page.body.decode())
    world.installation.store.put_back()
    return forms


async def run(world: World) -> Matrix:
    """Make every call."""
    matrix = Matrix()
    everybody = callers(world)
    forms = await forms_of(world, everybody)
    shown = routes(world.installation.pages[0])
    for described in [*operations(api_document()), *shown]:
        for named in namings(described):
            asked = Asked(named, described["operationId"])
            row = matrix.cells[asked] = dict.fromkeys(COLUMNS, NOT_ASKED)
            for caller in everybody:
                ids = ids_of(world, caller, described, named)
                if ids is not None:
                    request = (
                        forms.request(world, described, ids, caller, MARKS)
                        if described["tags"] == PAGES
                        else request_of(world, described, ids)
                    )
                    row[caller.name] = await called(
                        world, matrix, caller, asked, request, named_in(request, ids)
                    )
    return matrix

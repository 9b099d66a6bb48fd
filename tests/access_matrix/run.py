"""The run: every operation, by every caller, naming every object; and what came of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from octavo.service.registry import api_document
from tests.access_matrix import world as marks
from tests.access_matrix.callers import COLUMNS, Caller, callers
from tests.access_matrix.installation import running
from tests.access_matrix.requests import DELETED, Request, request_of
from tests.access_matrix.world import SETTINGS, Ids, World, inhabited
from tests.e2e.operations.common import Documented, operations
from tests.fakes.asgi_client import Response

MARKS = (
    marks.OF_NAME,
    marks.OF_NOTES,
    marks.OF_FOLDER,
    marks.OF_LINKS,
    marks.OF_INVITED,
    marks.OF_ACCOUNT,
    marks.OF_PUBLISHED,
)
REFUSED = {401: "no", 403: "no", 404: "hidden", 423: "locked"}
NOT_ASKED = "none"
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
SILENT = {"abortWorkspaceImport", "revokeToken"}
"""The operations that succeed as well where there is nothing to do."""

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
    "describeAccessRequest": {marks.OF_ACCOUNT},
    "getClient": {marks.OF_ACCOUNT},
    "updateClient": {marks.OF_ACCOUNT},
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
    if "workspaceId" in parameters:
        yield HOUSE
        if "fileId" in parameters or name in NAMES_FILES:
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
    if described["operationId"] in DELETED:
        ids |= world.deleted[at]
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


def outcome_of(response: Response, name: str, *, changed: bool) -> str:
    """A response in a word; the code of a problem that is no question of rights."""
    status = response.status
    if status in REFUSED:
        return REFUSED[status]
    if status < 400:
        location = response.header("location") or ""
        if location.startswith("/sign-in"):
            return "no"
        found_nothing = name in SILENT and not changed
        found_nothing |= name == "readFiles" and not response.json()["items"]
        return "hidden" if found_nothing else "yes"
    kind = response.header("content-type")
    code = response.json().get("code", "") if kind == "application/problem+json" else ""
    return code or str(status)


async def called(
    world: World, matrix: Matrix, caller: Caller, request: Request, asked: Asked
) -> str:
    """Send a request, put the database back, and return the outcome."""
    installation = world.installation
    before, first = installation.store.changes, len(installation.lines)
    method, target, headers, body = request
    given = [*caller.headers, *(each for each in headers if each[0] not in dict(caller.headers))]
    if asked.what == "openSyncNotices":
        response = await installation.connect(target, given)
    else:
        response = await installation.ask(method, target, given, body)
    changed = installation.store.changes != before
    if changed:
        installation.store.put_back()
    outcome = outcome_of(response, asked.what, changed=changed)
    place = f"{caller.name}: {asked.what} ({asked.named}) {outcome}"
    if changed and outcome in REFUSED.values():
        matrix.faults.append(f"{place}: changed something")
    shown = everything(response)
    may_see = caller.sees | TOLD.get(asked.what, set()) if outcome == "yes" else frozenset()
    matrix.faults += [
        f"{place}: shows {mark}" for mark in MARKS if mark in shown and mark not in may_see
    ]
    lines = "".join(installation.lines[first:])
    matrix.faults += [f"{place}: the log has {mark}" for mark in MARKS if mark in lines]
    matrix.calls += 1
    return outcome


def everything(response: Response) -> str:
    headers = b"\n".join(name + b": " + value for name, value in response.headers)
    return (headers + b"\n\n" + response.body).decode("utf-8", "replace").casefold()


async def made(folder: Path) -> Matrix:
    """Make every call in an installation of its own."""
    async with running(folder, **SETTINGS) as installation:
        return await run(await inhabited(installation))


async def run(world: World) -> Matrix:
    """Make every call."""
    matrix = Matrix()
    everybody = callers(world)
    for described in operations(api_document()):
        for named in namings(described):
            asked = Asked(named, described["operationId"])
            row = matrix.cells[asked] = dict.fromkeys(COLUMNS, NOT_ASKED)
            for caller in everybody:
                ids = ids_of(world, caller, described, named)
                if ids is not None:
                    request = request_of(world, described, ids)
                    row[caller.name] = await called(world, matrix, caller, request, asked)
    return matrix

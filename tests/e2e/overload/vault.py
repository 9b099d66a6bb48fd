"""An installation with the largest legal things, and what the attackers need of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.e2e.operations.world import SYNC
from tests.e2e.overload import routes
from tests.e2e.overload.bystander import mutation
from tests.e2e.overload.target import Target
from tests.e2e.people import Person
from tests.fakes.image_files import encoded, picture

CLIENT = "vault-maker"
IDS = (
    *("workspaceId", "fileId", "manyLinks", "revisionId", "epoch", "mutationId", "accountId"),
    *("importId", "restorationId", "token", "imageId", "imageRevision", "client", "since"),
)
"""The names of what `fill` makes."""
FEW, MANY = 10, 500
"""Numbers of notes."""
_LINES = 95_000
_OF_A_CHANGESET = 500
_PICTURE = (1_600, 1_200)


def fill(http: httpx.Client, person: Person, target: Target, *, notes: int) -> Target:
    """Fill the installation as an administrator; return the target with all that is there.

    There are so many ``notes``, and of other things a few. Where they are more than
    `FEW`, one has two unlike revisions of 95,000 lines, which are longest on a page.
    """

    def ask(method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401
        response = http.request(method, path, json=body, headers=SYNC | headers)
        assert response.is_success, (path, response.text[:500])
        return response.json()

    workspace = target.path.split("/")[3]
    lines = _LINES if notes > FEW else notes
    base = f"/api/workspaces/{workspace}"
    note = ask("POST", f"{base}/files", {"path": "long.md", "text": _lines("old", lines)})
    ask(
        "PUT",
        f"{base}/files/{note['fileId']}",
        {"text": _lines("new", lines)},
        **{"if-match": f'"{note["revision"]["id"]}"'},
    )
    links = "\n".join(
        f"- [l{number}](n/{number % 4000}.md#x{number})" for number in range(lines // 4)
    )
    linking = ask("POST", f"{base}/files", {"path": "links.md", "text": links})
    mutation_id = ""
    for start in range(0, notes, _OF_A_CHANGESET):
        mutation_id = mutation()
        made = [
            {
                "op": "create",
                "fileId": mutation(),
                "path": f"many/{at % 7}/note {at}.md",
                "text": f"[[note {at - 1}]] 1 line\n" * 100,
            }
            for at in range(start, min(start + _OF_A_CHANGESET, notes))
        ]
        ask("POST", f"{base}/changesets", {"mutationId": mutation_id, "operations": made})
    for number in range(notes // 25):
        ask("POST", f"{base}/invitations", {"role": "reader"})
        ask("POST", "/api/account/keys", {"name": f"key {number}"})
        ask("POST", "/api/workspaces", {"name": f"Workspace {number}"})
    files = {"file": ("a.png", encoded(picture(_PICTURE), "PNG"), "image/png")}
    uploaded = http.post(f"{base}/attachments", files=files)
    assert uploaded.is_success, uploaded.text
    place = f"{base}/attachments/{uploaded.json()['objectId']}/finalize"
    image = ask("POST", place, {"path": "attachments/a.png"})
    ask("POST", f"{base}/files", {"path": "page.md", "text": "![](attachments/a.png)\n"})
    link = ask("POST", f"{base}/publications", {"target": {"kind": "folder", "path": ""}})
    restored = ask("POST", f"{base}/restorations", {"position": 1, "folder": "none"})
    ids = {
        "workspaceId": workspace,
        "fileId": note["fileId"],
        "manyLinks": linking["fileId"],
        "revisionId": note["revision"]["id"],
        "epoch": ask("GET", f"{base}/files/{note['fileId']}")["document"]["epoch"],
        "mutationId": mutation_id,
        "accountId": person.account_id,
        "importId": ask("POST", f"{base}/imports", {})["importId"],
        "restorationId": restored["restorationId"],
        "token": link["token"],
        "imageId": image["fileId"],
        "imageRevision": image["revision"]["id"],
        "client": CLIENT,
        "since": (datetime.now(UTC) - timedelta(days=1)).isoformat(),
    }
    assert ids.keys() == set(IDS)
    stamped = http.get(f"/workspaces/{workspace}/new", headers=person.by_cookie).text
    return target._replace(
        cookie=person.cookie,
        stamp=stamped.partition("?stamp=")[2].partition('"')[0],
        pages=routes.pages(ids),
        forms=routes.forms(ids),
        operations=tuple(routes.requests(ids).values()),
    )


def _lines(word: str, count: int) -> str:
    """Lines that are longer on a page."""
    return "".join(f'{at:x} {word} """"""""\n' for at in range(count))

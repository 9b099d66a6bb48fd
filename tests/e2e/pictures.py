"""Images in a workspace of a running server."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.people import Person


@dataclass
class Pictures:
    """Uploads and attaches images with the key of a person."""

    http: httpx.Client
    person: Person
    base: str

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401
        headers = {**self.person.by_key, **given.pop("headers", {})}
        response = self.http.request(method, self.base + path, headers=headers, **given)
        assert response.is_success, response.text
        return response

    def upload(self, data: bytes) -> str:
        response = self.ask("POST", "/attachments", files={"file": ("a.png", data, "image/png")})
        return str(response.json()["objectId"])

    def attach(self, data: bytes, path: str, old: Any = None) -> Any:  # noqa: ANN401
        """Attach an image to a new file, or to that of the change ``old``; return the change."""
        body = {"path": f"attachments/{path}"}
        headers = {}
        if old is not None:
            body["fileId"] = old["fileId"]
            headers["if-match"] = f'"{old["revision"]["id"]}"'
        place = f"/attachments/{self.upload(data)}/finalize"
        return self.ask("POST", place, json=body, headers=headers).json()

    def show(self, change: Any, width: int | None = None) -> bytes:  # noqa: ANN401
        """The image of a change, or a thumbnail of it, which is stored then."""
        query = "" if width is None else f"?width={width}"
        return self.ask("GET", f"/files/{change['fileId']}/content{query}").content

    def purge(self, change: Any) -> None:  # noqa: ANN401
        """Delete the file of a change, and purge it."""
        place = f"/files/{change['fileId']}"
        self.ask("DELETE", place, headers={"if-match": f'"{change["revision"]["id"]}"'})
        self.ask("POST", f"{place}/purge", json={})


def new_workspace(http: httpx.Client, person: Person, name: str) -> Pictures:
    """Create a workspace, and return the images there."""
    made = http.post("/api/workspaces", json={"name": name}, headers=person.by_key)
    assert made.is_success, made.text
    return Pictures(http, person, f"/api/workspaces/{made.json()['id']}")

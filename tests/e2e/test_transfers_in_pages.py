"""Archives sent by the form of a browser, over real sockets: large, slow, and given up."""

import io
import random
import re
import socket
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from octavo.features.archives.imports import OPEN_IMPORTS, PART_SIZE
from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import Person, client, settle
from tests.e2e.server import PATIENCE
from tests.fakes.vaults import OBSIDIAN

REQUEST_SECONDS = 3.0
MEGABYTE = 1024 * 1024
_FIELD = re.compile(r'name="(token-of-form|once)" value="([0-9a-f]+)"')
_HEADING = re.compile(r"<h1>([^<]+)</h1>")


@dataclass
class There:
    """A server that gives a request three seconds, and a person in a browser."""

    octavo: Octavo
    owner: Person
    browser: httpx.Client

    def workspace(self) -> str:
        """The pages of a new workspace."""
        with client(self.octavo.url, self.owner) as http:
            made = http.post("/api/workspaces", json={"name": "Vault"}).json()["id"]
        return f"/workspaces/{made}"

    def fields(self, base: str) -> dict[str, str]:
        """The hidden fields of the form, in their order."""
        page = self.browser.get(f"{base}/transfers").text
        form = page.split('enctype="multipart/form-data"')[1].split("</form>")[0]
        return dict(_FIELD.findall(form))

    def resident(self) -> int:
        """The most memory that the server has had, in bytes."""
        status = Path(f"/proc/{self.octavo.process.pid}/status").read_text()
        return 1024 * int(next(line for line in status.splitlines() if "VmHWM" in line).split()[1])

    def paths(self, base: str) -> set[str]:
        """The paths of the files of a workspace."""
        with client(self.octavo.url, self.owner) as http:
            listed = http.get(f"/api{base}/files", params={"limit": 500}).json()
        return {each["path"] for each in listed["items"]}


@pytest.fixture(scope="module")
def there() -> Iterator[There]:
    short = ("--request-timeout", str(REQUEST_SECONDS), "--body-timeout", "2")
    with data_folder() as folder:
        with running(folder) as octavo:
            owner = settle(octavo)
        headers = {**owner.by_cookie, "sec-fetch-site": "same-origin"}
        with (
            running(folder, *short) as octavo,
            httpx.Client(
                base_url=octavo.url, headers=headers, timeout=PATIENCE, trust_env=False
            ) as browser,
        ):
            yield There(octavo, owner, browser)


def packed(files: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return written.getvalue()


def followed(there: There, response: httpx.Response) -> str:
    """The page of an import that has ended, after the form was sent."""
    assert response.status_code == 303, response.text
    deadline = time.monotonic() + PATIENCE
    while True:
        page = there.browser.get(response.headers["location"]).text
        if "http-equiv" not in page:
            return page
        assert time.monotonic() < deadline, page
        time.sleep(0.1)


def test_vault_of_obsidian_is_imported_by_the_form(there: There) -> None:
    base = there.workspace()
    files = {"archive": ("Vault.zip", packed(OBSIDIAN.files), "application/zip")}
    sent = there.browser.post(f"{base}/transfers", data=there.fields(base), files=files)
    page = followed(there, sent)
    assert _HEADING.findall(page) == ["Your notes are here"]
    assert f"<dd>{len(OBSIDIAN.notes)}</dd>" in page
    assert f"{OBSIDIAN.left_out['settings']} files with settings" in page
    assert there.paths(base) == {*OBSIDIAN.notes, *OBSIDIAN.images}


def test_archive_of_many_parts_is_not_held_in_memory(there: There) -> None:
    base = there.workspace()
    large = {"paper.pdf": random.Random(1).randbytes(5 * PART_SIZE), "Tea.md": b"# Tea"}
    files = {"archive": ("Vault.zip", packed(large), "application/zip")}
    fields, before = there.fields(base), there.resident()
    page = followed(there, there.browser.post(f"{base}/transfers", data=fields, files=files))
    assert "1 other file." in page
    assert there.paths(base) == {"Tea.md"}
    assert there.resident() - before < PART_SIZE


def head_of(there: There, base: str, length: int) -> bytes:
    """The head of the request of the form."""
    lines = [
        f"POST {base}/transfers HTTP/1.1",
        "host: a",
        "connection: close",
        f"content-length: {length}",
        "content-type: multipart/form-data; boundary=b",
        *(f"{name}: {value}" for name, value in there.owner.by_cookie.items()),
    ]
    return "\r\n".join((*lines, "", "")).encode()


def body_of(fields: dict[str, str], file: bytes) -> bytes:
    """The body of the form."""
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    head = '--b\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n'
    return "".join((*parts, head)).encode() + file + b"\r\n--b--\r\n"


def connected(there: There) -> socket.socket:
    return socket.create_connection(("127.0.0.1", there.octavo.port), timeout=PATIENCE)


def test_upload_that_progresses_outlives_the_limit(there: There) -> None:
    base = there.workspace()
    noise = random.Random(2).randbytes(MEGABYTE)
    body = body_of(there.fields(base), packed({"Tea.md": b"# Tea", "noise.bin": noise}))
    with connected(there) as plain:
        plain.sendall(head_of(there, base, len(body)))
        began = time.monotonic()
        for at in range(0, len(body), 150_000):
            plain.sendall(body[at : at + 150_000])
            time.sleep(1.0)
        assert time.monotonic() - began > 2 * REQUEST_SECONDS
        assert plain.recv(65_536).startswith(b"HTTP/1.1 303")
    assert there.paths(base) == {"Tea.md"}


def test_uploads_that_are_given_up_leave_nothing(there: There) -> None:
    base = there.workspace()
    file = packed({"Tea.md": b"# Tea", "noise.bin": random.Random(3).randbytes(MEGABYTE)})
    for _ in range(2 * OPEN_IMPORTS):
        body = body_of(there.fields(base), file)
        with connected(there) as plain:
            plain.sendall(head_of(there, base, len(body)) + body[: len(body) // 2])
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(65_536):
                pass
    # More imports than may be open: none of the others is.
    body = body_of(there.fields(base), file)
    with connected(there) as plain:
        plain.sendall(head_of(there, base, len(body)) + body)
        assert plain.recv(65_536).startswith(b"HTTP/1.1 303")
    assert there.paths(base) == {"Tea.md"}


def test_refused_form_is_answered_after_a_large_file(there: There) -> None:
    base = there.workspace()
    fields = {**there.fields(base), "token-of-form": "0" * 64}
    large = packed({"paper.pdf": bytes(40 * MEGABYTE)})
    files = {"archive": ("Vault.zip", large, "application/zip")}
    sent = there.browser.post(f"{base}/transfers", data=fields, files=files)
    assert sent.status_code == 403
    assert "signed in again" in sent.text
    other = there.browser.post(
        f"{base}/transfers",
        data=there.fields(base),
        files={"archive": ("a.zip", packed({"Tea.md": b"# Tea"}), "application/zip")},
        headers={"origin": "https://evil.example"},
    )
    assert other.status_code == 403
    assert there.paths(base) == set()
    assert urlsplit(str(sent.url)).path == f"{base}/transfers"

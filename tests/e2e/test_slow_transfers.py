"""Transfers that progress outlive the limit of time for a request; those that stop end."""

import io
import random
import socket
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.e2e.octavo_process import Octavo, data_folder, running
from tests.e2e.people import Person, client, settle
from tests.e2e.test_archives import incompressible, packed
from tests.fakes.image_files import encoded, picture

REQUEST_SECONDS = 1.0
PNG = encoded(picture((900, 900), mode="RGB", seed=1), "PNG") + bytes(600_000)


@dataclass
class There:
    """A server that gives a request a second, and a workspace on it."""

    octavo: Octavo
    owner: Person
    base: str


@pytest.fixture(scope="module")
def there() -> Iterator[There]:
    short = ("--request-timeout", str(REQUEST_SECONDS), "--body-timeout", "2")
    with data_folder() as folder:
        # On a busy machine, hashing a password takes longer than the limit.
        with running(folder) as octavo:
            owner = settle(octavo)
            with client(octavo.url, owner) as http:
                made = http.post("/api/workspaces", json={"name": "Vault"}).json()["id"]
        with running(folder, *short) as octavo:
            yield There(octavo, owner, f"/api/workspaces/{made}")


@contextmanager
def connected(there: There) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", there.octavo.port), timeout=30) as plain:
        yield plain


def head(there: There, method: str, path: str, *lines: str) -> bytes:
    sent = [f"{method} {there.base}{path} HTTP/1.1", "host: a", "connection: close", *lines]
    sent.append(f"authorization: {there.owner.by_key['authorization']}")
    return "\r\n".join((*sent, "", "")).encode()


def status(plain: socket.socket) -> int:
    return int(plain.recv(65_536)[9:12])


def test_upload_that_progresses_outlives_the_limit(there: There) -> None:
    body = (
        b"--b\r\ncontent-disposition: form-data; name=file; filename=a.png\r\n"
        b"content-type: image/png\r\n\r\n" + PNG + b"\r\n--b--\r\n"
    )
    with connected(there) as plain:
        length = f"content-length: {len(body)}"
        kind = "content-type: multipart/form-data; boundary=b"
        plain.sendall(head(there, "POST", "/attachments", length, kind))
        began = time.monotonic()
        for at in range(0, len(body), 100_000):
            plain.sendall(body[at : at + 100_000])
            time.sleep(0.5)
        assert time.monotonic() - began > 3 * REQUEST_SECONDS
        assert status(plain) == 201


def test_upload_that_stops_is_refused(there: There) -> None:
    with connected(there) as plain:
        kind = "content-type: multipart/form-data; boundary=b"
        plain.sendall(head(there, "POST", "/attachments", "content-length: 100000", kind))
        plain.sendall(b"--b\r\ncontent-disposition: form-data; name=file; filename=a.png\r\n\r\n")
        assert status(plain) == 408


def test_export_that_progresses_outlives_the_limit(there: There) -> None:
    files = incompressible(16)
    with client(there.octavo.url, there.owner) as http:
        started = http.post(f"{there.base}/imports", json={}).json()["importId"]
        place = f"{there.base}/imports/{started}"
        octets = {"content-type": "application/octet-stream"}
        assert http.put(f"{place}/parts/1", content=packed(files), headers=octets).is_success
        assert http.post(f"{place}/complete").is_success
    with connected(there) as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        plain.sendall(head(there, "GET", "/export"))
        began = time.monotonic()
        received = b""
        while chunk := plain.recv(100_000):
            received += chunk
            if time.monotonic() - began < 3.5 * REQUEST_SECONDS:
                time.sleep(0.1)
    assert time.monotonic() - began > 3 * REQUEST_SECONDS
    with zipfile.ZipFile(io.BytesIO(dechunked(received.partition(b"\r\n\r\n")[2]))) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == files


def dechunked(body: bytes) -> bytes:
    pieces: list[bytes] = []
    while True:
        size, _, body = body.partition(b"\r\n")
        if not int(size, 16):
            return b"".join(pieces)
        pieces.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]


def test_other_requests_end_at_the_limit(there: There) -> None:
    with connected(there) as plain:
        length, kind = "content-length: 1000000", "content-type: application/json"
        plain.sendall(head(there, "POST", "/changesets", length, kind, "sync-protocol: 1"))
        began = time.monotonic()
        chance = random.Random(0)
        try:
            while time.monotonic() - began < 10:
                plain.sendall(chance.randbytes(1000))
                time.sleep(0.1)
        except OSError:
            pass
        assert time.monotonic() - began < 5

"""``octavo serve`` with a certificate: https as users see it, and the log."""

import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from tests.e2e.prepared import serving, start
from tests.e2e.server import PATIENCE, Server

NO_HOST = b"GET /health HTTP/1.1\r\n\r\n"


@dataclass(frozen=True)
class Files:
    """Certificates and keys in files."""

    folder: Path

    def options(self, chain: str = "chain.pem", key: str = "key.pem") -> tuple[str, ...]:
        return ("--tls-certificate", self.path(chain), "--tls-key", self.path(key))

    def trust(self) -> ssl.SSLContext:
        """The TLS context of one client."""
        return ssl.create_default_context(cafile=self.path("root.pem"))

    def path(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("tls")
    issuer = trustme.CA()
    issued, other = issuer.issue_cert("127.0.0.1"), issuer.issue_cert("127.0.0.1")
    key = issued.private_key_pem.bytes()
    locked = serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    contents = {
        "chain.pem": b"".join(pem.bytes() for pem in issued.cert_chain_pems),
        "key.pem": key,
        "other.pem": other.private_key_pem.bytes(),
        "locked.pem": locked,
        "nothing.pem": b"",
        "binary.der": ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode()),
        "root.pem": issuer.cert_pem.bytes(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return Files(folder)


@pytest.fixture(scope="module")
def server(files: Files) -> Iterator[Server]:
    with serving(*files.options()) as running:
        yield running
        assert running.stop() == (0, "")


def test_serve_with_a_certificate_serves_https(server: Server, files: Files) -> None:
    with httpx.Client(verify=files.trust(), trust_env=False, timeout=PATIENCE) as client:
        for _ in range(2):
            response = client.get(f"https://127.0.0.1:{server.port}/health")
            assert (response.status_code, response.http_version) == (200, "HTTP/1.1")
            assert response.json() == {"status": "alive"}


def test_serve_negotiates_only_http_1_1(server: Server, files: Files) -> None:
    trust = files.trust()
    trust.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as stream,
    ):
        assert stream.selected_alpn_protocol() == "http/1.1"


def test_serve_with_a_certificate_serves_no_plain_http(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nhost: octavo\r\n\r\n")
        # Only a TLS alert.
        assert b"HTTP" not in read_all(plain)


@pytest.mark.parametrize(
    ("chain", "key", "bad", "reason"),
    [
        ("chain.pem", "other.pem", "other.pem", "is not the key of the certificate"),
        ("chain.pem", "locked.pem", "locked.pem", "is encrypted with a password"),
        ("chain.pem", "nothing.pem", "nothing.pem", "is not a PEM private key"),
        ("chain.pem", "chain.pem", "chain.pem", "is not a PEM private key"),
        ("nothing.pem", "key.pem", "nothing.pem", "is not a PEM certificate"),
        ("key.pem", "chain.pem", "key.pem", "is not a PEM certificate"),
        ("binary.der", "key.pem", "binary.der", "is not a PEM certificate"),
    ],
)
def test_serve_unusable_certificate_exits_with_1_and_one_line(
    files: Files, chain: str, key: str, bad: str, reason: str
) -> None:
    options = ("--bind", "127.0.0.1:0", *files.options(chain, key))
    with start(*options, folder=files.folder) as process:
        _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    [line] = output.splitlines()
    assert line.startswith(f"octavo: {files.path(bad)} {reason}")
    assert ": use " in line


def test_serve_json_log_is_one_object_per_line_with_the_id_that_the_client_saw(
    files: Files,
) -> None:
    with serving("--log-format", "json", *files.options()) as server:
        asked = [
            b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n",
            b"GET /health HTTP/1.1\r\nhost: a\r\nx-request-id: mine\r\n\r\n",
            b"GET /api/nowhere?secret HTTP/1.1\r\nhost: a\r\n\r\n",
            # The server itself refuses these.
            NO_HOST,
            b"BREW /pot HTTP/1.1\r\nhost: a\r\n\r\n",
            b"GET / HTTP/2.0\r\nhost: a\r\n\r\n",
        ]
        seen = [ask(server, files, request) for request in asked]
        server.process.terminate()
        _, output = server.process.communicate(timeout=PATIENCE)
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert [(line["status"], line["requestId"]) for line in requests] == seen
    assert [line.get("problem") for line in requests] == [
        None,
        None,
        "not_found",
        "invalid_request",
        "not_implemented",
        "http_version_not_supported",
    ]
    assert requests[1]["requestId"] == "mine"
    assert {line["client"] for line in requests} == {"127.0.0.1"}
    assert "secret" not in output


def ask(server: Server, files: Files, request: bytes) -> tuple[int, str]:
    """Send ``request``; return the status and the id of the response."""
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain,
        files.trust().wrap_socket(plain, server_hostname="127.0.0.1") as stream,
    ):
        stream.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            data = stream.recv(65536)
            assert data, "the connection ended within the head"
            received += data
        first, *lines = received.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return int(first.split()[1]), headers["x-request-id"]


def read_all(stream: socket.socket) -> bytes:
    received = b""
    try:
        while data := stream.recv(65536):
            received += data
    except ConnectionResetError:
        return received
    return received

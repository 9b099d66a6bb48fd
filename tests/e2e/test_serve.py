"""``octavo serve`` as users run it: a real process, real sockets, real signals."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo import __version__
from tests.e2e.octavo_process import data_folder, running
from tests.e2e.prepared import serving, start
from tests.e2e.server import PATIENCE, Server

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
        assert running.stop() == (0, "")


def exchange(
    server: Server, method: str, path: str, headers: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = server.connect()
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


REQUIRED = {
    "configuration": "The settings were read and checked.",
    "database": "The database can be written to.",
    "migrations": "The schema is the one expected.",
    "blobs": "The data folder can be written to.",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/health", {"status": "alive"}),
        ("/api/health", {"status": "alive"}),
        (
            "/ready?detail=summary",
            {
                "status": "ready",
                "requirements": [{"name": name, "met": True} for name in REQUIRED],
            },
        ),
        (
            "/api/ready",
            {
                "status": "ready",
                "requirements": [
                    {"name": name, "met": True, "detail": detail}
                    for name, detail in REQUIRED.items()
                ],
            },
        ),
    ],
)
def test_serve_responds_to_health_and_readiness(
    server: Server, path: str, expected: dict[str, object]
) -> None:
    response, body = exchange(server, "GET", path)
    assert (response.status, json.loads(body)) == (200, expected)
    assert response.getheader("content-type") == "application/json"
    assert response.getheader("cache-control") == "no-store"
    assert re.fullmatch(UUID, response.getheader("x-request-id") or "")
    assert response.getheader("server") is None


def test_serve_head_has_the_length_and_no_body(server: Server) -> None:
    response, body = exchange(server, "HEAD", "/health")
    assert (response.status, response.getheader("content-length"), body) == (200, "18", b"")


def test_serve_keeps_the_request_id(server: Server) -> None:
    response, _ = exchange(server, "GET", "/health", {"X-Request-Id": "from.the-client_1"})
    assert response.getheader("x-request-id") == "from.the-client_1"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("GET", "/api/nowhere", {}, 404, "not_found"),
        ("DELETE", "/ready", {}, 405, "method_not_allowed"),
        ("GET", "/health", {"X-Request-Id": "no spaces"}, 400, "invalid_request"),
    ],
)
def test_serve_refuses_with_a_problem(
    server: Server, method: str, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    response, body = exchange(server, method, path, headers)
    found = json.loads(body)
    assert (response.status, found["status"], found["code"]) == (status, status, code)
    assert response.getheader("content-type") == "application/problem+json"
    assert response.getheader("allow") == ("GET, HEAD, OPTIONS" if status == 405 else None)
    assert response.getheader("x-request-id") == found["requestId"]


def test_serve_connection_survives_an_unread_body(server: Server) -> None:
    connection = server.connect()
    for _ in range(3):
        connection.request("POST", "/health", body=b"x" * 50_000)
        response = connection.getresponse()
        assert (response.status, response.will_close) == (405, False)
        response.read()
    connection.close()


def test_serve_websocket_handshake_is_treated_as_a_get(server: Server) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    response, body = exchange(server, "GET", "/nowhere", upgrade)
    assert (response.status, json.loads(body)["code"]) == (404, "not_found")


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_serve_signal_stops_immediately_despite_an_idle_connection(signum: int) -> None:
    with serving("--shutdown-timeout", "60") as server:
        idle = server.connect()
        idle.request("GET", "/health")
        assert idle.getresponse().read()
        began = time.monotonic()
        server.process.send_signal(signum)
        _, output = server.process.communicate(timeout=PATIENCE)
        assert server.process.returncode == 0
        assert time.monotonic() - began < 5
        stopping, stopped = output.splitlines()[-2:]
        assert "Octavo is stopping; requests in flight have up to 58 seconds" in stopping
        assert "Octavo has stopped" in stopped
        idle.close()


def test_serve_signal_lets_the_request_in_flight_finish() -> None:
    with serving("--shutdown-timeout", "60") as server:
        flight = begin_request(server)
        server.process.send_signal(signal.SIGTERM)
        wait_until_refused(server)
        flight.sendall(b"host: octavo\r\n\r\n")
        response = flight.recv(1000)
        assert response.startswith(b"HTTP/1.1 200 ")
        assert b"connection: close\r\n" in response
        assert server.wait() == (0, "")
        flight.close()


def test_serve_grace_over_cuts_off_the_request_in_flight() -> None:
    with serving("--shutdown-timeout", "0.2") as server:
        flight = begin_request(server)
        assert server.stop() == (0, "")
        flight.close()


def test_serve_grace_over_cuts_off_a_client_that_reads_nothing() -> None:
    with serving("--shutdown-timeout", "0.2") as server:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect(("127.0.0.1", server.port))
        fill(deaf)
        assert server.stop() == (0, "")
        deaf.close()


def test_serve_drain_reports_not_ready_but_accepts_requests_and_a_second_signal_ends() -> None:
    with serving("--shutdown-timeout", "120", "--drain-timeout", "60") as server:
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while (status := server.get("/ready")) == 200:
            assert time.monotonic() < deadline
        assert (status, server.get("/health")) == (503, 200)
        assert server.stop() == (-signal.SIGTERM, "")


def test_serve_port_in_use_exits_with_1_and_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with start("--bind", str(port), folder=tmp_path) as process:
            _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert output == (
        f"octavo: port {port} of 127.0.0.1 is in use by another process: "
        "stop it, or bind to another port\n"
    )


def test_serve_reads_octavo_toml_of_its_working_directory(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text('bind = "[::1]:http"\npublic_url = "notes"\n')
    with start(folder=tmp_path) as process:
        _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert [line.partition("=")[0] for line in output.splitlines()] == [
        "octavo: octavo.toml: bind",
        "octavo: octavo.toml: public_url",
    ]


def test_serve_logs_once_where_it_listens_and_its_version(tmp_path: Path) -> None:
    options = ("--bind", "127.0.0.1:0", "--data-dir", "kept", "--log-format", "json")
    with start(*options, folder=tmp_path) as process:
        assert process.stderr is not None
        found = json.loads(process.stderr.readline())
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert re.fullmatch(
        r"Octavo listens on http://127\.0\.0\.1:([0-9]+): open http://localhost:\1 in a browser"
        rf" \(version {__version__}, data folder {tmp_path / 'kept'}\)",
        found["event"],
    )


@pytest.mark.parametrize(
    ("public_url", "warned"),
    [("http://192.0.2.5:8091", True), ("https://notes.example.org", False)],
)
def test_serve_warns_of_an_address_where_browsers_keep_no_session(
    public_url: str, warned: bool
) -> None:
    with data_folder() as folder, running(folder, "--public-url", public_url) as octavo:
        code, output = octavo.stop()
    assert code == 0
    assert [f"browsers keep no session at {public_url}: " in line for line in output] == [
        True
    ] * warned


def test_serve_problems_lead_to_the_public_address() -> None:
    with serving("--public-url", "https://notes.example.org") as server:
        _, body = exchange(server, "GET", "/api/nowhere")
        assert json.loads(body)["type"] == "https://notes.example.org/problems/not_found"
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain:
            plain.sendall(b"BREW /pot HTTP/1.1\r\nhost: octavo\r\n\r\n")
            received = b"".join(iter(lambda: plain.recv(65536), b""))
        assert b'"https://notes.example.org/problems/not_implemented"' in received


def test_actors_shows_the_tree_of_the_server_of_its_folder() -> None:
    limits = ("--known-device-queue", "5", "--requests-per-round-per-client", "7")
    with serving(*limits) as server:
        with start(folder=server.folder, command="actors", stdout=subprocess.PIPE) as process:
            found, output = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output) == (0, "")
        tree, used = found.split("\n\n")
        root, *parts = tree.splitlines()
        assert root == "octavo (supervisor, running)"
        assert {"control (worker, running)", "http (worker, running)"} <= {p[3:] for p in parts}
        assert re.sub(" {2,}", "  ", used).splitlines() == [
            "limits",
            "  connections  0 of 10,000",
            "  memory of large requests and responses  0.0 MiB of 160 MiB",
            "  of one account or address  0.0 MiB of 64 MiB",
            "  passwords being checked or waiting  0 of 33, and 5 more for known browsers",
            "  requests of an address in a round  up to 7 now, 7 while rounds are short",
        ]
        assert server.stop() == (0, "")
        with start(folder=server.folder, command="actors") as process:
            _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert output.startswith(f"octavo: no server runs with the data folder {server.folder}")


def test_serve_second_server_in_the_same_folder_exits_with_1_and_one_line() -> None:
    with serving() as server:
        with start("--bind", "127.0.0.1:0", folder=server.folder) as process:
            _, output = process.communicate(timeout=PATIENCE)
        [line] = output.splitlines()
        assert process.returncode == 1
        assert line.startswith("octavo: another server runs with the data folder ")
        assert server.get("/health") == 200
        assert server.stop() == (0, "")


def test_serve_killed_leaves_a_usable_folder(tmp_path: Path) -> None:
    options = ("--data-dir", str(tmp_path / "kept"))
    with serving(*options) as server:
        server.process.kill()
        server.wait()
        assert (tmp_path / "kept" / "control.sock").is_socket()
    with serving(*options) as server:
        assert server.stop() == (0, "")
    assert not (tmp_path / "kept" / "control.sock").exists()


def test_serve_folder_readable_by_others_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with start("--bind", "127.0.0.1:0", "--data-dir", ".", folder=tmp_path) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert " warning " in line
    assert f": chmod 700 {tmp_path} " in line


def test_api_pages_are_served_to_people(server: Server) -> None:
    response, body = exchange(server, "GET", "/api/docs")
    assert (response.status, response.getheader("content-type")) == (
        200,
        "text/html; charset=utf-8",
    )
    for path in json.loads(exchange(server, "GET", "/api/openapi.json")[1])["paths"]:
        assert f"<code>{path}</code>".encode() in body.replace(b"<wbr>", b"")


def begin_request(server: Server) -> socket.socket:
    """Send a request, read its response, and begin another: the server waits for the rest."""
    flight = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    flight.sendall(b"GET /health HTTP/1.1\r\nhost: octavo\r\n\r\n")
    assert flight.recv(1000).startswith(b"HTTP/1.1 200 ")
    flight.sendall(b"GET /health HTTP/1.1\r\n")
    return flight


def wait_until_refused(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
        except ConnectionError:
            return


def fill(deaf: socket.socket) -> None:
    """Send requests and read no response, until the server can neither send nor read."""
    request = b"GET /health HTTP/1.1\r\nhost: octavo\r\nx-request-id: " + b"x" * 128 + b"\r\n\r\n"
    many = request * 1000
    sent = 0
    deaf.settimeout(2)
    with contextlib.suppress(TimeoutError):
        while True:
            sent = (sent + deaf.send(many[sent:])) % len(many)

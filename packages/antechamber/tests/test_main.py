"""The command, as a user runs it: with the applications of the README."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
import trio_websocket

from .conftest import Authority

README = (Path(__file__).parents[1] / "README.md").read_text()
[HELLO] = re.findall(r"^```python\n(from collections.*?)^```", README, re.MULTILINE | re.DOTALL)
[ECHO] = re.findall(r"^```py\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
FAILING = """
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in {"hello": HELLO, "sockets": ECHO, "failing": FAILING}.items():
        (tmp_path / f"{name}.py").write_text(code)
    return tmp_path


def command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "antechamber", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[str, int]]:
    """The URL and the port of a running server, which then stops by a signal without an error."""
    process = command(folder, *arguments, "--bind", "127.0.0.1:0")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"antechamber listens on (https?://127\.0\.0\.1:(\d+))\n", line)
        assert found, line + process.communicate()[1]
        yield found[1], int(found[2])
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def fetched(port: int, tls: ssl.SSLContext | None = None, request: bytes | None = None) -> bytes:
    request = request or b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        stream = tls.wrap_socket(plain, server_hostname="localhost") if tls else plain
        with stream:
            stream.sendall(request)
            return b"".join(iter(lambda: stream.recv(65536), b""))


def test_application_of_the_readme_is_served(folder: Path) -> None:
    with served(folder, "hello:app") as (_, port):
        assert fetched(port).endswith(b"\r\n\r\nHello, trio\n")


def test_limits_are_options(folder: Path) -> None:
    with served(folder, "hello:app", "--header-count", "1") as (_, port):
        assert fetched(port).startswith(b"HTTP/1.1 431 ")


def test_certificate_turns_tls_on(folder: Path, authority: Authority) -> None:
    chain, key = authority.certificate.chain, authority.certificate.key
    with served(folder, "hello:app", "--certificate", chain, "--key", key) as (url, port):
        assert url.startswith("https://")
        assert fetched(port, authority.context()).endswith(b"Hello, trio\n")


async def test_stream_of_a_websocket_is_handed_over_to_another_library(folder: Path) -> None:
    with served(folder, "sockets:app") as (url, _):
        address = url.replace("http", "ws") + "/echo?of=words"
        with trio.fail_after(30):
            async with trio_websocket.open_websocket_url(address) as client:
                await client.send_message("hello")
                assert await client.get_message() == "hello"


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["hello"], 2, "'hello' is not of the form module:app"),
        (["nowhere:app"], 2, "there is no module 'nowhere'"),
        (["hello:nothing"], 2, "'hello' has no 'nothing'"),
        (["hello:app", "--certificate", "chain.pem"], 2, "--certificate and --key belong together"),
        (["hello:app", "--certificate", "a", "--key", "b"], 2, "a can't be read"),
        (["hello:app", "--trusted-proxies", "proxy"], 2, "proxy"),
        (["hello:app", "--bind", "8000x"], 2, "invalid _address value: '8000x'"),
        (["failing:app", "--bind", "127.0.0.1:0"], 1, "no database"),
    ],
)
def test_what_can_not_be_served_is_named(
    folder: Path, arguments: list[str], status: int, text: str
) -> None:
    process = command(folder, *arguments)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert text in errors.splitlines()[-1]


def test_port_in_use_is_named(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = command(folder, "hello:app", "--bind", f"127.0.0.1:{port}")
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith(f"antechamber: port {port} of 127.0.0.1 is in use")

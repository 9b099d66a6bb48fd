"""Third-party clients: httpx and curl, over each version of HTTP, plain and under TLS."""

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial

import httpx
import pytest
import trio
from antechamber.asgi import Application

from .conftest import Authority
from .http_server import QUICK, Server, routed, serving

# A client in a process of its own may start slowly, and no test here is about deadlines.
PATIENT = replace(
    QUICK,
    header_timeout=20,
    body_timeout=20,
    request_timeout=20,
    idle_timeout=20,
    write_timeout=20,
    linger_timeout=2,
)


@dataclass(frozen=True)
class Request:
    """A request for a client to send; a ``chunked`` body is sent without a length."""

    path: str
    method: str = "GET"
    body: bytes | None = None
    chunked: bool = False
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reply:
    """A response as a client understood it."""

    status: int
    version: str
    headers: dict[str, str]
    body: bytes
    sent: int = 0


@dataclass(frozen=True)
class Way:
    """A client and its configuration: the version of HTTP, and whether under TLS."""

    client: str
    version: str
    tls: bool

    def __str__(self) -> str:
        return f"{self.client}-{self.version}{'-tls' if self.tls else ''}"

    def serving(
        self, authority: Authority, routes: dict[str, Application]
    ) -> AbstractAsyncContextManager[Server]:
        certificate = authority.certificate if self.tls else None
        tls = authority.context() if self.tls else None
        return serving(routed(routes), PATIENT, certificate=certificate, tls=tls)

    async def ask(
        self, server: Server, authority: Authority, *requests: Request, more: tuple[str, ...] = ()
    ) -> list[Reply]:
        """Send requests in order with one client; ``more`` are further options of curl."""
        with trio.fail_after(30):
            if self.client == "curl":
                return await ask_curl(self, server, authority, requests, more)
            async with httpx_client(authority) as client:
                return [await ask_httpx(client, server, request) for request in requests]


WAYS = [
    Way("httpx", "1.1", tls=False),
    Way("httpx", "1.1", tls=True),
    Way("curl", "1.0", tls=False),
    Way("curl", "1.0", tls=True),
    Way("curl", "1.1", tls=False),
    Way("curl", "1.1", tls=True),
]
every_way = pytest.mark.parametrize("way", WAYS, ids=str)


def url(server: Server, path: str) -> str:
    return f"{server.scheme}://127.0.0.1:{server.port}{path}"


def httpx_client(authority: Authority) -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=authority.context(), trust_env=False, timeout=20)


async def ask_httpx(client: httpx.AsyncClient, server: Server, request: Request) -> Reply:
    content = in_parts(request.body) if request.body and request.chunked else request.body
    found = await client.request(
        request.method, url(server, request.path), content=content, headers=list(request.headers)
    )
    version = found.http_version.removeprefix("HTTP/")
    return Reply(found.status_code, version, dict(found.headers), found.content)


async def in_parts(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 50_000):
        yield body[at : at + 50_000]


def curl(way: Way, authority: Authority) -> list[str]:
    """The command and the options of every request."""
    command = shutil.which("curl")
    assert command is not None, "curl is missing, and these tests need it: apt-get install curl"
    return [
        command,
        "-qsS",
        "--noproxy",
        "*",
        "--cacert",
        str(authority.file),
        f"--http{way.version}",
    ]


async def ask_curl(
    way: Way,
    server: Server,
    authority: Authority,
    requests: tuple[Request, ...],
    more: tuple[str, ...],
) -> list[Reply]:
    command, *options = curl(way, authority)
    whole, body = [command], b""
    for number, request in enumerate(requests):
        whole += ["--next"] if number else []
        whole += [*options, *more, "-w", "%{stderr}%{json}\n%{header_json}\n"]
        for name, value in request.headers:
            whole += ["-H", f"{name}: {value}" if value else f"{name}:"]
        if request.method == "HEAD":
            # It prints the head in place of a body.
            whole += ["--head", "-o", "/dev/null"]
        elif request.body is not None:
            body = request.body
            whole += ["-X", request.method]
            whole += ["-T", "-"] if request.chunked else ["--data-binary", "@-"]
        whole.append(url(server, request.path))
    printed = await trio.run_process(
        whole, stdin=body, capture_stdout=True, capture_stderr=True, check=False
    )
    assert printed.returncode == 0, printed.stderr.decode()
    return list(replies(printed.stderr.decode(), printed.stdout))


def replies(printed: str, bodies: bytes) -> Iterator[Reply]:
    decoder, values = json.JSONDecoder(), []
    while printed := printed.lstrip():
        value, end = decoder.raw_decode(printed)
        values.append(value)
        printed = printed[end:]
    for facts, headers in zip(values[::2], values[1::2], strict=True):
        size = int(facts["size_download"])
        body, bodies = bodies[:size], bodies[size:]
        yield Reply(
            facts["http_code"],
            facts["http_version"],
            {name: ", ".join(found) for name, found in headers.items()},
            body,
            int(facts["size_upload"]),
        )
    assert not bodies


async def read_parts(
    way: Way, server: Server, authority: Authority, path: str, take: Callable[[bytes], None]
) -> None:
    """Get ``path``; call ``take`` for each part of the body when it arrives."""
    if way.client == "curl":
        command = [*curl(way, authority), "-N", url(server, path)]
        async with trio.open_nursery() as nursery:
            run = partial(trio.run_process, command, stdout=subprocess.PIPE)
            process: trio.Process = await nursery.start(run)
            assert process.stdout is not None
            async for part in process.stdout:
                take(bytes(part))
        return
    async with (
        httpx_client(authority) as client,
        client.stream("GET", url(server, path)) as reply,
    ):
        async for part in reply.aiter_raw():
            take(part)

"""Signing in, alone and in a flood, and the pages: times, and bytes of each page.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. The flood comes from 500
loopback addresses, with as many connections: a third of the sign-ins have the right password, a
third a wrong one, a third an unknown address. Who is refused with 429 tries again about when
``retry-after`` says. Meanwhile another person saves notes of 2 KB. The
rounds without and with the flood alternate. The server has one core, the clients have the other,
unless ``--cores all`` gives the server every core.

    python benchmarks/people.py [--quick] [--only alone|flood|pages] [--cores one|all]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The folder of this script has a module named http, which would hide the standard one.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import re  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from http.client import HTTPConnection, HTTPResponse  # noqa: E402
from itertools import count  # noqa: E402
from multiprocessing import get_context  # noqa: E402
from multiprocessing.connection import Connection  # noqa: E402

import trio  # noqa: E402

from benchmarks.figures import report  # noqa: E402
from benchmarks.http import ORIGIN, Service, saving, service  # noqa: E402

PASSWORD = "orange lanterns at dusk"
ADDRESSES = 500
UNLIMITED = (
    *("--registration-attempts-per-client", "5000"),
    *("--sign-in-attempts-per-address", "5000"),
)
RETRY = re.compile(rb"retry-after: ([0-9]+)")
STYLE = re.compile(r'href="(/static/[^"]+)"')
_sources = count(2)


def source() -> str:
    """Return a loopback address that has sent nothing yet."""
    number = next(_sources)
    return f"127.{1 + number // 65_536}.{number // 256 % 256}.{number % 256}"


def post(port: int, path: str, body: object, cookie: str = "", address: str = "") -> HTTPResponse:
    """Send one request with JSON from an address of its own."""
    connection = HTTPConnection("127.0.0.1", port, source_address=(address or source(), 0))
    headers = {"content-type": "application/json", "origin": ORIGIN, "cookie": cookie}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def register(served: Service, number: int) -> None:
    invitation = served.ask("POST", "/api/invitations", {})["token"]
    body = {
        "invitation": invitation,
        "address": f"person{number}@example.org",
        "displayName": f"Person {number}",
        "password": PASSWORD,
    }
    response = post(served.port, "/api/registrations", body)
    if response.status != 201:
        raise SystemExit(f"a registration got {response.status}")


def sign_in(port: int, address: str, password: str) -> tuple[int, float, str]:
    """Sign in from an address of its own; return status, seconds and cookie."""
    began = time.perf_counter()
    given = {"email": address, "password": password}
    response = post(port, "/api/auth/sign-in/email", given)
    cookie = (response.getheader("set-cookie") or "").partition(";")[0]
    return response.status, time.perf_counter() - began, cookie


def percentile(values: list[float], percent: int) -> float:
    """Return a percentile in milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


def alone(served: Service, accounts: int, rounds: int) -> None:
    """Measure sign-ins one after the other: right, wrong and unknown in turn."""
    found: dict[str, list[float]] = {"right": [], "wrong": [], "unknown": []}
    for number in range(rounds):
        person = f"person{number % accounts}@example.org"
        # Attempts are limited per account, so each is tried a few times only.
        for kind, address, password in (
            ("right", person, PASSWORD),
            ("wrong", person, "a password that is wrong"),
            ("unknown", f"nobody{number}@example.org", PASSWORD),
        ):
            status, seconds, _ = sign_in(served.port, address, password)
            if status != (200 if kind == "right" else 401):
                raise SystemExit(f"a sign-in ({kind}) got {status}")
            found[kind].append(seconds)
    for kind, values in found.items():
        report(f"sign-in alone, {kind} p50", percentile(values, 50), "ms")
        report(f"sign-in alone, {kind} p99", percentile(values, 99), "ms")
    ratio = statistics.median(found["wrong"]) / statistics.median(found["unknown"])
    report("sign-in alone, wrong password / unknown address", ratio, "ratio of medians")


async def attack(port: int, number: int, accounts: int, until: float, found: Found) -> None:
    """Sign in again and again from one address."""
    address, chance = source(), random.Random(number)
    await trio.sleep(chance.uniform(0, 1))
    kinds = ("right", "wrong", "unknown")
    for turn in count(number):
        if time.perf_counter() >= until:
            return
        kind = kinds[turn % 3]
        person = f"person{turn % accounts}" if kind != "unknown" else f"nobody{turn}"
        given = {"email": f"{person}@example.org", "password": PASSWORD}
        if kind == "wrong":
            given["password"] = "a password that is wrong"
        body = json.dumps(given).encode()
        head = (
            f"POST /api/auth/sign-in/email HTTP/1.1\r\nhost: localhost\r\norigin: {ORIGIN}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n"
        )
        began = time.perf_counter()
        stream = await trio.open_tcp_stream("127.0.0.1", port, local_address=address)
        async with stream:
            await stream.send_all(head.encode() + body)
            response = b""
            async for chunk in stream:
                response += chunk
        status = int(response[9:12])
        found.statuses[status] += 1
        if status != 429:
            found.seconds[kind].append(time.perf_counter() - began)
        else:
            await trio.sleep(int(RETRY.findall(response)[0]) * chance.uniform(0.5, 1.5))


class Found:
    """What a flood got: statuses, and the seconds of the sign-ins that were decided."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.seconds: dict[str, list[float]] = {"right": [], "wrong": [], "unknown": []}

    def add(self, other: Found) -> None:
        self.statuses += other.statuses
        for kind, times in other.seconds.items():
            self.seconds[kind] += times


def flood(port: int, accounts: int, seconds: float, found: Found) -> None:
    async def run() -> None:
        until = time.perf_counter() + seconds
        async with trio.open_nursery() as nursery:
            for number in range(ADDRESSES):
                nursery.start_soon(attack, port, number * 7, accounts, until, found)

    trio.run(run)


def send_flood(port: int, accounts: int, seconds: float, result: Connection) -> None:
    found = Found()
    flood(port, accounts, seconds, found)
    result.send(found)


def saves(note: Iterator[float], seconds: float) -> list[float]:
    """Save for some seconds; return the seconds of each save."""
    until = time.perf_counter() + seconds
    return [next(note) for _ in iter(lambda: time.perf_counter() < until, False)]


def saver(served: Service) -> Iterator[float]:
    """Save a note again and again; yield the seconds of each save."""
    workspace = served.workspace()
    following = saving(served, workspace, *served.note(workspace, "note"))
    connection = HTTPConnection("127.0.0.1", served.port)
    connection.connect()
    socket = connection.sock
    status, tag = 0, b""
    while True:
        request = following(status, tag)
        began = time.perf_counter()
        socket.sendall(request)
        response = socket.recv(65_536)
        while b"\r\n\r\n" not in response:
            response += socket.recv(65_536)
        head, _, body = response.partition(b"\r\n\r\n")
        length = int(re.findall(rb"content-length: ([0-9]+)", head)[0])
        while len(body) < length:
            body += socket.recv(65_536)
        yield time.perf_counter() - began
        status, tag = int(head[9:12]), re.findall(rb"etag: (\S+)", head)[0]
        # A person's devices save now and then: the queue of a busy loop would hide the flood.
        time.sleep(0.01)


def flooded(served: Service, accounts: int, rounds: int, seconds: float) -> None:
    """Measure saves without and with the flood, in alternating rounds."""
    note = saver(served)
    quiet: list[float] = []
    loaded: list[float] = []
    found = Found()
    context = get_context("fork")
    saves(note, 1)
    for _ in range(rounds):
        quiet += saves(note, seconds)
        # In a process of its own, which cannot hold up the one that measures.
        received, sent = context.Pipe(duplex=False)
        process = context.Process(
            target=send_flood, args=(served.port, accounts, seconds + 2, sent)
        )
        process.start()
        time.sleep(1.5)
        loaded += saves(note, seconds)
        found.add(received.recv())
        process.join()
    for name, values in (("without", quiet), ("in", loaded)):
        report(f"saves {name} the flood, p50", percentile(values, 50), "ms")
        report(f"saves {name} the flood, p99", percentile(values, 99), "ms")
    ratio = percentile(loaded, 99) / percentile(quiet, 99)
    report("saves, p99 in the flood / without", ratio, "ratio")
    for status, number in sorted(found.statuses.items()):
        report(f"sign-ins in the flood with status {status}", number, "requests")
    for kind, times in found.seconds.items():
        if times:
            report(f"sign-in in the flood, {kind} p50", percentile(times, 50), "ms")
            report(f"sign-in in the flood, {kind} p99", percentile(times, 99), "ms")


def pages(served: Service, cookie: str, rounds: int) -> None:
    """Measure each page: its time, and what a first visit transfers."""
    workspace = served.workspace()
    for number in range(30):
        served.ask("POST", f"/api/workspaces/{workspace}/invitations", {"role": "reader"})
        served.ask("POST", "/api/workspaces", {"name": f"Workspace {number}"})
    connection = HTTPConnection("127.0.0.1", served.port)

    def get(path: str) -> tuple[int, bytes]:
        connection.request("GET", path, headers={"cookie": cookie, "accept-encoding": "gzip"})
        response = connection.getresponse()
        return response.status, response.read()

    paths = [
        "/sign-in",
        "/workspaces",
        f"/workspaces/{workspace}/members",
        f"/workspaces/{workspace}/invitations",
        "/account",
        "/account/sessions",
        "/account/keys",
        "/administration/accounts",
        "/administration/invitations",
        "/administration/installation",
        "/administration/audit",
    ]
    for path in paths:
        given = cookie
        if path == "/sign-in":
            cookie = ""
        status, text = get(path)
        if status != 200:
            raise SystemExit(f"{path} got {status}")
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            get(path)
            times.append(time.perf_counter() - began)
        cookie = given
        total = len(text) + sum(len(get(each)[1]) for each in STYLE.findall(text.decode()))
        name = path.replace(workspace, "…")
        report(f"page {name}, p50", percentile(times, 50), "ms")
        report(f"page {name}, p99", percentile(times, 99), "ms")
        report(f"page {name}, with style sheet and icon", total / 1000, "KB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("alone", "flood", "pages"))
    parser.add_argument("--cores", choices=("one", "all"), default="one")
    options = parser.parse_args()
    if options.cores == "one":
        os.sched_setaffinity(0, {1})
    accounts = 40 if options.quick else 80
    rounds, seconds = (2, 3.0) if options.quick else (5, 6.0)
    with service(0, *UNLIMITED) as served:
        if options.cores == "all":
            os.sched_setaffinity(served.pid, range(os.cpu_count() or 1))
        for number in range(accounts):
            register(served, number)
        if options.only in (None, "alone"):
            alone(served, accounts, 50 if options.quick else 250)
        if options.only in (None, "flood"):
            flooded(served, accounts, rounds, seconds)
        if options.only in ("alone", "flood"):
            return
        _, _, cookie = sign_in(served.port, "bench@example.org", PASSWORD)
        pages(served, cookie, 50 if options.quick else 300)


if __name__ == "__main__":
    main()

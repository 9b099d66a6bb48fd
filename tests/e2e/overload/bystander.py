"""Somebody who saves notes of 100 KB and reads the health of the server, in a process.

Each of the two has a connection of its own and waits for each response before the next request. A
response that does not come within `LONGEST` seconds counts as one that took as long.
"""

import json
import secrets
import ssl
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple

from tests.e2e.server import environment

LONGEST = 30.0
NOTE_SIZE = 100_000
TRUSTING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts any certificate."""
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE
_HEALTH_PAUSE = 0.01
_SAVE_PAUSE = 0.02


class Load(NamedTuple):
    """What the bystander needs: the server, its own address, its key and a note of its own."""

    port: int
    address: str
    key: str
    path: str
    revision: str
    tls: bool = False


@dataclass
class Figures:
    """The times of responses in seconds, and the statuses other than 200."""

    health: list[float]
    saves: list[float]
    refused: list[int]

    def report(self) -> dict[str, Any]:
        """The percentiles in milliseconds, and the counts."""
        kinds = {"health": self.health, "saves": self.saves}
        times = {
            f"{kind} {name}": round(1000 * percentile(found, part))
            for kind, found in kinds.items()
            for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
        }
        return {**times, "reads": len(self.health), "writes": len(self.saves)} | {
            "refused": len(self.refused)
        }


def percentile(times: list[float], part: float) -> float:
    """The time that ``part`` of ``times`` don't exceed."""
    return sorted(times)[max(0, min(len(times) - 1, round(part * len(times)) - 1))]


class Bystander:
    """The process of a bystander; it works from `begin` to `end`."""

    def __init__(self, load: Load) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps(load)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # Connected, and with a first save behind it.
        assert self._read() == "ready\n"

    def begin(self) -> None:
        """Start to measure."""
        assert self._process.stdin is not None
        self._process.stdin.write("begin\n")
        self._process.stdin.flush()

    def end(self) -> Figures:
        """Stop; return what was measured. The last responses are waited for."""
        printed, _ = self._process.communicate("end\n", timeout=2 * LONGEST)
        return Figures(**json.loads(printed))

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class _Worker:
    """One kind of request, repeated."""

    def __init__(self, load: Load, ended: threading.Event) -> None:
        self.times: list[float] = []
        self.refused: list[int] = []
        self._load = load
        self._ended = ended
        self._revision = load.revision
        self._connection = self._connect()

    def _connect(self) -> HTTPConnection:
        source = (self._load.address, 0)
        port = self._load.port
        if self._load.tls:
            return HTTPSConnection(
                "127.0.0.1", port, timeout=LONGEST, source_address=source, context=TRUSTING
            )
        return HTTPConnection("127.0.0.1", port, timeout=LONGEST, source_address=source)

    def health(self) -> None:
        while not self._ended.wait(_HEALTH_PAUSE):
            self._ask("GET", "/api/health", None, {})

    def saves(self) -> None:
        while not self._ended.wait(_SAVE_PAUSE):
            self.save()

    def save(self) -> None:
        text = secrets.token_hex(NOTE_SIZE // 2)
        body = json.dumps({"text": text, "mutationId": mutation()})
        headers = {
            "authorization": f"Bearer {self._load.key}",
            "content-type": "application/json",
            "if-match": f'"{self._revision}"',
        }
        saved = self._ask("PUT", self._load.path, body, headers)
        if saved is not None:
            self._revision = saved["revision"]["id"]

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Any:  # noqa: ANN401
        begun = time.perf_counter()
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            self._connection.close()
            self._connection = self._connect()
            self.times.append(LONGEST)
            self.refused.append(0)
            return None
        self.times.append(time.perf_counter() - begun)
        if response.status != 200:
            self.refused.append(response.status)
            return None
        return json.loads(content) if method == "PUT" else None


def mutation() -> str:
    """An identifier of a mutation, a UUID of version 7."""
    digits = secrets.token_hex(16)
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def main() -> None:
    load = Load(*json.loads(sys.argv[1]))
    ended = threading.Event()
    reader, writer = _Worker(load, ended), _Worker(load, ended)
    writer.save()
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    for each in (reader, writer):
        each.times.clear()
    threads = [threading.Thread(target=each) for each in (reader.health, writer.saves)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    ended.set()
    for thread in threads:
        thread.join()
    figures = Figures(reader.times, writer.times, reader.refused + writer.refused)
    print(json.dumps(figures.__dict__))  # noqa: T201


if __name__ == "__main__":
    main()

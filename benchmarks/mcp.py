"""Read a note through the MCP endpoint, compared to the same read by the API.

Prints one JSON line a figure: ``{"name": …, "value": …, "unit": …}``. One connection; rounds of
``tools/call`` and of ``getFile`` alternate. The server has one core, the client the other.

    python benchmarks/mcp.py [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# This script's folder would hide the package http of the standard library.
sys.path[0] = str(ROOT)

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from http.client import HTTPConnection  # noqa: E402
from urllib.parse import parse_qs, urlencode, urlsplit  # noqa: E402

from benchmarks.figures import report  # noqa: E402
from benchmarks.http import ORIGIN, Service, service  # noqa: E402
from octavo.features.oauth.rules.authorization_request import challenge_of  # noqa: E402

SERVER, CLIENT = 0, 1
CALLBACK = "http://127.0.0.1:4711/callback"
VERIFIER = "v" * 43


def access_token(served: Service) -> str:
    """Return an access token of a new program that may read."""
    program = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    client_id = str(served.ask("POST", "/oauth/register", program)["client_id"])
    parameters = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "resource": f"{ORIGIN}/mcp",
    }
    decision = {"parameters": parameters, "allow": True}
    redirect = str(served.ask("POST", "/api/account/access-requests", decision)["redirect"])
    fields = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": parse_qs(urlsplit(redirect).query)["code"][0],
        "code_verifier": VERIFIER,
        "redirect_uri": CALLBACK,
        "resource": f"{ORIGIN}/mcp",
    }
    connection = HTTPConnection("127.0.0.1", served.port)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/oauth/token", urlencode(fields), headers)
    return str(json.load(connection.getresponse())["access_token"])


class Reader:
    """Reads one note in both ways."""

    def __init__(self, served: Service) -> None:
        workspace = served.workspace()
        file_id, _ = served.note(workspace, "note")
        self._connection = HTTPConnection("127.0.0.1", served.port)
        self._place = f"/api/workspaces/{workspace}/files/{file_id}"
        self._key = {"authorization": f"Bearer {served.key}"}
        self._token = {
            "authorization": f"Bearer {access_token(served)}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": "2025-11-25",
        }
        arguments = {"note_id": f"octavo://{workspace}/{file_id}"}
        params = {"name": "read_note", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._message = json.dumps(message)

    def by_api(self, query: str) -> None:
        self._connection.request("GET", f"{self._place}{query}", headers=self._key)
        self._read()

    def by_tool(self) -> None:
        self._connection.request("POST", "/mcp", self._message, self._token)
        if b'"isError":true' in self._read():
            raise SystemExit("the tool refused to read the note")

    def _read(self) -> bytes:
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise SystemExit(f"a read got {response.status}")
        return body


def main() -> None:
    """Report both rates, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds, count = (3, 100) if parser.parse_args().quick else (9, 600)
    os.sched_setaffinity(0, {CLIENT})
    with service(SERVER, "--mcp", "true") as served:
        reader = Reader(served)
        acts: dict[str, Callable[[], None]] = {
            "read_note": reader.by_tool,
            "text": lambda: reader.by_api("?content=text"),
            "full": lambda: reader.by_api(""),
        }
        rates: dict[str, list[float]] = {name: [] for name in acts}
        for _ in range(rounds):
            for name, act in acts.items():
                began = time.perf_counter()
                for _ in range(count):
                    act()
                rates[name].append(count / (time.perf_counter() - began))
        for name, found in rates.items():
            report(f"{name}/rate", statistics.median(found), "reads/s")
        for name in ("text", "full"):
            ratios = [a / b for a, b in zip(rates["read_note"], rates[name], strict=True)]
            report(f"read_note/{name}", statistics.median(ratios), "times")


if __name__ == "__main__":
    main()

"""A server of the standard library whose responses a test specifies, over a real socket."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.e2e.threaded_server import serving

Responses = Mapping[str, tuple[int, bytes]]
WORKSPACE_ID = "01900000-0000-7000-8000-00000000000a"


def listed(*names: str) -> tuple[int, bytes]:
    """The response with workspaces of these names; the first has `WORKSPACE_ID`."""
    items = [
        {
            "id": f"{WORKSPACE_ID[:-1]}{'abcdef0123456789'[number]}",
            "name": name,
            "role": "owner",
            "createdAt": "2026-01-01T00:00:00Z",
        }
        for number, name in enumerate(names)
    ]
    return 200, json.dumps({"items": items, "next": None}).encode()


def refused(status: int, code: str) -> tuple[int, bytes]:
    """The response with a problem."""
    return status, json.dumps({"code": code, "detail": "Why."}).encode()


@contextmanager
def responding(responses: Responses) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Respond by the method and the last segment of the path; the address, and what was asked.

    Every request is recorded with the credential that it has.
    """
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name that http.server calls
            kind = f"{self.command} {self.path.partition('?')[0].rpartition('/')[2]}"
            asked.append((kind, self.headers["authorization"]))
            self.rfile.read(int(self.headers["content-length"] or 0))
            status, body = responses[kind]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  # as above

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as above
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, asked

"""A program's end of a flow: a listener on the loopback interface, and lines for the test."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Thread

_SECONDS = 60.0


def say(**line: object) -> None:
    """Write a line for the test."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Loopback:
    """Listens for the responses that the browser brings.

    Attributes:
        redirect: the redirect URI.
    """

    def __init__(self) -> None:
        arrived = self._arrived = SimpleQueue[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(b"<h1>Back in the program</h1>")
                if self.path.startswith("/callback?"):
                    arrived.put(self.path)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.redirect = f"http://127.0.0.1:{server.server_port}/callback"
        Thread(target=server.serve_forever, daemon=True).start()

    def response(self) -> str:
        """Wait for the next response; return its address."""
        return self.redirect + self._arrived.get(timeout=_SECONDS).removeprefix("/callback")

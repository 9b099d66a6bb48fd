"""A reverse proxy that adds an access token: the suite itself sends none."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.e2e.octavo_process import PUBLIC
from tests.e2e.server import PATIENCE

_REPLACED = frozenset({"connection", "host", "origin", "keep-alive", "transfer-encoding"})
_MADE_AGAIN = frozenset({"connection", "date", "server", "transfer-encoding"})


@contextmanager
def proxy(port: int, token: str) -> Iterator[str]:
    """Serve the server at ``port``, with ``token``, for the block; return the URL."""
    with _Proxy(("127.0.0.1", 0), partial(_Handler, port, token)) as listening:
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that leave; what is missing then, the suite reports."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, port: int, token: str, *given: object) -> None:
        self._port = port
        self._token = token
        super().__init__(*given)  # type: ignore[arg-type]

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)) as server:
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self._headers_sent():
                server.putheader(name, value)
            server.endheaders(body)
            answer = server.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _MADE_AGAIN:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = do_OPTIONS = _forward  # noqa: N815

    def _headers_sent(self) -> Iterator[tuple[str, str]]:
        for name, value in self.headers.items():
            if name.lower() not in _REPLACED:
                yield name, value
        yield "authorization", f"Bearer {self._token}"
        # To its clients the proxy is the installation: its own host and origin are the public ones.
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        yield "host", PUBLIC.removeprefix("https://") if self._is_own(host) else host
        if origin is not None:
            own = self._is_own(origin.removeprefix("http://"))
            yield "origin", PUBLIC if own else origin

    def _is_own(self, host: str) -> bool:
        return host == self.headers.get("host") and host.startswith(("127.0.0.1:", "localhost:"))

    def log_message(self, *given: object) -> None:
        """Log nothing."""

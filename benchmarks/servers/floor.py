"""The least that a server on trio can do for a durable save, a read and a notice.

    python -m benchmarks.servers.floor FILE

It prints the address at which it listens. It has one table of heads and one of revisions in an
SQLite file with ``synchronous=FULL``, a thread that commits all waiting saves together, no
accounts, no checks, no log and no errors. Saves are guarded: ``PUT /notes/NAME`` names the revision
that it replaces in ``if-match``, and creates a note without it. ``GET /notes/NAME`` returns the
text, or a 304; ``GET /notices`` is a WebSocket that gets one message for each save. It is what
`benchmarks/http.py` compares Octavo with.
"""

import base64
import hashlib
import json
import os
import sqlite3
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any

import httptools
import trio

_READ = 65_536
_ACCEPT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Save:
    """A save that waits for its commit; ``revision`` is the new one, or None if it was refused."""

    __slots__ = ("expected", "name", "revision", "task", "text")

    def __init__(self, name: str, text: str, expected: bytes | None) -> None:
        self.name, self.text, self.expected = name, text, expected
        self.revision: int | None = None
        self.task = trio.lowlevel.current_task()


class Notes:
    """The notes: read in the event loop, written by a thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: SimpleQueue[Save] = SimpleQueue()
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                "CREATE TABLE IF NOT EXISTS heads (name TEXT PRIMARY KEY, revision INT, text TEXT);"
                "CREATE TABLE IF NOT EXISTS revisions (number INTEGER PRIMARY KEY, name, text)"
            )
        self._reader = sqlite3.connect(path, isolation_level=None)
        self._token: trio.lowlevel.TrioToken | None = None

    def start(self) -> None:
        """Start the thread."""
        self._token = trio.lowlevel.current_trio_token()
        Thread(target=self._write, daemon=True).start()

    async def save(self, name: str, text: str, expected: bytes | None) -> int | None:
        """Return the new revision, once it is durable; None if another one is the head."""
        save = Save(name, text, expected)
        self._waiting.put(save)
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)
        return save.revision

    def read(self, name: str) -> tuple[int, str] | None:
        """Return the revision and the text of a note."""
        found: tuple[int, str] | None = self._reader.execute(
            "SELECT revision, text FROM heads WHERE name = ?", (name,)
        ).fetchone()
        return found

    def _write(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        assert self._token is not None
        while True:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            connection.execute("BEGIN IMMEDIATE")
            for save in batch:
                save.revision = self._put(connection, save)
            connection.execute("COMMIT")
            self._token.run_sync_soon(_wake, batch)

    def _put(self, connection: sqlite3.Connection, save: Save) -> int | None:
        head = connection.execute(
            "SELECT revision FROM heads WHERE name = ?", (save.name,)
        ).fetchone()
        if head is not None and save.expected != b'"%d"' % head[0]:
            return None
        number = connection.execute(
            "INSERT INTO revisions (name, text) VALUES (?, ?)", (save.name, save.text)
        ).lastrowid
        connection.execute(
            "INSERT INTO heads VALUES (?1, ?2, ?3)"
            " ON CONFLICT (name) DO UPDATE SET revision = ?2, text = ?3",
            (save.name, number, save.text),
        )
        return number


def _wake(batch: list[Save]) -> None:
    for save in batch:
        trio.lowlevel.reschedule(save.task)


class Connection:
    """One client; `httptools` calls its methods."""

    def __init__(self, stream: trio.SocketStream, server: "Server") -> None:
        self._stream, self._server = stream, server
        self._parser = httptools.HttpRequestParser(self)
        self._url, self._body = b"", b""
        self._headers: dict[bytes, bytes] = {}
        self._complete = False

    def on_url(self, url: bytes) -> None:
        """Keep the target of the request."""
        self._url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Note the end of the request."""
        self._complete = True

    async def run(self) -> None:
        """Serve requests until the client leaves."""
        descriptor = self._stream.socket.fileno()
        while True:
            while not self._complete:
                await trio.lowlevel.wait_readable(descriptor)
                data = os.read(descriptor, _READ)
                if not data:
                    return
                try:
                    self._parser.feed_data(data)
                except httptools.HttpParserUpgrade:
                    await self._listen()
                    return
            response = await self._respond()
            self._url, self._body, self._headers, self._complete = b"", b"", {}, False
            if os.write(descriptor, response) != len(response):
                return

    async def _respond(self) -> bytes:
        notes, name = self._server.notes, self._url.decode()
        if self._url == b"/health":
            return _response(b"200 OK", b"", b"{}")
        if self._parser.get_method() == b"PUT":
            text = json.loads(self._body)["text"]
            revision = await notes.save(name, text, self._headers.get(b"if-match"))
            if revision is None:
                head = notes.read(name)
                tag = b"" if head is None else b'"%d"' % head[0]
                return _response(b"412 Precondition Failed", tag, b"")
            self._server.notify(revision)
            return _response(b"200 OK", b'"%d"' % revision, b'{"revision":%d}' % revision)
        found = notes.read(name)
        if found is None:
            return _response(b"404 Not Found", b"", b"")
        tag = b'"%d"' % found[0]
        if self._headers.get(b"if-none-match") == tag:
            return b"HTTP/1.1 304 Not Modified\r\netag: " + tag + b"\r\n\r\n"
        return _response(b"200 OK", tag, json.dumps({"text": found[1]}).encode())

    async def _listen(self) -> None:
        """Complete the handshake of a WebSocket, and send it notices."""
        key = self._headers[b"sec-websocket-key"].decode() + _ACCEPT
        accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest())
        descriptor = self._stream.socket.fileno()
        os.write(
            descriptor,
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            b"sec-websocket-accept: " + accept + b"\r\n\r\n",
        )
        self._server.listeners.add(descriptor)
        try:
            while True:
                await trio.lowlevel.wait_readable(descriptor)
                if not os.read(descriptor, _READ):
                    return
        finally:
            self._server.listeners.discard(descriptor)


def _response(status: bytes, tag: bytes, body: bytes) -> bytes:
    etag = b"etag: " + tag + b"\r\n" if tag else b""
    return b"HTTP/1.1 %b\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        status,
        etag,
        len(body),
        body,
    )


class Server:
    """The notes, and the sockets of those who listen."""

    def __init__(self, path: str) -> None:
        self.notes = Notes(path)
        self.listeners: set[int] = set()

    def notify(self, revision: int) -> None:
        """Send one message to everybody who listens; it is lost where the socket is full."""
        message = b'{"type":"changed","position":%d}' % revision
        frame = bytes((0x81, len(message))) + message
        for descriptor in self.listeners:
            try:
                os.write(descriptor, frame)
            except BlockingIOError:
                continue

    async def serve(self, stream: Any) -> None:  # noqa: ANN401  # a stream of a listener
        """Serve one connection."""
        try:
            await Connection(stream, self).run()
        except OSError:
            return


async def main(path: str) -> None:
    """Serve until the process ends."""
    server = Server(path)
    server.notes.start()
    [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
    print(f"listens on http://127.0.0.1:{listener.socket.getsockname()[1]}", flush=True)
    await trio.serve_listeners(server.serve, [listener])


if __name__ == "__main__":
    trio.run(main, sys.argv[1])

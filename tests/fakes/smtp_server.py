"""Mail servers on the loopback interface: a real one, and one that plays a script."""

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

USER, PASSWORD = "octavo", "a secret of the mail server"
PATIENCE = 30.0


class MailServer:
    """A mail server in a process of its own (`tests.fakes.smtp_process`).

    Attributes:
        port: where it listens.
        recipients: the recipients of the accepted messages.
        messages: the accepted messages.
        attempted: how many contents arrived.
    """

    def __init__(self, process: "subprocess.Popen[str]", options: dict[str, object]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.port = 0
        self.recipients: list[str] = []
        self.messages: list[EmailMessage] = []
        self.attempted = 0
        self._confirmed = 0
        self._changed = threading.Condition()
        self._write(options)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        with self._changed:
            assert self._changed.wait_for(lambda: self.port, PATIENCE)

    def reply(self, **replies: object) -> None:
        """Change replies: ``on_sender``, ``on_recipient``, ``on_content``, ``stalls``.

        ``on_content`` lists the replies to the next contents, after which they are accepted.
        """
        with self._changed:
            confirmed = self._confirmed
        self._write(replies)
        with self._changed:
            assert self._changed.wait_for(lambda: self._confirmed > confirmed, PATIENCE)

    def wait_for(self, count: int) -> list[EmailMessage]:
        """Wait until ``count`` messages were accepted; return them."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.messages) >= count, PATIENCE), (
                f"{len(self.messages)} messages arrived, not {count}"
            )
        return self.messages

    def finish(self) -> None:
        """Let the server finish its conversations and end; read what it still reports."""
        self._stdin.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def _write(self, values: dict[str, object]) -> None:
        self._stdin.write(json.dumps(values) + "\n")
        self._stdin.flush()

    def _read(self) -> None:
        for line in self._stdout:
            event = json.loads(line)
            with self._changed:
                match event["event"]:
                    case "listening":
                        self.port = event["port"]
                    case "set":
                        self._confirmed += 1
                    case "refused":
                        self.attempted += 1
                    case "accepted":
                        self.attempted += 1
                        self.recipients += event["recipients"]
                        content = base64.b64decode(event["content"])
                        self.messages.append(message_from_bytes(content, policy=policy.default))
                self._changed.notify_all()


@contextmanager
def mail_server(
    *,
    starttls: Path | None = None,
    tls: Path | None = None,
    authenticated: bool = False,
    port: int = 0,
) -> Iterator[MailServer]:
    """Run a mail server for the block.

    It requires STARTTLS with the key and the certificate in the file ``starttls``, TLS with those
    in ``tls``, and authentication with ``authenticated``.
    """
    options: dict[str, object] = {
        "starttls": None if starttls is None else str(starttls),
        "tls": None if tls is None else str(tls),
        "credentials": [USER, PASSWORD] if authenticated else None,
        "port": port,
    }
    program = Path(__file__).with_name("smtp_process.py")
    with subprocess.Popen(
        # aiosmtpd uses attributes that it deprecates itself.
        [sys.executable, "-W", "ignore", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            server = MailServer(process, options)
            yield server
            server.finish()
        finally:
            process.kill()


@contextmanager
def scripted_server(*replies: bytes, stalls: bool = False) -> Iterator[int]:
    """Run a server that sends ``replies`` to one client, one for each line, and then hangs up.

    The first is the greeting. With ``stalls``, it replies no more instead. Gives the port.
    """

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            for reply in replies:
                connection.sendall(reply)
                if not lines.readline():
                    return
            if stalls:
                lines.read()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENCE)
        assert not thread.is_alive()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port

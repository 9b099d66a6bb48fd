"""The reference implementation of Yjs in a process of its own: the other device of a test."""

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer

HERE = Path(__file__).resolve().parent
SECONDS = 60.0


class PeerFailed(Exception):
    """The library refused its input, or its process ended or did not reply in time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The content of a Yjs document; ``error`` is what it raised, and then there is no content."""

    text: str = ""
    state_vector: dict[int, int] | None = None
    pending: bool = False
    roots: tuple[str, ...] = ()
    error: str | None = None


def missing() -> str | None:
    """What has to be installed before a peer starts, for a person; None if nothing."""
    if shutil.which("node") is None:
        return (
            "THE REFERENCE IMPLEMENTATION OF YJS IS NOT TESTED AGAINST: there is no Node.js. "
            "Install it (on Debian: apt-get install nodejs npm), then run make test."
        )
    if not (HERE / "node_modules/yjs/package.json").is_file():
        return (
            "THE REFERENCE IMPLEMENTATION OF YJS IS NOT TESTED AGAINST: its package is missing. "
            "Run make test, which installs it, or make yjs."
        )
    return None


class Peer:
    """Documents of Yjs by name, each with the text of a note.

    Every call takes at most ``SECONDS``, then the process is killed; calls of several threads come
    one after the other. A trio test calls through ``trio.to_thread.run_sync``. Indexes and lengths
    are UTF-16 code units.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = Lock()

    def new(self, doc: str, client: int) -> None:
        self._call("new", doc=doc, client=client)

    def close(self, doc: str) -> None:
        self._call("close", doc=doc)

    def apply(self, doc: str, update: bytes) -> None:
        self._call("apply", doc=doc, update=_base64(update))

    def insert(self, doc: str, index: int, text: str) -> None:
        self._call("insert", doc=doc, index=index, text=text)

    def delete(self, doc: str, index: int, length: int) -> None:
        self._call("delete", doc=doc, index=index, length=length)

    def text(self, doc: str) -> str:
        return str(self._call("text", doc=doc))

    def state(self, doc: str) -> bytes:
        return _bytes(self._call("state", doc=doc))

    def state_vector(self, doc: str) -> bytes:
        return _bytes(self._call("stateVector", doc=doc))

    def diff(self, doc: str, state_vector: bytes) -> bytes:
        """What the document holds beyond ``state_vector``."""
        return _bytes(self._call("diff", doc=doc, stateVector=_base64(state_vector)))

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """One update for several, without a document: with Skips where something is missing."""
        return _bytes(self._call("merge", updates=[_base64(update) for update in updates]))

    def pending(self, doc: str) -> bool:
        """Whether something is pending because what it depends on is missing."""
        return self._call("pending", doc=doc) is True

    def outcomes(self, cases: Sequence[Sequence[bytes]]) -> list[Outcome]:
        """The content of a fresh document after the updates of each case, one after the other."""
        encoded = [[_base64(update) for update in case] for case in cases]
        replies = self._call("outcomes", cases=encoded)
        assert isinstance(replies, list)
        return [_outcome(reply) for reply in replies]

    def _call(self, op: str, **given: object) -> object:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        line = json.dumps({"op": op, **given}).encode() + b"\n"
        with self._lock:
            deadline = Timer(SECONDS, self._process.kill)
            deadline.start()
            try:
                stdin.write(line)
                stdin.flush()
                answered = stdout.readline()
            except BrokenPipeError:
                answered = b""
            finally:
                deadline.cancel()
        if not answered:
            raise PeerFailed(f"the peer gave no answer to {op}")
        reply = json.loads(answered)
        if "error" in reply:
            raise PeerFailed(reply["error"])
        return reply["value"]


@contextmanager
def running_peer() -> Iterator[Peer]:
    """Start a peer; it ends with the block."""
    with subprocess.Popen(
        ["node", HERE / "peer.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Peer(process)
        finally:
            process.kill()


def _outcome(reply: dict[str, object]) -> Outcome:
    if "error" in reply:
        return Outcome(error=str(reply["error"]))
    vector, roots = reply["stateVector"], reply["roots"]
    assert isinstance(vector, dict)
    assert isinstance(roots, list)
    return Outcome(
        text=str(reply["text"]),
        state_vector={int(client): clock for client, clock in vector.items()},
        pending=reply["pending"] is True,
        roots=tuple(roots),
    )


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(reply: object) -> bytes:
    return b64decode(str(reply))

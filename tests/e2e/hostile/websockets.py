"""Sessions on the notice stream, mutated: the handshake, the messages, the frames."""

import json
import random

from packages.antechamber.tests.request_mutation import mutate
from packages.antechamber.tests.websocket_peer import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    frame,
)
from tests.e2e.hostile.requests import Surroundings
from tests.e2e.hostile.values import VALUES
from tests.e2e.listening import HANDSHAKE


def session(around: Surroundings, rng: random.Random) -> bytes:
    """A handshake followed by frames."""
    headers = {**HANDSHAKE, **rng.choice(around.signed)}
    if rng.random() < 0.1:
        headers[rng.choice(sorted(headers))] = rng.choice(("", "a", "13, 14", "octavo"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"GET /api/sync/notices HTTP/1.1\r\n{lines}\r\n".encode()
    frames = b"".join(_frame(around, rng) for _ in range(rng.randrange(1, 6)))
    if rng.random() < 0.3:
        return mutate(head + frames, [head, frames], rng)
    if rng.random() < 0.5:
        return head + mutate(frames, [frames], rng)
    return head + frames


def _frame(around: Surroundings, rng: random.Random) -> bytes:
    match rng.randrange(8):
        case 0:
            opcode = rng.choice((CONTINUATION, BINARY, PING, PONG, CLOSE, 3, 15))
            return frame(opcode, rng.randbytes(rng.choice((0, 1, 2, 125, 126))))
        case 1:
            return frame(TEXT, rng.randbytes(rng.choice((1, 100, 5_000))))
        case 2:
            return frame(TEXT, b"[" * 4_000)
        case 3:
            return frame(TEXT, b"{}", length=1 << 40)
        case _:
            return frame(TEXT, json.dumps(_message(around, rng)).encode("utf-8", "replace"))


def _message(around: Surroundings, rng: random.Random) -> object:
    message: dict[str, object] = {
        "type": rng.choice(("subscribe", "subscribe", "unsubscribe")),
        "workspaceId": rng.choice((around.own[0], around.foreign[0], *around.ids())),
    }
    if rng.random() < 0.3:
        message[rng.choice(("type", "workspaceId", "x"))] = rng.choice(VALUES)
    return message

"""Sessions on the notice stream, mutated: the handshake, the messages, the frames."""

import json
import random

from tests.e2e.hostile.requests import Surroundings
from tests.e2e.hostile.values import VALUES
from tests.e2e.listening import HANDSHAKE
from tests.fakes.request_mutation import mutate
from tests.fakes.websocket_peer import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame


def session(around: Surroundings, chance: random.Random) -> bytes:
    """A handshake followed by frames."""
    headers = {**HANDSHAKE, **chance.choice(around.signed)}
    if chance.random() < 0.1:
        headers[chance.choice(sorted(headers))] = chance.choice(("", "a", "13, 14", "octavo"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"GET /api/sync/notices HTTP/1.1\r\n{lines}\r\n".encode()
    frames = b"".join(_frame(around, chance) for _ in range(chance.randrange(1, 6)))
    if chance.random() < 0.3:
        return mutate(head + frames, [head, frames], chance)
    if chance.random() < 0.5:
        return head + mutate(frames, [frames], chance)
    return head + frames


def _frame(around: Surroundings, chance: random.Random) -> bytes:
    match chance.randrange(8):
        case 0:
            opcode = chance.choice((CONTINUATION, BINARY, PING, PONG, CLOSE, 3, 15))
            return frame(opcode, chance.randbytes(chance.choice((0, 1, 2, 125, 126))))
        case 1:
            return frame(TEXT, chance.randbytes(chance.choice((1, 100, 5_000))))
        case 2:
            return frame(TEXT, b"[" * 4_000)
        case 3:
            return frame(TEXT, b"{}", length=1 << 40)
        case _:
            return frame(TEXT, json.dumps(_message(around, chance)).encode("utf-8", "replace"))


def _message(around: Surroundings, chance: random.Random) -> object:
    message: dict[str, object] = {
        "type": chance.choice(("subscribe", "subscribe", "unsubscribe")),
        "workspaceId": chance.choice((around.own[0], around.foreign[0], *around.ids())),
    }
    if chance.random() < 0.3:
        message[chance.choice(("type", "workspaceId", "x"))] = chance.choice(VALUES)
    return message

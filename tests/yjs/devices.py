"""Devices with a copy of a note, on pycrdt and on Yjs, and their concurrent edits."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from octavo_rules.documents.encoding import read_state_vector
from pycrdt import Doc, Text

from tests.yjs.checking import decided
from tests.yjs.peer import Peer

_names = count()

WORDS = (
    "a",
    "note ",
    "\n\n# Heading\n",
    "\N{GRINNING FACE}",
    "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}",
    "\N{REGIONAL INDICATOR SYMBOL LETTER N}\N{REGIONAL INDICATOR SYMBOL LETTER Z}",
    "e\N{COMBINING ACUTE ACCENT}",
    "\N{ARABIC LETTER SEEN}\N{ARABIC LETTER LAM}\N{ARABIC LETTER ALEF}",
    "\N{ZERO WIDTH NO-BREAK SPACE}",
    "\N{REPLACEMENT CHARACTER}",
    "\U0010fffd",
    "\N{LATIN SMALL LETTER SHARP S}",
)


class Device(Protocol):
    """A copy of a note. Indexes and lengths are characters, which no device cuts."""

    def insert(self, index: int, text: str) -> None: ...
    def delete(self, index: int, length: int) -> None: ...
    def apply(self, update: bytes) -> None: ...
    def text(self) -> str: ...
    def state_vector(self) -> bytes: ...
    def diff(self, state_vector: bytes) -> bytes: ...


class PycrdtDevice:
    def __init__(self, client: int, *updates: bytes) -> None:
        self._doc: Doc[Text] = Doc(client_id=client)
        self._text = self._doc.get("text", type=Text)
        for update in updates:
            self.apply(update)

    def insert(self, index: int, text: str) -> None:
        self._text.insert(len(self.text()[:index].encode()), text)

    def delete(self, index: int, length: int) -> None:
        start = len(self.text()[:index].encode())
        del self._text[start : start + len(self.text()[index : index + length].encode())]

    def apply(self, update: bytes) -> None:
        self._doc.apply_update(update)

    def text(self) -> str:
        return str(self._text)

    def state_vector(self) -> bytes:
        return self._doc.get_state()

    def diff(self, state_vector: bytes) -> bytes:
        return self._doc.get_update(state_vector)


class YjsDevice:
    def __init__(self, peer: Peer, client: int) -> None:
        self._peer = peer
        self._name = f"device {next(_names)}"
        peer.new(self._name, client)

    def insert(self, index: int, text: str) -> None:
        self._peer.insert(self._name, _units(self.text()[:index]), text)

    def delete(self, index: int, length: int) -> None:
        text = self.text()
        cut = text[index : index + length]
        self._peer.delete(self._name, _units(text[:index]), _units(cut))

    def apply(self, update: bytes) -> None:
        self._peer.apply(self._name, update)

    def text(self) -> str:
        return self._peer.text(self._name)

    def state_vector(self) -> bytes:
        return self._peer.state_vector(self._name)

    def diff(self, state_vector: bytes) -> bytes:
        return self._peer.diff(self._name, state_vector)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@dataclass(frozen=True, slots=True)
class Saved:
    """An update as a device sends it, and the content of the server's document at that time."""

    update: bytes
    state: bytes
    have: dict[int, int]


def edit(device: Device, rng: random.Random) -> None:
    """Insert or delete at one place."""
    length = len(device.text())
    if length and rng.random() < 0.4:
        at = rng.randrange(length)
        device.delete(at, min(length - at, rng.choice((1, 1, 2, 5, 20))))
    else:
        device.insert(rng.randint(0, length), rng.choice(WORDS) * rng.choice((1, 1, 3)))


def history(devices: Sequence[Device], rng: random.Random, saves: int) -> list[Saved]:
    """Let devices edit concurrently and save to a server that merges their edits.

    Each save holds what the device knows beyond the server: mostly its own edits, sometimes with
    what it had before the last save, like a device that retries without a response.
    """
    server = PycrdtDevice(1)
    found: list[Saved] = []
    before = server.state_vector()
    for _ in range(saves):
        device = rng.choice(devices)
        for _ in range(rng.choice((1, 1, 2, 6))):
            edit(device, rng)
        known = server.state_vector()
        update = device.diff(rng.choice((known, known, before, b"\0")))
        state = server.diff(b"\0")
        found.append(Saved(update, state, read_state_vector(known)))
        before = known
        server.apply(update)
        if rng.random() < 0.5:
            device.apply(server.diff(device.state_vector()))
    return found


def check(saved: Saved) -> dict[int, int]:
    """The state vector that the rule predicts for a save."""
    return decided(saved.update, saved.have, saved.state).state_vector

"""Mutated updates: what is accepted makes one document, in pycrdt and in Yjs.

The number of updates comes from ``OCTAVO_FUZZ_UPDATES``. They come in histories of thousands, each
a function of its number, by which a failing one can be repeated.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from octavo_rules.documents.encoding import read_state_vector
from octavo_rules.problems import Problem

from tests.yjs.checking import decided
from tests.yjs.devices import Device, PycrdtDevice, Saved, YjsDevice, history
from tests.yjs.mutation import Spoiler
from tests.yjs.peer import Outcome, Peer

UPDATES = int(os.environ.get("OCTAVO_FUZZ_UPDATES", "40000"))
UPDATES_PER_HISTORY = 2000
PARTS = 4
EMPTY = b"\0\0"


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_update_is_refused_or_unambiguous(peer: Peer, part: int) -> None:
    accepted = 0
    for number in range(part, max(PARTS, UPDATES // UPDATES_PER_HISTORY), PARTS):
        cases: list[tuple[bytes, ...]] = []
        expected: list[Outcome] = []
        for made in accepted_ones(peer, number):
            accepted += 1
            cases += (made.state, made.update), (made.stored,)
            expected += (
                Outcome(text, made.state_vector, pending=False, roots=("text",))
                for text in (made.text, PycrdtDevice(9, made.stored).text())
            )
        for case, expects, found in zip(cases, expected, peer.outcomes(cases), strict=True):
            assert found == expects, (number, case)
    assert accepted


@dataclass(frozen=True, slots=True)
class Made:
    """What pycrdt made of a document and an accepted update."""

    state: bytes
    update: bytes
    stored: bytes
    text: str
    state_vector: dict[int, int]


def accepted_ones(peer: Peer, number: int) -> Iterator[Made]:
    """Mutate a history; some accepted updates become part of the document of the next ones."""
    rng = random.Random(number)
    found = saves(peer, rng)
    others = [saved.update for saved in found]
    for _ in range(UPDATES_PER_HISTORY):
        at = rng.randrange(len(found))
        saved = found[at]
        update = Spoiler(saved.update, saved.have, others, rng).spoiled()
        try:
            checked = decided(update, saved.have, saved.state)
        except Problem:
            continue
        device = PycrdtDevice(9, saved.state, update)
        vector = read_state_vector(device.state_vector())
        assert vector == checked.state_vector, (number, saved.state, update)
        stored = device.diff(b"\0")
        assert decided(stored, {}, EMPTY).state_vector == vector, (number, stored)
        yield Made(saved.state, update, stored, device.text(), vector)
        if rng.random() < 0.05:
            found[at] = Saved(saved.update, stored, vector)


def saves(peer: Peer, rng: random.Random) -> list[Saved]:
    """The updates of three devices, some on pycrdt and some on Yjs."""
    clients = rng.sample((3, 4, 130, 20_000, 2**32 - 1, 2**53 - 2), 3)
    devices: list[Device] = [
        YjsDevice(peer, client) if rng.random() < 0.3 else PycrdtDevice(client)
        for client in clients
    ]
    return history(devices, rng, rng.choice((2, 4, 10)))

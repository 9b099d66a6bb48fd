"""Devices on the reference implementation: their updates pass, and differences are refused."""

import random

import pytest
import trio
from octavo_rules.documents.encoding import read_state_vector, write_state_vector
from octavo_rules.problems import DocumentDependencyMissing, Problem

from tests.yjs.checking import decided
from tests.yjs.devices import Device, PycrdtDevice, YjsDevice, check, edit, history
from tests.yjs.peer import Outcome, Peer, PeerFailed
from tests.yjs.wire import Section, Update, gc, skip, text, written

FACE = "\N{GRINNING FACE}"
EMPTY = b"\0\0"


@pytest.mark.parametrize("seed", range(8))
def test_device_that_edits_and_saves_is_accepted_and_converges(peer: Peer, seed: int) -> None:
    rng = random.Random(seed)
    devices: list[Device] = [YjsDevice(peer, client) for client in (2**32 - 1, 5)]
    devices.append(PycrdtDevice(300))
    saves = history(devices, rng, 25)
    for saved, found in zip(
        saves, peer.outcomes([(saved.state, saved.update) for saved in saves]), strict=True
    ):
        device = PycrdtDevice(9, saved.state, saved.update)
        assert read_state_vector(device.state_vector()) == check(saved)
        assert found == Outcome(device.text(), check(saved), pending=False, roots=("text",))


@pytest.mark.parametrize("seed", range(4))
def test_device_state_vector_is_read_and_written_identically(peer: Peer, seed: int) -> None:
    rng = random.Random(seed)
    first, second = YjsDevice(peer, rng.getrandbits(32)), YjsDevice(peer, rng.getrandbits(53))
    for device in (first, second):
        for _ in range(10):
            edit(device, rng)
    first.apply(second.diff(b"\0"))
    vector = first.state_vector()
    assert write_state_vector(read_state_vector(vector)) == vector


def test_device_that_merged_updates_around_one_the_server_has_is_accepted(peer: Peer) -> None:
    parts = [written(5, 2 * at, text("ab", (5, 2 * at - 1) if at else None)) for at in range(3)]
    first, second, third = (part.encoded() for part in parts)
    merged = peer.merge([first, third])
    assert merged == written(5, 0, text("ab"), skip(2), text("ab", (5, 3))).encoded()
    state = PycrdtDevice(9, first, second).diff(b"\0")
    assert decided(merged, {5: 4}, state).state_vector == {5: 6}
    assert peer.outcomes([(state, merged)])[0] == Outcome("ababab", {5: 6}, False, ("text",))
    with pytest.raises(DocumentDependencyMissing):
        decided(merged, {5: 2}, first)


# What the rule refuses because the two libraries would diverge. The texts are pycrdt's and Yjs's.
# Once they agree, a refusal may go.
@pytest.mark.parametrize(
    ("state", "update", "texts"),
    [
        pytest.param(
            written(5, 0, text(f"a{FACE}b")),
            Update(deleted=[(5, [(2, 1)])]),
            (f"a{FACE}", "a\N{REPLACEMENT CHARACTER}b"),
            id="deletes half a character",
        ),
        pytest.param(
            written(5, 0, text(f"a{FACE}b")),
            written(6, 0, text("x", (5, 1))),
            (f"a{FACE}bx", "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}bx"),
            id="inserts within a character",
        ),
        pytest.param(
            written(5, 0, text("ab")),
            written(5, 0, text(f"a{FACE}b")),
            ("abb", "ab\N{REPLACEMENT CHARACTER}b"),
            id="goes on within a character",
        ),
        pytest.param(
            written(5, 0, text("ab")),
            written(6, 0, gc(2), text("x", (6, 1), (5, 1))),
            ("xab", "ab"),
            id="follows what was collected",
        ),
        pytest.param(
            written(5, 0, text("abcdef")),
            written(5, 5, text("fgh", (5, 1), (5, 2))),
            ("abghcdef", "abcdefgh"),
            id="goes on before what stands before",
        ),
    ],
)
def test_update_that_pycrdt_and_yjs_interpret_differently_is_refused(
    peer: Peer, state: Update, update: Update, texts: tuple[str, str]
) -> None:
    held = state.encoded()
    have = decided(held, {}, EMPTY).state_vector
    with pytest.raises(Problem):
        decided(update.encoded(), have, held)
    (found,) = peer.outcomes([(held, update.encoded())])
    assert (PycrdtDevice(9, held, update.encoded()).text(), found.text) == texts


def test_update_for_a_forged_position_reads_the_same_in_both_once_it_is_stored(peer: Peer) -> None:
    state = Update([Section(5, 0, [text("ab")]), Section(3, 0, [text("xy", (5, 0))])]).encoded()
    # In front of "y" and first of all: whoever knows "y" knows "x", and that it comes between.
    update = written(20, 0, text("!", None, (3, 1))).encoded()
    decided(update, {5: 2, 3: 2}, state)
    stored = PycrdtDevice(9, state, update).diff(b"\0")
    applied, loaded = peer.outcomes([(state, update), (stored,)])
    assert PycrdtDevice(9, state, update).text() == applied.text == "ax!yb"
    assert PycrdtDevice(9, stored).text() == loaded.text == "axb!y"


@pytest.mark.parametrize(
    "update",
    [
        Update([Section(7, 0, [text("x", (6, 0))]), Section(6, 0, [text("y", (7, 0))])]),
        written(6, 0, text("x", (5, 0))),
        written(6, 1, text("x")),
        Update(deleted=[(6, [(0, 1)])]),
    ],
)
def test_update_that_yjs_defers_is_refused(peer: Peer, update: Update) -> None:
    peer.new("aside", 1)
    peer.apply("aside", update.encoded())
    assert peer.pending("aside")
    with pytest.raises(DocumentDependencyMissing):
        decided(update.encoded(), {}, EMPTY)


async def test_peer_serves_a_trio_test_through_a_thread(peer: Peer) -> None:
    await trio.to_thread.run_sync(peer.new, "threaded", 7)
    await trio.to_thread.run_sync(peer.insert, "threaded", 0, FACE)
    assert await trio.to_thread.run_sync(peer.text, "threaded") == FACE
    state = await trio.to_thread.run_sync(peer.state, "threaded")
    assert state == written(7, 0, text(FACE)).encoded()


def test_peer_that_refuses_gives_the_reason_and_continues(peer: Peer) -> None:
    peer.new("refusing", 7)
    with pytest.raises(PeerFailed, match="Unexpected end of array"):
        peer.apply("refusing", b"\x01")
    peer.insert("refusing", 0, "on")
    assert peer.text("refusing") == "on"
    peer.close("refusing")
    with pytest.raises(PeerFailed, match="no document refusing"):
        peer.text("refusing")

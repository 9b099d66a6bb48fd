"""Document updates that no honest device sends, and honest ones; query strings."""

import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from pycrdt import Array, Doc, Map, Text

from tests.e2e.hostile.values import JUNK

Json = dict[str, Any]
_QUERIES = (
    "own",
    "ow*",
    '"own words" text',
    '"',
    "AND OR NOT NEAR(a b)",
    "name : a",
    "* - ^ ( ) { } +",
    "a" * 501,
    " ".join("abcdefghijklmnopq"),
    "\ud55c\uae00",
    "\u0000",
    "\U0001f989",
)


def _of_text(change: Callable[[Text], None]) -> Callable[[int], bytes]:
    def make(client: int) -> bytes:
        doc: Doc[Text] = Doc(client_id=client)
        change(doc.get("text", type=Text))
        return doc.get_update()

    return make


def _with_map(client: int) -> bytes:
    doc: Doc[Map[str]] = Doc(client_id=client)
    doc.get("text", type=Map)["a"] = "b"
    return doc.get_update()


def _with_array(client: int) -> bytes:
    doc: Doc[Array[str]] = Doc(client_id=client)
    doc.get("list", type=Array).append("a")
    return doc.get_update()


_UPDATES: tuple[Callable[[int], bytes], ...] = (
    _of_text(lambda text: text.insert(0, "honest ")),
    _of_text(lambda text: text.insert(0, "honest \U0001f989 ")),
    _of_text(lambda text: text.insert(0, "\0")),
    _of_text(lambda text: text.insert(0, "> " * 100 + "a")),
    _of_text(lambda text: text.insert(0, "a", {"bold": True})),
    _with_map,
    _with_array,
    lambda client: b"",
    lambda client: b"\0\0",
)


def save(epoch: str, rng: random.Random) -> Json:
    """The body of a save; its bytes are honest, of something else, or truncated and flipped."""
    update = bytearray(rng.choice(_UPDATES)(rng.randrange(1, 1 << 32)))
    if update and rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(update))
            match rng.randrange(4):
                case 0:
                    update[at] ^= 1 << rng.randrange(8)
                case 1:
                    update[at] = rng.choice((0, 0x7F, 0x80, 0xFF))
                case 2:
                    update[at:at] = rng.randbytes(rng.choice((1, 9)))
                case _:
                    del update[at + 1 :]
    told: Json = {"epoch": epoch, "update": b64encode(update).decode()}
    if rng.random() < 0.3:
        told["update"] = rng.choice((told["update"][:-1], f"{told['update']}=", "%%%", "AA-_"))
    if rng.random() < 0.5:
        vector = rng.choice((b"\0", b"\1\7\3", b"\xff", rng.randbytes(8)))
        told["stateVector"] = b64encode(vector).decode()
    return told


def queries(operation: str, ids: list[str], rng: random.Random) -> list[tuple[str, str]]:
    """The query string of an operation."""
    _, _, revision_id, *_ = ids
    query = rng.choice((*_QUERIES, *JUNK))
    match operation:
        case "search":
            where = [("workspaceId", ids[0])] * rng.randrange(2)
            return [("q", query), *where]
        case "searchWorkspace":
            junk = [(name, rng.choice(JUNK)) for name in ("path", "changedSince", "author")]
            return [("q", query), *rng.sample(junk, rng.randrange(len(junk)))]
        case "diffRevisions":
            asked = [("by", rng.choice(("lines", "words"))), ("old", revision_id)]
            return rng.sample(asked, rng.randrange(3))
        case _:
            return []

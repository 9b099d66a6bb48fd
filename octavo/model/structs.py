"""The structs of a Yjs update that was accepted: what each writes, and between what."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from octavo.model.varint import read_varint

DELETED, STRING, SKIP = 1, 4, 10
HAS_ORIGIN, HAS_RIGHT_ORIGIN, KIND = 0x80, 0x40, 0x1F

Id: TypeAlias = tuple[int, int]
"""A client and one of its clocks."""


class Struct(NamedTuple):
    """Text, or the length of deleted text, from ``clock`` of ``client`` to before ``end``."""

    client: int
    clock: int
    end: int
    origin: Id | None
    right: Id | None
    text: bool


def new_structs(updates: Sequence[bytes]) -> list[list[Struct]]:
    """Answer what each of ``updates`` brings that those before it did not, in their order.

    Each must have been accepted, with the ones before it. The highest client comes first, as it
    does where the libraries put them in.
    """
    held: dict[int, int] = {}
    found: list[list[Struct]] = []
    for update in updates:
        fresh: list[Struct] = []
        for struct in _structs(update):
            client, clock = struct.client, held.get(struct.client, 0)
            if struct.end <= clock:
                continue
            # What is new of it follows what is known of it.
            fresh.append(
                struct
                if struct.clock >= clock
                else struct._replace(clock=clock, origin=(client, clock - 1))
            )
            held[client] = struct.end
        fresh.sort(key=lambda struct: -struct.client)
        found.append(fresh)
    return found


def _structs(update: bytes) -> Iterator[Struct]:
    sections, at = read_varint(update, 0)
    for _ in range(sections):
        count, at = read_varint(update, at)
        client, at = read_varint(update, at)
        clock, at = read_varint(update, at)
        for _ in range(count):
            info = update[at]
            kind = info & KIND
            at += 1
            if kind == SKIP:
                length, at = read_varint(update, at)
                clock += length
                continue
            origin = right = None
            if info & HAS_ORIGIN:
                origin, at = _id(update, at)
            if info & HAS_RIGHT_ORIGIN:
                right, at = _id(update, at)
            if origin is None and right is None:
                # The parent: a root, by its name.
                at += 2 + update[at + 1]
            length, at = read_varint(update, at)
            if kind == STRING:
                text = update[at : at + length]
                at += length
                if not text.isascii():
                    length = len(text.decode().encode("utf-16-le")) // 2
            yield Struct(client, clock, clock + length, origin, right, kind == STRING)
            clock += length


def _id(update: bytes, at: int) -> tuple[Id, int]:
    client, at = read_varint(update, at)
    clock, at = read_varint(update, at)
    return (client, clock), at

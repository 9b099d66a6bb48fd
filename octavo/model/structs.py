"""The structs of a Yjs update that was accepted: what each writes, and between what."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from octavo.model.document_facts import Range
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


class Brought(NamedTuple):
    """What an update brings: its structs, and the ranges that it deletes, in their order."""

    structs: list[Struct]
    ranges: list[Range]


def brought_by(updates: Sequence[bytes]) -> list[Brought]:
    """Answer what each of ``updates`` brings that those before it did not, in their order.

    Each must have been accepted, with the ones before it. The highest client comes first, as it
    does where the libraries put structs in. All ranges of an update are answered.
    """
    held: dict[int, int] = {}
    found: list[Brought] = []
    for update in updates:
        fresh: list[Struct] = []
        structs, at = _structs(update)
        for struct in structs:
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
        found.append(Brought(fresh, _ranges(update, at)))
    return found


def _structs(update: bytes) -> tuple[list[Struct], int]:
    found: list[Struct] = []
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
            found.append(Struct(client, clock, clock + length, origin, right, kind == STRING))
            clock += length
    return found, at


def _ranges(update: bytes, at: int) -> list[Range]:
    found: list[Range] = []
    sections, at = read_varint(update, at)
    for _ in range(sections):
        client, at = read_varint(update, at)
        count, at = read_varint(update, at)
        for _ in range(count):
            clock, at = read_varint(update, at)
            length, at = read_varint(update, at)
            found.append((client, clock, clock + length))
    return found


def _id(update: bytes, at: int) -> tuple[Id, int]:
    client, at = read_varint(update, at)
    clock, at = read_varint(update, at)
    return (client, clock), at

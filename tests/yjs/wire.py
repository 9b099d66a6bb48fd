"""Updates of Yjs (version 1) as values that a test builds, decodes and mutates."""

from dataclasses import dataclass, field

from octavo_rules.documents.encoding import read_varint, write_varint

GC, DELETED, STRING, SKIP = 0, 1, 4, 10
IN_TEXT = b"\x01\x04text"

Id = tuple[int, int]


@dataclass(slots=True)
class Struct:
    """One struct: ``content`` is UTF-8 of a text or a length, ``flags`` is added to its info."""

    content: bytes | int
    origin: Id | None = None
    right: Id | None = None
    kind: int = STRING
    parent: bytes = IN_TEXT
    flags: int = 0

    def encoded(self) -> bytes:
        info = self.kind | self.flags
        parts = []
        if self.kind not in (GC, SKIP):
            for flag, place in ((0x80, self.origin), (0x40, self.right)):
                if place is not None:
                    info |= flag
                    parts.append(write_varint(place[0]) + write_varint(place[1]))
            if self.origin is None and self.right is None:
                parts.append(self.parent)
        if isinstance(self.content, int):
            parts.append(write_varint(self.content))
        else:
            parts.append(write_varint(len(self.content)) + self.content)
        return bytes([info]) + b"".join(parts)


@dataclass(slots=True)
class Section:
    """The structs of one client, from a clock on."""

    client: int
    clock: int
    structs: list[Struct]

    def encoded(self) -> bytes:
        head = map(write_varint, (len(self.structs), self.client, self.clock))
        return b"".join([*head, *(struct.encoded() for struct in self.structs)])


@dataclass(slots=True)
class Update:
    """Sections of structs, then the deleted ranges of each client: clock and length."""

    sections: list[Section] = field(default_factory=list)
    deleted: list[tuple[int, list[Id]]] = field(default_factory=list)

    def encoded(self) -> bytes:
        parts = [write_varint(len(self.sections)), *(s.encoded() for s in self.sections)]
        parts.append(write_varint(len(self.deleted)))
        for client, ranges in self.deleted:
            parts += write_varint(client), write_varint(len(ranges))
            parts += (write_varint(clock) + write_varint(length) for clock, length in ranges)
        return b"".join(parts)


def text(content: str, origin: Id | None = None, right: Id | None = None) -> Struct:
    return Struct(content.encode(), origin, right)


def deleted(length: int, origin: Id | None = None, right: Id | None = None) -> Struct:
    return Struct(length, origin, right, kind=DELETED)


def skip(length: int) -> Struct:
    return Struct(length, kind=SKIP)


def gc(length: int) -> Struct:
    return Struct(length, kind=GC)


def written(client: int, clock: int, *structs: Struct) -> Update:
    """An update with one section."""
    return Update([Section(client, clock, list(structs))])


def parsed(data: bytes) -> Update:
    """Decode an accepted update."""
    update = Update()
    sections, at = read_varint(data, 0)
    for _ in range(sections):
        size, at = read_varint(data, at)
        client, at = read_varint(data, at)
        clock, at = read_varint(data, at)
        section = Section(client, clock, [])
        for _ in range(size):
            struct, at = _struct(data, at)
            section.structs.append(struct)
        update.sections.append(section)
    lists, at = read_varint(data, at)
    for _ in range(lists):
        client, at = read_varint(data, at)
        size, at = read_varint(data, at)
        ranges = []
        for _ in range(size):
            place, at = _pair(data, at)
            ranges.append(place)
        update.deleted.append((client, ranges))
    return update


def _struct(data: bytes, at: int) -> tuple[Struct, int]:
    info, at = data[at], at + 1
    struct = Struct(0, kind=info & 31)
    if info & 0x80:
        struct.origin, at = _pair(data, at)
    if info & 0x40:
        struct.right, at = _pair(data, at)
    if struct.kind in (STRING, DELETED) and not info & 0xC0:
        at += len(IN_TEXT)
    length, at = read_varint(data, at)
    struct.content = length
    if struct.kind == STRING:
        struct.content = data[at : at + length]
        at += length
    return struct, at


def _pair(data: bytes, at: int) -> tuple[Id, int]:
    first, at = read_varint(data, at)
    second, at = read_varint(data, at)
    return (first, second), at

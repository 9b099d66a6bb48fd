"""Updates that no device would send: honest ones, mutated by a seeded generator."""

import random
from collections.abc import Sequence
from copy import deepcopy

from octavo_rules.documents.encoding import write_varint

from tests.yjs.wire import DELETED, GC, SKIP, STRING, Id, Section, Struct, Update, parsed

_CONTENTS = (
    b"x",
    b"abc",
    "\N{GRINNING FACE}".encode(),
    "a\N{GRINNING FACE}b".encode(),
    "\N{COMBINING ACUTE ACCENT}".encode(),
    b"\xed\xa0\xbd",
    b"\xff",
    b"a\0b",
    b"",
)
_NUMBERS = (0, 1, 2, 127, 128, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 - 1, 2**53, 2**64)


class Spoiler:
    """Mutates an update to a document that holds ``have``, with parts of ``others`` at hand."""

    def __init__(
        self, update: bytes, have: dict[int, int], others: Sequence[bytes], rng: random.Random
    ) -> None:
        self._update = update
        self._have = have
        self._others = others
        self._chance = rng

    def spoiled(self) -> bytes:
        """Return the update with changes to its meaning, to its bytes, or to both."""
        rng, update = self._chance, self._update
        kind = rng.random()
        if kind < 0.7:
            said = parsed(update)
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                self._change(said)
            update = said.encoded()
        if kind > 0.6:
            update = self._changed_bytes(update)
        return update

    def _changed_bytes(self, update: bytes) -> bytes:
        rng, data = self._chance, bytearray(update)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(len(data) + 1)
            to = min(len(data), at + rng.choice((1, 1, 2, 5)))
            match rng.randrange(7):
                case 0 if at < len(data):
                    data[at] ^= 1 << rng.randrange(8)
                case 1 if at < len(data):
                    data[at] = (data[at] + rng.choice((1, -1))) % 256
                case 2:
                    data[at:at] = rng.randbytes(rng.choice((1, 1, 2, 9)))
                case 3:
                    del data[at:to]
                case 4:
                    other = rng.choice(self._others)
                    begin = rng.randrange(len(other))
                    data[at:to] = other[begin : begin + rng.randrange(1, 60)]
                case 5:
                    data[at:to] = write_varint(rng.choice(_NUMBERS))
                case _:
                    del data[at:]
        return bytes(data)

    def _change(self, update: Update) -> None:
        rng = self._chance
        if not update.sections or rng.random() < 0.2:
            self._change_deletions(update)
            return
        section = rng.choice(update.sections)
        match rng.randrange(6):
            case 0:
                self._change_section(update, section)
            case 1:
                self._change_order(update, section)
            case _ if section.structs:
                self._change_struct(section)

    def _change_deletions(self, update: Update) -> None:
        rng = self._chance
        client, clock = self._place(update)
        length = rng.choice((1, 1, 2, 5, 50))
        match rng.randrange(4):
            case 0:
                update.deleted.append((client, [(clock, length)]))
            case 1:
                update.deleted = []
            case 2 if update.deleted:
                _, ranges = rng.choice(update.deleted)
                ranges.insert(rng.randint(0, len(ranges)), (clock, length))
            case _ if update.deleted:
                ranges = rng.choice(update.deleted)[1]
                if ranges:
                    at = rng.randrange(len(ranges))
                    start, size = ranges[at]
                    step = rng.choice((-1, 1))
                    ranges[at] = (max(0, start + rng.choice((0, step))), max(0, size + step))

    def _change_section(self, update: Update, section: Section) -> None:
        rng = self._chance
        match rng.randrange(6):
            case 0:
                section.client = self._client(update)
            case 1:
                section.clock = max(0, section.clock + rng.choice((-2, -1, 1, 2)))
            case 2:
                section.clock = rng.choice(_NUMBERS)
            case 3:
                back = min(section.clock, rng.choice((1, 2, 5)))
                section.clock -= back
                content = rng.choice((b"y" * back, "\N{GRINNING FACE}".encode()))
                section.structs.insert(0, Struct(content, *self._references(update)))
            case 4:
                section.client, section.clock = self._place(update)
            case _:
                # A new client, who writes anywhere.
                client = rng.choice((2, rng.getrandbits(32), 2**53 - 1))
                content = rng.choice(_CONTENTS)
                struct = Struct(content, *self._references(update))
                update.sections.insert(
                    rng.randint(0, len(update.sections)), Section(client, 0, [struct])
                )

    def _change_order(self, update: Update, section: Section) -> None:
        rng = self._chance
        match rng.randrange(4):
            case 0:
                rng.shuffle(update.sections)
            case 1:
                update.sections.append(deepcopy(section))
            case 2:
                update.sections.remove(section)
            case _:
                other = parsed(rng.choice(self._others))
                update.sections += other.sections[:2]

    def _change_struct(self, section: Section) -> None:
        rng, structs = self._chance, section.structs
        at = rng.randrange(len(structs))
        struct = structs[at]
        update = Update([section])
        match rng.randrange(13):
            case 0:
                struct.origin = self._place(update)
            case 1:
                struct.right = self._place(update)
            case 2:
                struct.origin, struct.right = self._references(update)
            case 3:
                struct.origin, struct.right = struct.right, struct.origin
            case 4:
                struct.flags = 1 << rng.randrange(8)
            case 5:
                struct.kind = rng.randrange(16)
            case 6:
                struct.content = rng.choice(_CONTENTS)
                struct.kind = STRING
            case 7:
                struct.content = rng.choice((1, 2, 3, 0, 100, 2**31, 2**32))
                struct.kind = rng.choice((DELETED, DELETED, SKIP, GC))
            case 8:
                del structs[at]
            case 9:
                structs.insert(at, deepcopy(struct))
            case 10:
                moved = structs.pop(at)
                structs.insert(rng.randint(0, len(structs)), moved)
            case 11:
                client, clock = struct.origin = self._place(update)
                struct.right = client, max(0, clock - rng.choice((0, 1, 3)))
            case _:
                struct.parent = rng.choice(
                    (b"\x01\x04texT", b"\x01\x00", b"\x00\x05\x01", b"\x02\x04text")
                )

    def _references(self, update: Update) -> tuple[Id | None, Id | None]:
        rng = self._chance
        return (
            self._place(update) if rng.random() < 0.7 else None,
            self._place(update) if rng.random() < 0.7 else None,
        )

    def _client(self, update: Update) -> int:
        written = [section.client for section in update.sections]
        return self._chance.choice([*self._have, *written, 77])

    def _place(self, update: Update) -> Id:
        client = self._client(update)
        end = self._have.get(client, 0) + self._chance.choice((0, 0, 0, 0, 1, 4))
        return client, self._chance.randrange(end + 1)

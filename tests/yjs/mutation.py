"""Updates that no device would send: honest ones, mutated by a seeded generator."""

import random
from collections.abc import Sequence
from copy import deepcopy

from octavo.model.documents.varint import write_varint
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
        self, update: bytes, have: dict[int, int], others: Sequence[bytes], chance: random.Random
    ) -> None:
        self._update = update
        self._have = have
        self._others = others
        self._chance = chance

    def spoiled(self) -> bytes:
        """Return the update with changes to its meaning, to its bytes, or to both."""
        chance, update = self._chance, self._update
        kind = chance.random()
        if kind < 0.7:
            said = parsed(update)
            for _ in range(chance.choice((1, 1, 1, 2, 3))):
                self._change(said)
            update = said.encoded()
        if kind > 0.6:
            update = self._changed_bytes(update)
        return update

    def _changed_bytes(self, update: bytes) -> bytes:
        chance, data = self._chance, bytearray(update)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            at = chance.randrange(len(data) + 1)
            to = min(len(data), at + chance.choice((1, 1, 2, 5)))
            match chance.randrange(7):
                case 0 if at < len(data):
                    data[at] ^= 1 << chance.randrange(8)
                case 1 if at < len(data):
                    data[at] = (data[at] + chance.choice((1, -1))) % 256
                case 2:
                    data[at:at] = chance.randbytes(chance.choice((1, 1, 2, 9)))
                case 3:
                    del data[at:to]
                case 4:
                    other = chance.choice(self._others)
                    begin = chance.randrange(len(other))
                    data[at:to] = other[begin : begin + chance.randrange(1, 60)]
                case 5:
                    data[at:to] = write_varint(chance.choice(_NUMBERS))
                case _:
                    del data[at:]
        return bytes(data)

    def _change(self, update: Update) -> None:
        chance = self._chance
        if not update.sections or chance.random() < 0.2:
            self._change_deletions(update)
            return
        section = chance.choice(update.sections)
        match chance.randrange(6):
            case 0:
                self._change_section(update, section)
            case 1:
                self._change_order(update, section)
            case _ if section.structs:
                self._change_struct(section)

    def _change_deletions(self, update: Update) -> None:
        chance = self._chance
        client, clock = self._place(update)
        length = chance.choice((1, 1, 2, 5, 50))
        match chance.randrange(4):
            case 0:
                update.deleted.append((client, [(clock, length)]))
            case 1:
                update.deleted = []
            case 2 if update.deleted:
                _, ranges = chance.choice(update.deleted)
                ranges.insert(chance.randint(0, len(ranges)), (clock, length))
            case _ if update.deleted:
                ranges = chance.choice(update.deleted)[1]
                if ranges:
                    at = chance.randrange(len(ranges))
                    start, size = ranges[at]
                    step = chance.choice((-1, 1))
                    ranges[at] = (max(0, start + chance.choice((0, step))), max(0, size + step))

    def _change_section(self, update: Update, section: Section) -> None:
        chance = self._chance
        match chance.randrange(6):
            case 0:
                section.client = self._client(update)
            case 1:
                section.clock = max(0, section.clock + chance.choice((-2, -1, 1, 2)))
            case 2:
                section.clock = chance.choice(_NUMBERS)
            case 3:
                back = min(section.clock, chance.choice((1, 2, 5)))
                section.clock -= back
                content = chance.choice((b"y" * back, "\N{GRINNING FACE}".encode()))
                section.structs.insert(0, Struct(content, *self._references(update)))
            case 4:
                section.client, section.clock = self._place(update)
            case _:
                # A new client, who writes anywhere.
                client = chance.choice((2, chance.getrandbits(32), 2**53 - 1))
                content = chance.choice(_CONTENTS)
                struct = Struct(content, *self._references(update))
                update.sections.insert(
                    chance.randint(0, len(update.sections)), Section(client, 0, [struct])
                )

    def _change_order(self, update: Update, section: Section) -> None:
        chance = self._chance
        match chance.randrange(4):
            case 0:
                chance.shuffle(update.sections)
            case 1:
                update.sections.append(deepcopy(section))
            case 2:
                update.sections.remove(section)
            case _:
                other = parsed(chance.choice(self._others))
                update.sections += other.sections[:2]

    def _change_struct(self, section: Section) -> None:
        chance, structs = self._chance, section.structs
        at = chance.randrange(len(structs))
        struct = structs[at]
        update = Update([section])
        match chance.randrange(13):
            case 0:
                struct.origin = self._place(update)
            case 1:
                struct.right = self._place(update)
            case 2:
                struct.origin, struct.right = self._references(update)
            case 3:
                struct.origin, struct.right = struct.right, struct.origin
            case 4:
                struct.flags = 1 << chance.randrange(8)
            case 5:
                struct.kind = chance.randrange(16)
            case 6:
                struct.content = chance.choice(_CONTENTS)
                struct.kind = STRING
            case 7:
                struct.content = chance.choice((1, 2, 3, 0, 100, 2**31, 2**32))
                struct.kind = chance.choice((DELETED, DELETED, SKIP, GC))
            case 8:
                del structs[at]
            case 9:
                structs.insert(at, deepcopy(struct))
            case 10:
                moved = structs.pop(at)
                structs.insert(chance.randint(0, len(structs)), moved)
            case 11:
                client, clock = struct.origin = self._place(update)
                struct.right = client, max(0, clock - chance.choice((0, 1, 3)))
            case _:
                struct.parent = chance.choice(
                    (b"\x01\x04texT", b"\x01\x00", b"\x00\x05\x01", b"\x02\x04text")
                )

    def _references(self, update: Update) -> tuple[Id | None, Id | None]:
        chance = self._chance
        return (
            self._place(update) if chance.random() < 0.7 else None,
            self._place(update) if chance.random() < 0.7 else None,
        )

    def _client(self, update: Update) -> int:
        written = [section.client for section in update.sections]
        return self._chance.choice([*self._have, *written, 77])

    def _place(self, update: Update) -> Id:
        client = self._client(update)
        end = self._have.get(client, 0) + self._chance.choice((0, 0, 0, 0, 1, 4))
        return client, self._chance.randrange(end + 1)

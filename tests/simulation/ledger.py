"""What devices wrote into the notes that they edit together, for comparison with the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import trio
from octavo_rules.identity import AccountId, FileId, MutationId, ProgramNumber, WorkspaceId

from octavo.model.files.changeset import ChangeOperation, Changeset, fingerprint
from octavo.model.files.revision import Origin
from tests.simulation.disk import ANN

START = 1_790_000_000
"""The time at which every run begins."""
AUTHORS = (ANN, AccountId("ben"))
ORIGINS: Sequence[Origin] = ("device", "page", "key", "import", "mcp")

SHARED = WorkspaceId("x")
"""The workspace of these notes, which the specification does not cover."""
NOTES: Mapping[FileId, tuple[str, ...]] = {
    FileId("k"): ("k.md", "deep/k.md", "k k.md"),
    FileId("l"): ("l.md", "deep/l.md", "k.md"),
    FileId("m"): ("m.md", "deep/deeper/m.md"),
}
"""The paths that each may have; one path occurs twice."""
POISON = "\N{SKULL AND CROSSBONES}"
"""No note may have it in its text."""
# A mark is one character: nothing can split it, and it is always a word by itself.
_FIRST = {"a": 0xAC00, "b": 0xB400, "c": 0x20000}
"""The marks of each device; those of the last one take two UTF-16 code units."""


def now() -> float:
    """Return the Unix time of the run in seconds."""
    return START + trio.current_time()


def made_by_somebody(
    mutation: MutationId, operations: Sequence[ChangeOperation], random: Random
) -> Changeset:
    """Return a changeset with any author and origin."""
    origin = random.choice(ORIGINS)
    return Changeset(
        mutation,
        fingerprint(operations),
        random.choice(AUTHORS),
        tuple(operations),
        origin=origin,
        program=ProgramNumber(random.randint(1, 3)) if origin == "mcp" else None,
    )


class Written(NamedTuple):
    """The marks that a changeset adds, and those that it removes."""

    added: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(slots=True)
class Ledger:
    """Everything that was written.

    Attributes:
        marks: every mark, with the note that it was made for.
        written: the effects of each changeset, by its mutation, whatever its outcome.
        sent: all changesets by mutation and fingerprint, with the time (ms) when they were sent.
        sights: notable events of the run.
    """

    marks: dict[str, FileId] = field(default_factory=dict)
    written: dict[MutationId, Written] = field(default_factory=dict)
    sent: dict[tuple[MutationId, str], tuple[Changeset, int]] = field(default_factory=dict)
    sights: dict[str, None] = field(default_factory=dict)
    _made: dict[str, int] = field(default_factory=dict)

    def send(
        self, mutation: MutationId, operations: Sequence[ChangeOperation], random: Random
    ) -> Changeset:
        """Return a changeset of somebody, from somewhere, and record it."""
        return self.record(made_by_somebody(mutation, operations, random))

    def record(self, changeset: Changeset) -> Changeset:
        """Record a changeset when it is sent for the first time; return it."""
        key = changeset.mutation_id, changeset.fingerprint
        self.sent.setdefault(key, (changeset, int(now() * 1000)))
        return changeset

    def mark(self, device: str, file_id: FileId) -> str:
        """Create a unique mark."""
        number = self._made[device] = self._made.get(device, 0) + 1
        mark = chr(_FIRST[device] + number)
        self.marks[mark] = file_id
        return mark

    def marks_in(self, text: str) -> dict[str, None]:
        return {each: None for each in text if each in self.marks}

    def difference(self, old: str, new: str) -> Written:
        """Return the effect on the marks when a text is replaced."""
        before, after = self.marks_in(old), self.marks_in(new)
        return Written(
            tuple(each for each in after if each not in before),
            tuple(each for each in before if each not in after),
        )

    def saw(self, sights: Iterable[str]) -> None:
        self.sights |= dict.fromkeys(sights)

"""Notes whose histories a job prunes while they are written, and the rules that it has to keep."""

from collections.abc import Iterator
from itertools import count
from random import Random

from greenroom.testing import note
from octavo_rules.content import note_text
from octavo_rules.identity import AccountId, FileId, MutationId, WorkspaceId

from octavo.features.history.rules.retention import Retention
from octavo.model.files.changeset import (
    ChangeOperation,
    Changeset,
    CreateFile,
    DeleteFile,
    RestoreFile,
    UpdateFile,
    fingerprint,
)
from octavo.model.files.revision import Revision
from octavo.store import Script, Transaction
from octavo.store.transaction import T
from tests.simulation.invariants import faults_of_texts
from tests.simulation.kept import Kept, kept
from tests.simulation.pipelining import ANY
from tests.simulation.retention_faults import kept_by_rules

NOTES = WorkspaceId("01900000-0000-7000-8f00-000000000009")
FILES = tuple(FileId(f"01900000-0000-7000-8f00-{number:012x}") for number in (0xA, 0xB))
TEXTS = ("again", "and again")
"""Texts that notes get back, so that revisions share them."""


class NoteWriter:
    """Drafts changes of a few notes, whatever has become of the changes before."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def draft(self, account_id: AccountId, random: Random) -> Changeset:
        """Return a change of a note; it may be refused."""
        number, file_id = next(self._numbers), random.choice(FILES)
        text = note_text(random.choice([*TEXTS, f"text {number}"]))
        operations: list[ChangeOperation] = [
            CreateFile(file_id, f"{file_id}.md", text),
            *[UpdateFile(file_id, ANY, text)] * 6,
            UpdateFile(file_id, ANY, path=f"{number}.md"),
            DeleteFile(file_id, ANY),
            RestoreFile(file_id, ANY),
        ]
        operation = random.choice(operations)
        mutation = MutationId(f"01900000-0000-7000-8e00-{number:012x}")
        return Changeset(mutation, fingerprint([operation]), account_id, (operation,))


class PruningCheck:
    """Compares what each step of the job removes with what the rules keep at that moment.

    Args:
        retention: the rules.

    Attributes:
        faults: what was removed although something keeps it.
        pruned: how many revisions were removed.
    """

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self.faults: list[str] = []
        self.pruned = 0

    async def watch(self, transaction: Transaction, script: Script[T], now: int) -> T:
        """Run a step of the job, whose round began at ``now`` (ms), and compare."""
        before = await kept(NOTES)(transaction)
        done = await script(transaction)
        after = await kept(NOTES)(transaction)
        receipts = {*before.receipts}
        stays = {each.revision_id for each in self._stays(before, receipts, now)}
        for each in before.revisions:
            if each in after.revisions:
                continue
            self.pruned += 1
            note(f"{each.revision_id} of {each.file_id} is pruned", each.file_id)
            if each.revision_id in stays:
                what = f"{each.revision_id} of {each.file_id}, made at {each.created_at}"
                self.faults.append(f"{what}, was pruned at {now}, and the rules keep it")
        self.faults += faults_of_texts(after)
        return done

    def left(self, workspace: Kept, removed: set[str], now: int) -> Iterator[str]:
        """Yield the revisions that had to be pruned by a time (ms).

        ``removed`` are the receipts removed since: a round removes them before it prunes.
        """
        receipts = {*workspace.receipts, *removed}
        stays = {each.revision_id for each in self._stays(workspace, receipts, now)}
        for each in workspace.revisions:
            if each.revision_id not in stays:
                what = f"{each.revision_id} of {each.file_id}, made at {each.created_at}"
                yield f"{what}, is left, and nothing keeps it since {now}"

    def _stays(self, workspace: Kept, receipts: set[str], now: int) -> Iterator[Revision]:
        return kept_by_rules(workspace, receipts, self._retention, now)

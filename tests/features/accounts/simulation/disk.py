"""A disk that remembers the state after each transaction that it committed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from greenroom.testing import note
from outcome import Outcome

from octavo.model.access.audit import AuditEntry
from octavo.store import Script, Transaction, identifiers
from octavo.store.queries import audit
from tests.features.accounts.simulation.state import State, state_of
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule

NAMED = ("workspaceId", "invitationId")
"""Details of entries that reports look for."""


class Step(NamedTuple):
    """A committed script: the state after it, and the audit entries that it added."""

    state: State
    entries: tuple[AuditEntry, ...]


def _told(entry: AuditEntry) -> tuple[str, ...]:
    """Return what an entry says is committed, and what it concerns."""
    named = [str(entry.detail[each]) for each in NAMED if each in entry.detail]
    about = [entry.subject, str(entry.actor), entry.client, *named]
    what = f"{entry.kind} of {entry.subject} by {entry.actor} from {entry.client} is committed"
    return what, *(each for each in about if each)


class WatchedDisk(Disk):
    """A `Disk` whose scripts are observed.

    Attributes:
        steps: the committed scripts that changed something, in their order.
    """

    def __init__(self, path: Path | None, faults: FaultSchedule) -> None:
        self.steps: list[Step] = []
        self._pending: dict[int, Step] = {}
        self._entries: set[str] = set()
        super().__init__(path, faults)

    def follow(self, steps: Sequence[Step]) -> None:
        """Continue after the steps of the disk that this one is a copy of."""
        self.steps = [*steps]
        self._entries = {entry.entry_id for step in steps for entry in step.entries}

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        """See `InlineStore`."""
        return await super().write_batch(
            [self._observed(number, script) for number, script in enumerate(scripts)]
        )

    def _observed(self, number: int, script: Script[Any]) -> Script[Any]:
        async def observe(transaction: Transaction) -> object:
            # The scripts of a batch may be run twice.
            if number == 0:
                self._pending.clear()
            changes = self._connection.total_changes
            result: object = await script(transaction)
            if self._connection.total_changes != changes:
                self._pending[number] = Step(
                    await state_of(transaction), tuple(await self._added_entries(transaction))
                )
            return result

        return observe

    async def _added_entries(self, transaction: Transaction) -> list[AuditEntry]:
        """Return the entries that the script has added, the newest first."""
        known = self._entries.union(
            entry.entry_id for step in self._pending.values() for entry in step.entries
        )
        # Past the store, which would convert the identifiers of all of them.
        rows = self._connection.execute("SELECT id FROM audit ORDER BY id DESC")
        newest = [identifiers.to_text(row[0]) for row in rows]
        last = max((at for at, each in enumerate(newest, 1) if each not in known), default=0)
        entries = await audit.page(None, last)(transaction) if last else []
        return [each for each in entries if each.entry_id not in known]

    async def _reach(self, point: str) -> None:
        if point == "store.after_commit":
            for step in self._pending.values():
                self.steps.append(step)
                for entry in step.entries:
                    note(*_told(entry))
                self._entries.update(entry.entry_id for entry in step.entries)
            self._pending = {}
        await super()._reach(point)

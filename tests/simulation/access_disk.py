"""A disk that remembers who may see what after each commit, and notifies the processes of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import trio
from greenroom.testing import note
from octavo_rules.identity import Position, WorkspaceId
from outcome import Outcome

from octavo.store import Script, Transaction, identifiers
from octavo.store.transaction import T
from tests.simulation.channel import Channel
from tests.simulation.disk import Disk
from tests.simulation.weather import FaultSchedule

Membership = tuple[str, str]
"""A workspace and an account."""
LATE = (0.0, 0.0, 0.2)
"""Seconds after which the result of a read arrives."""

_OPEN = "SELECT id FROM accounts WHERE state <> 'disabled'"
_CREDENTIALS = "SELECT id, account_id FROM sessions UNION SELECT id, account_id FROM api_keys"
_MEMBERS = "SELECT workspace_id, account_id, role FROM members"


@dataclass(frozen=True, slots=True)
class Moment:
    """What was committed from a time on.

    Attributes:
        at: the time.
        open: the accounts that can be used, locked ones as well.
        credentials: the account of each session and key, by its id.
        members: the role of each membership.
        positions: the position of each workspace.
    """

    at: float
    open: frozenset[str]
    credentials: Mapping[str, str]
    members: Mapping[Membership, str]
    positions: Mapping[WorkspaceId, Position]


class AccessDisk(Disk):
    """A disk. Its transactions notify a channel as those of PostgreSQL do.

    `collect` has to replace the method ``notify`` of its transactions.

    Attributes:
        moments: what was committed, in order; the first is the empty disk.
    """

    def __init__(
        self, path: Path | None, faults: FaultSchedule, channel: Channel, random: Random
    ) -> None:
        self.moments: list[Moment] = []
        self._channel = channel
        self._random = random
        self._sent: dict[int, list[str]] = {}
        self._running: list[str] = []
        super().__init__(path, faults)

    def follow(self, moments: Sequence[Moment]) -> None:
        """Continue after the moments of the disk that this one is a copy of."""
        [now] = self.moments
        self.moments = [*moments]
        if _content(moments[-1]) != _content(now):
            self.moments.append(now)

    async def collect(self, _: str, payload: str) -> None:
        """Take a notification of the script that runs."""
        self._running.append(payload)

    async def write_batch(self, scripts: Sequence[Script[Any]]) -> list[Outcome[Any]]:
        """See `InlineStore`."""
        return await super().write_batch(
            [self._collecting(number, script) for number, script in enumerate(scripts)]
        )

    async def read(self, script: Script[T]) -> T:
        """See `InlineStore`; what was read may take a while to its reader."""
        found = await super().read(script)
        await trio.sleep(self._random.choice(LATE) if self._weather.armed else 0)
        return found

    def _collecting(self, number: int, script: Script[Any]) -> Script[Any]:
        async def collect(transaction: Transaction) -> object:
            # The scripts of a batch may be run twice.
            if number == 0:
                self._sent.clear()
            self._running = []
            result: object = await script(transaction)
            self._sent[number] = self._running
            return result

        return collect

    def _note(self) -> None:
        super()._note()
        moment = self._now()
        last = self.moments[-1] if self.moments else None
        if last is None or _content(last) != _content(moment):
            self.moments.append(moment)
            for change, *about in _changes(last or moment, moment):
                note(f"committed: {change}", *about)
        for payloads in self._sent.values():
            self._channel.publish(payloads)
        self._sent.clear()

    def _now(self) -> Moment:
        def rows(sql: str) -> list[tuple[Any, ...]]:
            return [tuple(map(_text, row)) for row in self._connection.execute(sql)]

        return Moment(
            trio.current_time(),
            frozenset(row[0] for row in rows("SELECT id FROM accounts WHERE state <> 'disabled'")),
            dict(
                rows(
                    "SELECT id, account_id FROM sessions UNION SELECT id, account_id FROM api_keys"
                )
            ),
            {row[:2]: row[2] for row in rows("SELECT workspace_id, account_id, role FROM members")},
            self.committed,
        )


def _changes(before: Moment, after: Moment) -> Iterator[tuple[str, ...]]:
    """Yield what has changed, in words, each with what it concerns."""
    for account in sorted(before.open ^ after.open):
        yield f"{account} is {'open' if account in after.open else 'closed'}", account
    for held in sorted(before.credentials.keys() ^ after.credentials.keys()):
        account = after.credentials.get(held) or before.credentials[held]
        what = "begins" if held in after.credentials else "ends"
        yield f"{held} of {account} {what}", held, account
    for member in sorted(before.members.keys() | after.members.keys()):
        role = after.members.get(member)
        if role != before.members.get(member):
            yield f"{member[1]} is {role or 'no member'} of {member[0]}", *member


def _content(moment: Moment) -> tuple[object, ...]:
    return moment.open, moment.credentials, moment.members, moment.positions


def _text(value: object) -> object:
    return identifiers.to_text(value) if isinstance(value, bytes) else value

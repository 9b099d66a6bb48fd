"""Judge a run of identity: every committed step, and what people learned."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from octavo.model.access.audit import AuditKind
from octavo.store.transaction import Transaction
from tests.features.accounts.simulation.deeds import Deed
from tests.features.accounts.simulation.disk import Step, WatchedDisk
from tests.features.accounts.simulation.effects import faults_of_effects
from tests.features.accounts.simulation.invariants import faults_of_change, faults_of_state
from tests.features.accounts.simulation.state import state_of
from tests.simulation.verdict import Violated

SETTLED = "192.0.2.1"
"""The client of everything that was done before the run."""
ADDRESSED = ("accounts", "invitations", "mail_budgets", "outbox")
"""The tables with a column ``address``."""


async def judge_identity(
    disk: WatchedDisk, deeds: Sequence[Deed], violations: Sequence[str]
) -> None:
    """Judge a finished run, whose mail was delivered; raise `Violated`.

    ``violations`` are those found while it was running.
    """
    found = [*violations, *faults_of_steps(disk.steps), *faults_of_deeds(disk.steps, deeds)]
    if await disk.read(state_of) != disk.steps[-1].state:
        found.append("the disk has another state than its last commit")
    removed = {
        account.address for step in disk.steps for account in step.state.accounts.values()
    } - {account.address for account in disk.steps[-1].state.accounts.values()}

    async def addresses(transaction: Transaction) -> list[tuple[str, str]]:
        return [
            (table, row[0])
            for table in ADDRESSED
            for row in await transaction.fetch_all(f"SELECT address FROM {table}")
        ]

    for table, address in await disk.read(addresses):
        if address in removed:
            found.append(f"the address of a removed account is in {table}")
    if found:
        raise Violated(found)


def faults_of_steps(steps: Sequence[Step]) -> Iterator[str]:
    """Judge every committed state, and its change from the one before."""
    for before, after in pairwise(steps):
        yield from faults_of_state(after.state)
        yield from faults_of_change(before.state, after.state)
        yield from faults_of_effects(before.state, after.state, after.entries)


def faults_of_deeds(steps: Sequence[Step], deeds: Sequence[Deed]) -> Iterator[str]:
    """Compare what people learned with the audit."""
    recorded: defaultdict[str, list[AuditKind]] = defaultdict(list)
    for entry in chain.from_iterable(step.entries for step in steps):
        if entry.outcome == "done" and entry.client != SETTLED and entry.actor != "system":
            mark = entry.client or f"{entry.subject} itself"
            recorded[mark].append(entry.kind)
    expected: defaultdict[str, list[Deed]] = defaultdict(list)
    for deed in deeds:
        expected[deed.mark].append(deed)
    for mark in recorded.keys() - expected.keys():
        yield f"nobody did what is recorded as {recorded[mark]} of {mark}"
    for mark, attempts in expected.items():
        yield from _faults_of_mark(attempts, recorded[mark])
    uses = Counter(
        deed.once
        for deed in deeds
        if deed.once and (deed.outcome == "acknowledged" or recorded[deed.mark])
    )
    for token, times in uses.items():
        if times > 1:
            yield f"the token {token} was used {times} times"


def _faults_of_mark(attempts: Sequence[Deed], kinds: Sequence[AuditKind]) -> Iterator[str]:
    """Compare attempts with the kinds of their entries; usually it is a single attempt."""
    entries = attempts[0].entries
    least = sum(len(e.entries) for e in attempts if e.outcome == "acknowledged" and not e.silent)
    most = sum(len(e.entries) for e in attempts if e.outcome in ("acknowledged", "unknown"))
    if not least <= len(kinds) <= most or not {*kinds} <= {*entries}:
        names = ", ".join(f"{each.name} ({each.outcome})" for each in attempts)
        yield f"{names} is recorded as {[*kinds]}"

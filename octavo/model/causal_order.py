"""Whether what an update writes can be put in one after the other, each after what it stands on.

Every client's structs come in the order of their clocks. One that names a struct of another client
waits for it. Where two wait for each other, neither is ever put in: Yjs keeps both aside and says
nothing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from octavo.model.refusal import DocumentDependencyMissing
from octavo.model.state_vector import StateVector


class Wait(NamedTuple):
    """The struct at ``clock`` of its client waits for clock ``needed`` of client ``other``."""

    clock: int
    other: int
    needed: int


def check_order(waits: Mapping[int, Sequence[Wait]], end: StateVector) -> None:
    """Check that nothing waits for what never comes.

    ``waits`` has the waits of each client in the order of its clocks, ``end`` is what there is
    when all is put in. Takes time linear in the number of waits. Raises
    `DocumentDependencyMissing` for a wait past the end and for a circle of waits.
    """
    passed = dict.fromkeys(waits, 0)

    def reached(client: int) -> int:
        if client in passed and passed[client] < len(waits[client]):
            return waits[client][passed[client]].clock
        return end.get(client, 0)

    for client in waits:
        goals = [(client, end[client] - 1)]
        open_clients = {client}
        while goals:
            current, goal = goals[-1]
            if reached(current) > goal:
                goals.pop()
                open_clients.remove(current)
                continue
            _, other, needed = waits[current][passed[current]]
            if reached(other) > needed:
                passed[current] += 1
            elif needed >= end.get(other, 0) or other in open_clients:
                raise dependency_missing("an insertion", other, needed)
            else:
                goals.append((other, needed))
                open_clients.add(other)


def dependency_missing(what: str, client: int, clock: int) -> DocumentDependencyMissing:
    """Answer the refusal of an update for ``what`` it names and nobody holds."""
    return DocumentDependencyMissing(
        f"The update names {what} by client {client} at clock {clock} that neither the document "
        "nor the update holds: send all that the document's state vector lacks."
    )

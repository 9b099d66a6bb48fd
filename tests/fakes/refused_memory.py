"""Refuse a request the memory that it asks for, and see for how much it asks."""

import pytest
from octavo_rules.problems import ServerBusy

from octavo.http.contract.memory_budget import Hold, MemoryBudget


def refuse_first(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Refuse the next reservation; return the list of the bytes of all from now on."""
    hold = MemoryBudget.hold
    reserved: list[int] = []

    def reserve(budget: MemoryBudget, client: str | None, size: int, *, own: int = 0) -> Hold:
        reserved.append(size)
        if len(reserved) == 1:
            raise ServerBusy
        return hold(budget, client, size, own=own)

    monkeypatch.setattr(MemoryBudget, "hold", reserve)
    return reserved

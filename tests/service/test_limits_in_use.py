"""What ``octavo actors`` shows of the limits."""

import re

from antechamber.limits import ServerUsage

from octavo.http.contract.memory_budget import MemoryBudget
from octavo.service.running import render_limits
from octavo.service.settings import Settings
from tests.features.accounts.test_passwords import passwords

MIB = 1024 * 1024


async def test_limits_are_shown_with_what_is_used_of_them() -> None:
    server = ServerUsage(connections=lambda: 1_234)
    server.most_connections = 5_000
    server.requests_per_round = lambda: 8
    memory = MemoryBudget(256 * MIB, 64 * MIB)
    with memory.hold("192.0.2.1", 3 * MIB), memory.hold("192.0.2.2", MIB):
        shown = render_limits(Settings(), server, memory, passwords(at_once=2))
    assert re.sub(" {2,}", "  ", shown).splitlines() == [
        "limits",
        "  connections  1,234 of 5,000",
        "  memory of large requests and responses  4.0 MiB of 160 MiB",
        "  of one account or address  3.0 MiB of 64 MiB",
        "  passwords being checked or waiting  0 of 34, and 16 more for known browsers",
        "  requests of an address in a round  up to 8 now, 64 while rounds are short",
    ]

"""Show what is used of the limits that keep the service available."""

from typing import Final

from antechamber.limits import ServerUsage

from octavo.features.accounts.passwords import Passwords
from octavo.http.contract.memory_budget import MemoryBudget
from octavo.settings import Settings

_MIB: Final = 1024 * 1024


def render_limits(
    settings: Settings, server: ServerUsage, memory: MemoryBudget, passwords: Passwords
) -> str:
    """Return the limits as text for a terminal, one line for each, with what is used now."""
    used = f"{memory.held / _MIB:.1f} MiB", f"{memory.most_of_one / _MIB:.1f} MiB"
    lines = {
        "connections": f"{server.connections():,} of {server.most_connections:,}",
        "memory of large requests and responses": f"{used[0]} of {settings.memory // _MIB:,} MiB",
        "  of one account or address": f"{used[1]} of {settings.memory_per_client // _MIB:,} MiB",
        "passwords being checked or waiting": (
            f"{passwords.in_use} of {passwords.capacity},"
            f" and {passwords.known_capacity} more for known browsers"
        ),
        "requests of an address in a round": (
            f"up to {server.requests_per_round():,} now,"
            f" {settings.requests_per_round_per_client:,} while rounds are short"
        ),
    }
    width = max(map(len, lines)) + 2
    return "\n".join(["limits", *(f"  {name:{width}}{figure}" for name, figure in lines.items())])

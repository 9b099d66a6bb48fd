"""What is attacked, and how an attacker says that it has begun."""

from typing import NamedTuple

DOCUMENT = "/api/openapi.json"


class Target(NamedTuple):
    """What is attacked, from where, and how much.

    ``addresses`` are the last numbers of 127.0.0.x. ``keys`` and ``path`` are of the attackers'
    own accounts.
    """

    port: int = 0
    addresses: tuple[int, ...] = (1,)
    connections: int = 1
    streams: int = 100
    per_second: float = 0
    keys: tuple[str, ...] = ()
    path: str = DOCUMENT
    tls: bool = False


def begun() -> None:
    """Say that the attack begins."""
    print("begun", flush=True)  # noqa: T201

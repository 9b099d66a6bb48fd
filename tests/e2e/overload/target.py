"""What is attacked, and how an attacker says that it has begun."""

from typing import NamedTuple

DOCUMENT = "/api/openapi.json"


class Request(NamedTuple):
    """One request; ``path`` may have a query."""

    method: str
    path: str
    body: str = ""


class Target(NamedTuple):
    """What is attacked, from where, and how much.

    ``addresses`` are the last numbers of 127.0.0.x. ``keys``, ``path`` and ``cookie`` are of the
    attackers' own accounts. ``pages``, ``forms`` and ``operations`` are gone round: ``together``
    connections begin each, with bodies of ``size`` bytes, and it has so many ``seconds``.
    ``stamp`` is a query that admits forms with a long text.
    """

    port: int = 0
    addresses: tuple[int, ...] = (1,)
    connections: int = 1
    pipelined: int = 1
    keys: tuple[str, ...] = ()
    path: str = DOCUMENT
    tls: bool = False
    cookie: str = ""
    stamp: str = ""
    pages: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    operations: tuple[Request, ...] = ()
    together: int = 1
    size: int = 0
    seconds: float = 1


def begun() -> None:
    """Say that the attack begins."""
    print("begun", flush=True)  # noqa: T201

"""The attacks, with the bounds that hold in their long and their short form."""

import os

from tests.e2e.overload.siege import Attack, Bounds
from tests.e2e.overload.target import Target
from tests.e2e.overload.vault import FEW, MANY

LONG_SECONDS = float(os.environ.get("OCTAVO_OVERLOAD_SECONDS", "0"))
"""Seconds of an attack in its long form; 0 selects the short one."""
_SHORT_SECONDS = 1.5
_EIGHT = tuple(range(1, 9))
_TWENTY = tuple(range(1, 21))
# The memory of large requests and responses is a setting: 160 MiB, and what makes them.
_BUDGET = Bounds(memory=256)
# Of one address, without an account.
_PROMISED = Bounds(health=300, saves=300)
_ROUND = Target(connections=60, size=6_000_000, together=10, seconds=20)
_SHORT_ROUND = _ROUND._replace(together=1, seconds=5)
_AT_ONCE = Target(connections=150, seconds=5)
# One account that works as hard as it may.
_BUSY = Bounds(health=300, saves=300, typical=50)


def _chosen(long: Attack, short: Target | None = None, seconds: float = _SHORT_SECONDS) -> Attack:
    grace = 10 if LONG_SECONDS else 4
    attack = long._replace(
        options=(*long.options, "--shutdown-timeout", str(grace)),
        bounds=long.bounds._replace(stop=grace),
    )
    if LONG_SECONDS:
        return attack._replace(seconds=LONG_SECONDS)
    return attack._replace(target=short or long.target, seconds=seconds)


def _of_routes(kind: str, long: Target, short: Target, *, notes: int = FEW) -> Attack:
    bounds = Bounds(saves=300, memory=150)
    return _chosen(Attack(kind, long, bounds, accounts=1, notes=notes), short)


ATTACKS = {
    "nothing": _chosen(Attack("nothing", Target())),
    "700,000 members": _chosen(Attack("unknown_members", Target(connections=4), _BUSY, accounts=1)),
    "pipelined requests": _chosen(
        Attack(
            "repeated_requests",
            Target(connections=250, pipelined=20, path="/api/health"),
            _PROMISED,
        )
    ),
    "requests of a page": _chosen(
        Attack("repeated_requests", Target(connections=250, path="/sign-in"), _PROMISED)
    ),
    "800 networks of one subscriber": _chosen(
        Attack(
            "networks_of_a_site",
            Target(connections=800, path="/sign-in"),
            _PROMISED,
            options=("--trusted-proxies", "127.0.0.1/32"),
        ),
        # As for the unread notes, below.
        seconds=4,
    ),
    "handshakes of TLS": _chosen(
        Attack("handshakes", Target(connections=100, tls=True), _PROMISED)
    ),
    "heads": _chosen(
        Attack(
            "heads",
            Target(addresses=_TWENTY, connections=5_000),
            Bounds(stall=200),
            options=("--header-timeout", "10" if LONG_SECONDS else "1"),
        ),
        Target(addresses=_EIGHT, connections=1_500),
    ),
    "unread documents": _chosen(
        Attack("unread_responses", Target(addresses=_EIGHT, connections=2_000))
    ),
    "unread notes": _chosen(
        Attack(
            "unread_responses",
            Target(addresses=_EIGHT, connections=2_000),
            _BUDGET,
            accounts=8,
        ),
        # The 99th percentile of less would be the one response beside the opening of them all.
        seconds=4,
    ),
    "dripping bodies": _chosen(
        Attack("dripping_bodies", Target(connections=32), accounts=4, address=1)
    ),
    "full bodies": _chosen(
        Attack("full_bodies", Target(connections=40), _BUDGET, accounts=5, address=1)
    ),
    "400 links rewritten": _chosen(Attack("moves", Target(), _BUSY, accounts=1)),
    "words of long notes": _chosen(
        Attack("words_of_long_notes", Target(), _BUSY, accounts=1),
        # Until some were moved, purged and deleted.
        seconds=10,
    ),
    "24,000 links read": _chosen(Attack("links_read", Target(connections=16), _BUSY, accounts=1)),
    "24,000 links read on 64 connections": _chosen(
        Attack("links_read", Target(connections=64), _BUSY, accounts=1)
    ),
    "24,000 links read on 240 connections": _chosen(
        Attack("links_read", Target(connections=240), _BUSY, accounts=1)
    ),
    "changesets of 7 MB": _chosen(Attack("large_changesets", Target(), _BUSY, accounts=1)),
    "330,000 operations": _chosen(
        Attack("many_operations", Target(connections=4), _BUSY, accounts=1)
    ),
    "subscriptions of WebSockets": _chosen(
        Attack("subscriptions", Target(connections=250), _BUSY, accounts=1)
    ),
    "pings of WebSockets": _chosen(Attack("pings", Target(connections=250), _BUSY, accounts=1)),
    "sizes of forms": _of_routes("sizes", _ROUND, _SHORT_ROUND),
    "fields of forms": _of_routes("fields", _ROUND, _SHORT_ROUND),
    "heads in forms": _of_routes("part_heads", _ROUND, _SHORT_ROUND),
    "dripping forms": _of_routes(
        "drips",
        _ROUND._replace(connections=240),
        _SHORT_ROUND._replace(connections=240, seconds=1.5),
    ),
    "unread pages": _of_routes(
        "unread_pages",
        _ROUND._replace(connections=240, together=60, seconds=1),
        _SHORT_ROUND._replace(connections=240, seconds=1),
        notes=MANY,
    ),
    "operations at once": _chosen(
        Attack(
            "at_once",
            _AT_ONCE,
            Bounds(saves=300, memory=256),
            options=("--mcp", "true"),
            accounts=4,
            notes=MANY,
        ),
        _AT_ONCE._replace(seconds=0.4),
    ),
}
"""By name; nothing at all is for comparison."""
_LONG_ONLY = frozenset(
    {
        "nothing",
        "700,000 members",
        "24,000 links read",
        "24,000 links read on 64 connections",
        # Too few saves for a 99th percentile beside other tests.
        "unread pages",
        "operations at once",
    }
)
"""The attacks of the long form alone."""
CHOSEN = tuple(name for name in ATTACKS if LONG_SECONDS or name not in _LONG_ONLY)
"""The names of the attacks that are made."""

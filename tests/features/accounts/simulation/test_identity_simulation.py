"""Identity keeps its guarantees under faults."""

from greenroom.testing.plugin import Explore

from tests.features.accounts.simulation.service import ALL_PERSON_TURNS, simulate_identity
from tests.simulation.test_simulation import CI_SEEDS, SEEDS

POINTS = (
    *("actor.taken", "actor.handled"),
    *(f"{where}.{when}_commit" for where in ("storage", "store") for when in ("before", "after")),
)
CHANGES = {
    "accept": ("already_member",),
    "change password": (),
    "choose policy": ("forbidden",),
    "change role": ("forbidden", "last_owner", "not_found"),
    "consent": ("consent_required",),
    "control": ("controls_changed", "last_administrator", "not_found"),
    "create key": (),
    "decide": ("forbidden", "last_administrator", "not_found"),
    "invite": ("forbidden", "not_found"),
    "leave": ("forbidden", "last_owner", "not_found"),
    "open portal": (),
    "redeem": ("not_found",),
    "register": ("not_found",),
    "remove": ("forbidden",),
    "remove own": ("last_administrator",),
    "request reset": (),
    "reset": ("invalid_token",),
    "revoke key": (),
    "revoke session": ("not_found",),
    "sign in": ("credential_refused",),
    "withdraw": (),
}
"""The changes that people make, and the codes of their refusals; rarer ones are left out."""
IDENTITY_SIGHTS = {
    *(f"{name}: acknowledged" for name in CHANGES),
    *(f"{name}: {code}" for name, codes in CHANGES.items() for code in codes),
    *("reset: expired", "not_signed_in", "not-executed", "unknown"),
    *("guess admitted", "guess refused", "guess unknown"),
    *(f"{kind} at {point}" for kind in ("crash", "delay") for point in POINTS),
    *(f"{end} of {number}" for end in ("stop", "cut", "power") for number in (1, 2)),
}
"""What has to occur under this many schedules, or the simulation tests less than it claims."""
PROGRAM_SIGHTS = {
    *("allow: acknowledged", "install: acknowledged", "uninstall: acknowledged"),
    *("exchange: acknowledged", "exchange: invalid_grant", "exchange: replayed"),
    *("renew: acknowledged", "renew: invalid_grant", "renew: replayed"),
    *("end access: acknowledged", "revoke token: acknowledged", "steal: invalid_grant"),
    *(f"{name}: unknown" for name in ("allow", "exchange", "renew", "end access")),
    *(f"crash at {point}" for point in POINTS),
    *(f"{end} of {number}" for end in ("stop", "cut", "power") for number in (1, 2)),
}
"""The same, of runs with programs."""


def test_identity_keeps_its_guarantees_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda turns: simulate_identity(turns, sighted.add),
        schedules=SEEDS,
        steps=ALL_PERSON_TURNS,
    )
    missing = IDENTITY_SIGHTS - sighted
    assert exploration.schedules < CI_SEEDS or not missing, missing


def test_access_of_programs_keeps_its_guarantees_under_any_faults(explore: Explore) -> None:
    sighted: set[str] = set()
    exploration = explore(
        lambda turns: simulate_identity(turns, sighted.add, programs=True),
        schedules=SEEDS,
        steps=ALL_PERSON_TURNS,
    )
    missing = PROGRAM_SIGHTS - sighted
    assert exploration.schedules < CI_SEEDS or not missing, missing

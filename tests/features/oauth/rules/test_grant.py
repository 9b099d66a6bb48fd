"""Grants."""

import pytest
from octavo_rules.identity import READ, AccountId, Scope

from octavo.features.oauth.rules.authorization_request import Grant, ends_at
from octavo.model.access.account import AccessLimits, ClientId, GrantId


@pytest.mark.parametrize(
    ("grant_ends", "ends"), [(None, 61_000), (90_000, 61_000), (20_000, 20_000)]
)
def test_token_ends_no_later_than_its_grant(grant_ends: int | None, ends: int) -> None:
    limits = AccessLimits(frozenset[Scope]({READ}))
    grant = Grant(
        GrantId("g"), AccountId("a"), ClientId("c"), "A program", limits, 0, grant_ends, None
    )
    assert ends_at(1_000, 60, grant) == ends

"""Cases of the audit."""

import httpx

from tests.e2e.operations.cases import produces
from tests.e2e.operations.identity import registration
from tests.e2e.operations.world import World


@produces("listAuditEntries", "200")
def audit_listed(world: World) -> httpx.Response:
    registration(world, invitation=world.invitation())
    newest = world.ask("GET", "/api/audit?kind=account_registered&limit=1").json()["items"][0]
    path = f"/api/audit?account={newest['actor']}"
    response = world.ask("GET", path)
    assert response.json()["items"] == [newest]
    assert response.json()["next"] is None
    return response

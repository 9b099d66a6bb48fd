"""The MCP endpoint of a real server: off, and on."""

import httpx
import pytest

from tests.e2e.people import client
from tests.e2e.served_contract import ServedContract
from tests.e2e.server import serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize(("options", "status"), [((), 404), (("--mcp", "true"), 401)])
def test_endpoint_is_served_where_it_is_on(options: tuple[str, ...], status: int) -> None:
    with serving(*options) as server, client(f"http://127.0.0.1:{server.port}") as http:
        contract = ServedContract(http.get("/api/openapi.json").json())
        sent: list[tuple[str, httpx.Response]] = [
            ("serveMcp", http.post("/mcp", json=PING)),
            ("openMcp", http.get("/mcp")),
        ]
        for operation, response in sent:
            assert response.status_code == status
            contract.check(operation, response)
            challenge = response.headers.get("www-authenticate", "")
            assert ('scope="notes:read"' in challenge) == (status == 401)
        assert server.stop() == (0, "")

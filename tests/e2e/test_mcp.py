"""The MCP endpoint of a real server: off, and on."""

import httpx

from tests.e2e.people import client
from tests.e2e.served_contract import ServedContract
from tests.e2e.server import serving

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_endpoint_that_is_off_does_not_exist() -> None:
    with serving() as server, client(f"http://127.0.0.1:{server.port}") as http:
        document = http.get("/api/openapi.json").json()
        paths = [
            path
            for path, operations in document["paths"].items()
            if any("mcp" in each.get("tags", ()) for each in operations.values())
        ]
        assert {"/mcp", "/oauth/token", "/.well-known/oauth-protected-resource"} <= {*paths}
        for path in [*paths, "/oauth/authorize", "/account/connections"]:
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                response = http.request(method, path.replace("{client}", "a"), json=PING)
                assert response.status_code == 404, (method, path)
        assert server.stop() == (0, "")


def test_endpoint_that_is_on_asks_for_a_token() -> None:
    with serving("--mcp", "true") as server, client(f"http://127.0.0.1:{server.port}") as http:
        contract = ServedContract(http.get("/api/openapi.json").json())
        sent: list[tuple[str, httpx.Response]] = [
            ("serveMcp", http.post("/mcp", json=PING)),
            ("openMcp", http.get("/mcp")),
        ]
        for operation, response in sent:
            assert response.status_code == 401
            contract.check(operation, response)
            assert 'scope="notes:read"' in response.headers["www-authenticate"]
        assert server.stop() == (0, "")

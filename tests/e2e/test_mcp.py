"""The MCP endpoint of a real server: off, and on."""

import httpx

from tests.e2e.octavo_process import data_folder, running
from tests.e2e.people import client, settle
from tests.e2e.prepared import serving
from tests.e2e.programs import Program, Servers
from tests.e2e.served_contract import ServedContract

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


def test_program_past_the_download_limit_gets_429() -> None:
    options = ("--mcp", "true", "--download-bytes-per-month", "1")
    with data_folder() as folder, running(folder, *options) as octavo:
        root = settle(octavo)
        servers = Servers([octavo], root, None)
        workspace = servers.send(root, "POST", "/api/workspaces", {"name": "Notes"})["id"]
        files = f"/api/workspaces/{workspace}/files"
        made = servers.send(root, "POST", files, {"path": "a.md", "text": "longer than that"})
        program = Program.allowed(servers, root)
        [listed] = program.call("list_workspaces")
        assert workspace in listed["content"][0]["text"]
        uri = f"octavo://{workspace}/{made['fileId']}"
        [refused] = program.ask("tools/call", name="fetch", arguments={"id": uri})
        assert refused.status_code == 429
        error = refused.json()["error"]
        assert error["data"]["code"] == "download_limit", error
        assert int(refused.headers["retry-after"]) > 0
        assert octavo.stop() == (0, [])
